// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The tables behind the names of element types and operators.
#include "runtime/kernels/data_type.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "topologies/error.hpp"
#include "topologies/words.hpp"

namespace multitree::runtime {
namespace {

struct TypeRow {
  DataType type;
  std::size_t size;
  std::string_view name;
  CName c;
};

// Row i describes enumerator i.
constexpr std::array kTypes{
    TypeRow{DataType::Int8, 1, "int8", {"mtInt8", 0}},
    TypeRow{DataType::Uint8, 1, "uint8", {"mtUint8", 1}},
    TypeRow{DataType::Int32, 4, "int32", {"mtInt32", 2}},
    TypeRow{DataType::Int64, 8, "int64", {"mtInt64", 4}},
    TypeRow{DataType::Float16, 2, "half", {"mtFloat16", 6}},
    TypeRow{DataType::BFloat16, 2, "bfloat16", {"mtBfloat16", 9}},
    TypeRow{DataType::Float32, 4, "float", {"mtFloat32", 7}},
    TypeRow{DataType::Float64, 8, "double", {"mtFloat64", 8}},
    TypeRow{DataType::Int16, 2, "int16", {"mtInt16", 32}},
    TypeRow{DataType::Uint16, 2, "uint16", {"mtUint16", 33}},
    TypeRow{DataType::Uint32, 4, "uint32", {"mtUint32", 3}},
    TypeRow{DataType::Uint64, 8, "uint64", {"mtUint64", 5}},
};

constexpr std::array kTypeAliases = {
    Alias{"float16", "half"},  Alias{"fp16", "half"},      Alias{"f16", "half"},
    Alias{"bf16", "bfloat16"}, Alias{"float32", "float"},  Alias{"fp32", "float"},
    Alias{"f32", "float"},     Alias{"float64", "double"}, Alias{"fp64", "double"},
    Alias{"f64", "double"},    Alias{"char", "int8"},      Alias{"byte", "uint8"},
    Alias{"int", "int32"},     Alias{"i8", "int8"},        Alias{"i32", "int32"},
    Alias{"i64", "int64"},     Alias{"u8", "uint8"},       Alias{"u32", "uint32"},
    Alias{"u64", "uint64"}};

struct OpRow {
  ReduceOp op;
  std::string_view name;
  CName c;
};

// Those of all types, those of integers, those that are made at run time, which have no number.
constexpr std::array kOps{
    OpRow{ReduceOp::Sum, "sum", {"mtSum", 0}},
    OpRow{ReduceOp::Prod, "prod", {"mtProd", 1}},
    OpRow{ReduceOp::Min, "min", {"mtMin", 3}},
    OpRow{ReduceOp::Max, "max", {"mtMax", 2}},
    OpRow{ReduceOp::Avg, "avg", {"mtAvg", 4}},
    OpRow{ReduceOp::BitAnd, "bit-and", {"mtBitAnd", 32}},
    OpRow{ReduceOp::BitOr, "bit-or", {"mtBitOr", 33}},
    OpRow{ReduceOp::BitXor, "bit-xor", {"mtBitXor", 34}},
    OpRow{ReduceOp::LogicalAnd, "logical-and", {"mtLogicalAnd", 35}},
    OpRow{ReduceOp::LogicalOr, "logical-or", {"mtLogicalOr", 36}},
    OpRow{ReduceOp::LogicalXor, "logical-xor", {"mtLogicalXor", 37}},
    OpRow{ReduceOp::PreMulSum, "pre-multiplied sum", {}},
    OpRow{ReduceOp::Custom, "operator of the user", {}},
};
constexpr std::array kOpAliases = {Alias{"add", "sum"},     Alias{"product", "prod"},
                                   Alias{"minimum", "min"}, Alias{"maximum", "max"},
                                   Alias{"average", "avg"}, Alias{"mean", "avg"}};

struct WireRow {
  WireType wire;
  std::string_view name;
};

// Row i describes enumerator i.
constexpr std::array kWires{
    WireRow{WireType::AsIs, "as-is"},        WireRow{WireType::Float16, "half"},
    WireRow{WireType::BFloat16, "bfloat16"}, WireRow{WireType::Int8, "int8"},
    WireRow{WireType::Float8E4M3, "e4m3"},   WireRow{WireType::Float8E5M2, "e5m2"},
    WireRow{WireType::Lossless, "lossless"},
};
struct SummingRow {
  Summing summing;
  std::string_view name;
};

// Row i describes enumerator i.
constexpr std::array kSummings{SummingRow{Summing::Floats, "floats"},
                               SummingRow{Summing::Elements, "exact"},
                               SummingRow{Summing::Blocks, "exact-blocks"}};
constexpr std::size_t kOfAllTypes = 5, kOfIntegers = 6;

template <typename Value, typename Row, std::size_t rows>
constexpr std::array<Value, rows> column(const std::array<Row, rows>& table, Value Row::*field) {
  std::array<Value, rows> values{};
  for (std::size_t i = 0; i < rows; ++i) values[i] = table[i].*field;
  return values;
}
constexpr std::array kTypeValues = column(kTypes, &TypeRow::type);
constexpr std::array kOpValues = column(kOps, &OpRow::op);
constexpr std::array kWireValues = column(kWires, &WireRow::wire);
constexpr std::array kSummingValues = column(kSummings, &SummingRow::summing);

template <typename Rows>
[[noreturn]] void reject(std::string_view what, std::string_view text, const Rows& rows) {
  const auto names = names_of(rows);
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("unknown {} \"{}\"; one of: {}{}", what, text, fmt::join(names, " "),
                          did_you_mean(text, names)));
}

}  // namespace

