// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// MPI's element types and operators in multitree's terms.
#include <algorithm>
#include <initializer_list>

#include "runtime/mpi/interpose_internal.hpp"

namespace multitree::mpi {
namespace {

/// As MPI classes its types by what they may be reduced with.
enum Kind : unsigned {
  kNone = 0,
  kSigned = 1,
  kUnsigned = 2,
  kFloat = 4,
  kComplex = 8,
  kLogical = 16,
  kByte = 32
};

/// What the handles compare to is known at run time only, so this is no table. Those of Fortran are
/// null where MPI has been built without it.
Kind kind_of(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return kNone;
  const auto is_one_of = [type](std::initializer_list<MPI_Datatype> types) {
    return std::ranges::find(types, type) != types.end();
  };
  if (is_one_of({MPI_SIGNED_CHAR, MPI_INT8_T, MPI_INT, MPI_INT32_T, MPI_LONG, MPI_LONG_LONG,
                 MPI_INT64_T, MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_SHORT, MPI_INT16_T, MPI_INTEGER,
                 MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8})) {
    return kSigned;
  }
  if (is_one_of({MPI_UNSIGNED_CHAR, MPI_UINT8_T, MPI_UNSIGNED_SHORT, MPI_UINT16_T, MPI_UNSIGNED,
                 MPI_UINT32_T, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT64_T})) {
    return kUnsigned;
  }
  if (is_one_of({MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_REAL4, MPI_REAL8, MPI_DOUBLE_PRECISION})) {
    return kFloat;
  }
  if (is_one_of({MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX,
                 MPI_CXX_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX})) {
    return kComplex;
  }
  if (is_one_of({MPI_C_BOOL, MPI_CXX_BOOL})) return kLogical;
  return type == MPI_BYTE ? kByte : kNone;
}

struct OperatorRow {
  MPI_Op op;
  mtRedOp_t ours;
  unsigned kinds;  ///< that it is served for
};

/// The numbers of a complex one are summed each by itself. Fortran's LOGICAL is left to MPI, as
/// compilers differ in what is true.
std::optional<mtRedOp_t> op_of(MPI_Op op, Kind kind) {
  static const OperatorRow kRows[] = {
      {MPI_SUM, mtSum, kSigned | kUnsigned | kFloat | kComplex},
      {MPI_PROD, mtProd, kSigned | kUnsigned | kFloat},
      {MPI_MIN, mtMin, kSigned | kUnsigned | kFloat},
      {MPI_MAX, mtMax, kSigned | kUnsigned | kFloat},
      {MPI_LAND, mtLogicalAnd, kSigned | kUnsigned | kLogical},
      {MPI_LOR, mtLogicalOr, kSigned | kUnsigned | kLogical},
      {MPI_LXOR, mtLogicalXor, kSigned | kUnsigned | kLogical},
      {MPI_BAND, mtBitAnd, kSigned | kUnsigned | kByte},
      {MPI_BOR, mtBitOr, kSigned | kUnsigned | kByte},
      {MPI_BXOR, mtBitXor, kSigned | kUnsigned | kByte},
  };
  for (const OperatorRow& row : kRows) {
    if (row.op == op && (row.kinds & kind) != 0) return row.ours;
  }
  return std::nullopt;
}

struct TypeRow {
  unsigned kinds;
  std::size_t bytes;  ///< of a number
  mtDataType_t ours;
};
/// Sizes are asked for: Fortran's REAL may be longer by a compiler's option.
constexpr TypeRow kTypes[] = {
    {kSigned, 1, mtInt8},
    {kUnsigned | kLogical | kByte, 1, mtUint8},
    {kSigned, 2, mtInt16},
    {kUnsigned, 2, mtUint16},
    {kSigned, 4, mtInt32},
    {kUnsigned, 4, mtUint32},
    {kSigned, 8, mtInt64},
    {kUnsigned, 8, mtUint64},
    {kFloat | kComplex, 4, mtFloat32},
    {kFloat | kComplex, 8, mtFloat64},
};

}  // namespace

std::optional<Reduction> reduction_of(MPI_Datatype type, MPI_Op op) {
  const Kind kind = kind_of(type);
  const std::optional<mtRedOp_t> found = op_of(op, kind);
  int bytes = 0;
  if (!found || PMPI_Type_size(type, &bytes) != MPI_SUCCESS || bytes <= 0) return std::nullopt;
  const std::size_t parts = kind == kComplex ? 2 : 1;
  for (const TypeRow& row : kTypes) {
    if ((row.kinds & kind) == 0 || row.bytes * parts != static_cast<std::size_t>(bytes)) continue;
    return Reduction{row.ours, row.bytes, parts, *found};
  }
  return std::nullopt;
}

}  // namespace multitree::mpi
