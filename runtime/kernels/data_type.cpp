// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The tables behind the names of element types and operators.
#include "runtime/kernels/data_type.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

struct TypeRow {
  DataType type;
  std::size_t size;
  std::string_view name;
  std::string_view alias;  ///< also accepted by the parser; may be empty
};

// Row i describes enumerator i.
constexpr std::array kTypes{
    TypeRow{DataType::Int8, 1, "int8", ""},
    TypeRow{DataType::Uint8, 1, "uint8", ""},
    TypeRow{DataType::Int32, 4, "int32", ""},
    TypeRow{DataType::Int64, 8, "int64", ""},
    TypeRow{DataType::Float16, 2, "half", "float16"},
    TypeRow{DataType::BFloat16, 2, "bfloat16", ""},
    TypeRow{DataType::Float32, 4, "float", "float32"},
    TypeRow{DataType::Float64, 8, "double", "float64"},
};

struct OpRow {
  ReduceOp op;
  std::string_view name;
};

constexpr std::array kOps{
    OpRow{ReduceOp::Sum, "sum"}, OpRow{ReduceOp::Prod, "prod"}, OpRow{ReduceOp::Min, "min"},
    OpRow{ReduceOp::Max, "max"}, OpRow{ReduceOp::Avg, "avg"},
};

template <typename Value, typename Row, std::size_t rows>
constexpr std::array<Value, rows> column(const std::array<Row, rows>& table, Value Row::*field) {
  std::array<Value, rows> values{};
  for (std::size_t i = 0; i < rows; ++i) values[i] = table[i].*field;
  return values;
}
constexpr std::array kTypeValues = column(kTypes, &TypeRow::type);
constexpr std::array kOpValues = column(kOps, &OpRow::op);

template <typename Rows>
[[noreturn]] void reject(std::string_view what, std::string_view text, const Rows& rows) {
  std::string message = fmt::format("unknown {} \"{}\"; one of:", what, text);
  for (const auto& row : rows) message += fmt::format(" {}", row.name);
  throw Error(ErrorCode::InvalidArgument, message);
}

}  // namespace

std::span<const DataType> all_data_types() { return kTypeValues; }
std::span<const ReduceOp> all_reduce_ops() { return kOpValues; }

std::size_t size_of(DataType type) { return kTypes[static_cast<std::size_t>(type)].size; }
std::string_view to_string(DataType type) { return kTypes[static_cast<std::size_t>(type)].name; }
std::string_view to_string(ReduceOp op) { return kOps[static_cast<std::size_t>(op)].name; }

DataType parse_data_type(std::string_view text) {
  for (const TypeRow& row : kTypes) {
    if (text == row.name || (!row.alias.empty() && text == row.alias)) return row.type;
  }
  reject("data type", text, kTypes);
}

ReduceOp parse_reduce_op(std::string_view text) {
  for (const OpRow& row : kOps) {
    if (text == row.name) return row.op;
  }
  reject("reduction operator", text, kOps);
}

}  // namespace multitree::runtime