std::span<const DataType> all_data_types() { return kTypeValues; }
std::span<const ReduceOp> all_reduce_ops() { return std::span(kOpValues).first(kOfAllTypes); }
std::span<const ReduceOp> logic_ops() {
  return std::span(kOpValues).subspan(kOfAllTypes, kOfIntegers);
}

bool is_integer(DataType type) {
  return type != DataType::Float16 && type != DataType::BFloat16 && type != DataType::Float32 &&
         type != DataType::Float64;
}

std::size_t size_of(DataType type) { return kTypes[static_cast<std::size_t>(type)].size; }
std::string_view to_string(DataType type) { return kTypes[static_cast<std::size_t>(type)].name; }
std::string_view to_string(ReduceOp op) { return kOps[static_cast<std::size_t>(op)].name; }

CName c_name(DataType type) { return kTypes[static_cast<std::size_t>(type)].c; }
CName c_name(ReduceOp op) { return kOps[static_cast<std::size_t>(op)].c; }

DataType parse_data_type(std::string_view text) {
  if (const auto known = meant(text, names_of(kTypes), kTypeAliases)) {
    return std::ranges::find(kTypes, *known, &TypeRow::name)->type;
  }
  reject("data type", text, kTypes);
}

ReduceOp parse_reduce_op(std::string_view text) {
  const auto rows = std::span(kOps).first(kOfAllTypes);
  if (const auto known = meant(text, names_of(rows), kOpAliases)) {
    return std::ranges::find(rows, *known, &OpRow::name)->op;
  }
  reject("reduction operator", text, rows);
}

bool rounds(WireType wire) { return wire != WireType::AsIs && wire != WireType::Lossless; }
std::span<const WireType> all_wire_types() { return kWireValues; }
std::string_view to_string(WireType wire) { return kWires[static_cast<std::size_t>(wire)].name; }

WireType parse_wire(std::string_view text) {
  for (const WireRow& row : kWires) {
    if (text == row.name) return row.wire;
  }
  reject("form of travelling", text, kWires);
}

std::span<const Summing> all_summings() { return kSummingValues; }
std::string_view to_string(Summing summing) {
  return kSummings[static_cast<std::size_t>(summing)].name;
}

Summing parse_summing(std::string_view text) {
  for (const SummingRow& row : kSummings) {
    if (text == row.name) return row.summing;
  }
  reject("way of summing", text, kSummings);
}

}  // namespace multitree::runtime
