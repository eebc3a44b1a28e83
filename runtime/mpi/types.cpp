// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// MPI's element types and operators in multitree's terms.
#include <algorithm>
#include <initializer_list>

#include "runtime/mpi/interpose_internal.hpp"

namespace multitree::mpi {
namespace {

enum class Kind : std::uint8_t { None, Signed, Unsigned, Float };

/// What the handles compare to is known at run time only, so this is no table. Those of Fortran are
/// null where MPI has been built without it.
Kind kind_of(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return Kind::None;
  const auto is_one_of = [type](std::initializer_list<MPI_Datatype> types) {
    return std::ranges::find(types, type) != types.end();
  };
  if (is_one_of({MPI_SIGNED_CHAR, MPI_INT8_T, MPI_INT, MPI_INT32_T, MPI_LONG, MPI_LONG_LONG,
                 MPI_INT64_T, MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_SHORT, MPI_INT16_T, MPI_INTEGER,
                 MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8})) {
    return Kind::Signed;
  }
  if (is_one_of({MPI_UNSIGNED_CHAR, MPI_UINT8_T, MPI_UNSIGNED, MPI_UINT32_T, MPI_UNSIGNED_LONG,
                 MPI_UNSIGNED_LONG_LONG, MPI_UINT64_T})) {
    return Kind::Unsigned;
  }
  if (is_one_of({MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_REAL4, MPI_REAL8, MPI_DOUBLE_PRECISION})) {
    return Kind::Float;
  }
  return Kind::None;
}

std::optional<mtRedOp_t> op_of(MPI_Op op) {
  if (op == MPI_SUM) return mtSum;
  if (op == MPI_PROD) return mtProd;
  if (op == MPI_MIN) return mtMin;
  if (op == MPI_MAX) return mtMax;
  return std::nullopt;
}

std::optional<mtDataType_t> integer_of(std::size_t bytes, bool is_signed) {
  if (bytes == 1) return is_signed ? mtInt8 : mtUint8;
  if (bytes == 4) return mtInt32;
  if (bytes == 8) return mtInt64;
  return std::nullopt;
}

}  // namespace

std::optional<Reduction> reduction_of(MPI_Datatype type, MPI_Op op) {
  const Kind kind = kind_of(type);
  const std::optional<mtRedOp_t> found = op_of(op);
  if (kind == Kind::None || !found) return std::nullopt;
  int bytes = 0;
  if (PMPI_Type_size(type, &bytes) != MPI_SUCCESS || bytes <= 0) return std::nullopt;
  const auto size = static_cast<std::size_t>(bytes);
  if (kind == Kind::Float) {
    // Fortran's REAL may be longer by a compiler's option.
    if (size != 4 && size != 8) return std::nullopt;
    return Reduction{size == 4 ? mtFloat32 : mtFloat64, size, *found};
  }
  // Sums and products modulo 2^n do not know signs, smaller and larger do.
  const bool ordered = *found == mtMin || *found == mtMax;
  if (kind == Kind::Unsigned && ordered && size != 1) return std::nullopt;
  const std::optional<mtDataType_t> integer = integer_of(size, kind == Kind::Signed);
  if (!integer) return std::nullopt;
  return Reduction{*integer, size, *found};
}

}  // namespace multitree::mpi
