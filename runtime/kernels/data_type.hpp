// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Element types and reduction operators, named as in nccl-tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace multitree::runtime {

enum class DataType : std::uint8_t {
  Int8,
  Uint8,
  Int32,
  Int64,
  Float16,
  BFloat16,
  Float32,
  Float64
};
/// Avg is the sum divided by the number of ranks after the last reduction (integers truncate).
enum class ReduceOp : std::uint8_t { Sum, Prod, Min, Max, Avg };

std::span<const DataType> all_data_types();
std::span<const ReduceOp> all_reduce_ops();
[[nodiscard]] std::size_t size_of(DataType type);
/// How the C API calls a type or an operator: the enumerator and its number, which is NCCL's.
struct CName {
  std::string_view name;
  int number = 0;
};
CName c_name(DataType type);
CName c_name(ReduceOp op);
/// "int8" "uint8" "int32" "int64" "half" "bfloat16" "float" "double"; parsing also takes "float16",
/// "float32", "float64". \throws Error(InvalidArgument) listing the names.
std::string_view to_string(DataType type);
DataType parse_data_type(std::string_view text);
/// "sum" "prod" "min" "max" "avg".
std::string_view to_string(ReduceOp op);
ReduceOp parse_reduce_op(std::string_view text);

}  // namespace multitree::runtime
