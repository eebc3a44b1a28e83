// SPDX-License-Identifier: BSD-3-Clause
#define NPY_NO_DEPRECATED_API NPY_1_20_API_VERSION
#include "elements.hpp"

#include <numpy/ndarraytypes.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "errors.hpp"

namespace multitree::python {
namespace {

constexpr int kNone = -1;
constexpr int kInt = static_cast<int>(nb::dlpack::dtype_code::Int);
constexpr int kUint = static_cast<int>(nb::dlpack::dtype_code::UInt);
constexpr int kFloat = static_cast<int>(nb::dlpack::dtype_code::Float);
constexpr int kBfloat = static_cast<int>(nb::dlpack::dtype_code::Bfloat);
constexpr int kBool = static_cast<int>(nb::dlpack::dtype_code::Bool);
static_assert(sizeof(long) == 8, "int64 is NumPy's NPY_LONG");

/// The most frequent first, as they are looked for one by one.
constexpr std::array kTypes{
    ElementType{"float32", mtFloat32, 4, {NPY_FLOAT, kNone}, kFloat},
    ElementType{"float64", mtFloat64, 8, {NPY_DOUBLE, kNone}, kFloat},
    ElementType{"int64", mtInt64, 8, {NPY_LONG, NPY_LONGLONG}, kInt},
    ElementType{"int32", mtInt32, 4, {NPY_INT, kNone}, kInt},
    ElementType{"float16", mtFloat16, 2, {NPY_HALF, kNone}, kFloat},
    ElementType{"uint8", mtUint8, 1, {NPY_UBYTE, kNone}, kUint},
    ElementType{"int8", mtInt8, 1, {NPY_BYTE, kNone}, kInt},
    ElementType{"int16", mtInt16, 2, {NPY_SHORT, kNone}, kInt},
    ElementType{"uint16", mtUint16, 2, {NPY_USHORT, kNone}, kUint},
    ElementType{"uint32", mtUint32, 4, {NPY_UINT, kNone}, kUint},
    ElementType{"uint64", mtUint64, 8, {NPY_ULONG, NPY_ULONGLONG}, kUint},
    ElementType{"bool", mtUint8, 1, {NPY_BOOL, kNone}, kBool, true},
};
constexpr ElementType kBfloat16{"bfloat16", mtBfloat16, 2, {kNone, kNone}, kBfloat};

struct NamedOperator {
  std::string_view name;
  mtRedOp_t op;
  bool of_truth;  ///< of truth values it gives one
};
constexpr std::array kOperators{
    NamedOperator{"sum", mtSum, false},
    NamedOperator{"prod", mtProd, false},
    NamedOperator{"max", mtMax, true},
    NamedOperator{"min", mtMin, true},
    NamedOperator{"avg", mtAvg, false},
    NamedOperator{"bit-and", mtBitAnd, true},
    NamedOperator{"bit-or", mtBitOr, true},
    NamedOperator{"bit-xor", mtBitXor, true},
    NamedOperator{"logical-and", mtLogicalAnd, true},
    NamedOperator{"logical-or", mtLogicalOr, true},
    NamedOperator{"logical-xor", mtLogicalXor, true},
};

std::string names_of_operators() {
  std::string names;
  for (const NamedOperator& row : kOperators)
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

/// ml_dtypes registers its types with NumPy, under numbers of no fixed value.
bool is_bfloat16(const PyArray_Descr& type) {
  return type.type_num >= NPY_USERDEF && std::strstr(type.typeobj->tp_name, "bfloat16") != nullptr;
}

const NamedOperator& row_of(nb::handle op, const char* call) {
  const char* const name = PyUnicode_Check(op.ptr()) ? PyUnicode_AsUTF8(op.ptr()) : nullptr;
  const auto* const row =
      name == nullptr ? kOperators.end()
                      : std::ranges::find(kOperators, std::string_view(name), &NamedOperator::name);
  if (row == kOperators.end()) {
    throw_invalid(std::string(call) + ": op: expected one of " + names_of_operators() + ", got " +
                  nb::repr(op).c_str());
  }
  return *row;
}

}  // namespace

void throw_invalid(const std::string& words) { throw Failure("InvalidArgument", words); }

const ElementType* find_numpy_type(nb::handle dtype) {
  const auto& type = *reinterpret_cast<const PyArray_Descr*>(dtype.ptr());
  for (const ElementType& row : kTypes) {
    if (type.type_num == row.numpy[0] || type.type_num == row.numpy[1]) return &row;
  }
  return is_bfloat16(type) ? &kBfloat16 : nullptr;
}

const ElementType* find_dlpack_type(nb::dlpack::dtype type) {
  const auto fits = [&](const ElementType& row) {
    return type.lanes == 1 && row.dlpack_code == type.code && row.bytes * 8 == type.bits;
  };
  if (fits(kBfloat16)) return &kBfloat16;
  const auto* const row = std::ranges::find_if(kTypes, fits);
  return row == kTypes.end() ? nullptr : row;
}

const ElementType& element_of(mtDataType_t type) {
  const auto* const row = std::ranges::find(kTypes, type, &ElementType::type);
  return row == kTypes.end() ? kBfloat16 : *row;
}

mtRedOp_t operator_named(nb::handle op, const char* call) { return row_of(op, call).op; }

mtRedOp_t operator_of(nb::handle op, const char* call, const ElementType& type) {
  const NamedOperator& row = row_of(op, call);
  if (type.is_bool && !row.of_truth) {
    throw_invalid(std::string(call) +
                  ": op: expected one that gives truth values for an array of bool, as "
                  "logical-or (any) or logical-and (all), got " +
                  std::string(row.name) + ": pass array.astype(np.int64) to count");
  }
  return row.op;
}

}  // namespace multitree::python
