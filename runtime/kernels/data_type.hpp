// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Element types and reduction operators, named as in nccl-tests where it has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
  Float64,
  Int16,
  Uint16,
  Uint32,
  Uint64
};
enum class ReduceOp : std::uint8_t {
  Sum,
  Prod,
  Min,
  Max,
  Avg,  ///< the sum divided by the number of ranks after the last reduction (integers truncate)
  BitAnd,
  BitOr,
  BitXor,
  LogicalAnd,  ///< of "is not 0", as 1 or 0
  LogicalOr,
  LogicalXor,
  PreMulSum,  ///< the sum of what each rank has multiplied by CustomOp::scalar
  Custom      ///< CustomOp::function
};

std::span<const DataType> all_data_types();
/// Those of all types.
std::span<const ReduceOp> all_reduce_ops();
/// The bitwise and logical ones, which are for integers.
std::span<const ReduceOp> logic_ops();
[[nodiscard]] bool is_integer(DataType type);
[[nodiscard]] std::size_t size_of(DataType type);

/// How floats travel between ranks: as they are, rounded to fewer bytes while sums are floats, or
/// as fewer bits with nothing lost.
enum class WireType : std::uint8_t {
  AsIs,
  Float16,
  BFloat16,
  Int8,        ///< blocks of 64 with a power of two in common: 8.125 bits an element
  Float8E4M3,  ///< such blocks of floats of 8 bits, 4 of them exponent
  Float8E5M2,
  Lossless,  ///< exponents as Huffman codes; also of other floats than those of 32 bits
};

/// What floats are summed as: floats, one rounding after the other in the order of the schedule; or
/// whole numbers of a unit that follows from the largest contribution to each element, or to each
/// block of 32, of which every order gives the same bits (exact.hpp). Integers are summed as ever.
enum class Summing : std::uint8_t { Floats, Elements, Blocks };

/// inout[i] = in[i] op inout[i], `count` elements of `type` each, which overlap in nothing. Called
/// by whatever thread moves the collective on; throws nothing, and calls nothing of the library.
using ReduceFunction =
    std::function<void(const void* in, void* inout, std::size_t count, DataType type)>;

/// What an operator needs that not all calls with it have in common.
struct CustomOp {
  ReduceFunction function;
  /// Whether a op b = b op a. If not, elements are combined in the order of ranks, which messages
  /// cannot do. All are associative: how they are bracketed is not said.
  bool commutative = true;
  /// One element of the call's type in host memory, of this rank; read when the call starts.
  const void* scalar = nullptr;
};

/// How the C API calls a type or an operator: the enumerator and its number, which is NCCL's.
struct CName {
  std::string_view name;
  int number = 0;
};
CName c_name(DataType type);
CName c_name(ReduceOp op);
/// "int8" "uint8" "int32" "int64" "half" "bfloat16" "float" "double" "int16" "uint16" "uint32"
/// "uint64"; parsing also takes "float16", "float32", "float64". \throws Error(InvalidArgument)
/// listing the names.
std::string_view to_string(DataType type);
DataType parse_data_type(std::string_view text);
/// "sum" "prod" "min" "max" "avg"; others have names too, but only these are parsed.
std::string_view to_string(ReduceOp op);
ReduceOp parse_reduce_op(std::string_view text);
/// Whether what arrives may be another number than what was sent.
[[nodiscard]] bool rounds(WireType wire);
std::span<const WireType> all_wire_types();
/// "as-is" "half" "bfloat16" "int8" "e4m3" "e5m2" "lossless". \throws Error(InvalidArgument)
/// listing the names.
std::string_view to_string(WireType wire);
WireType parse_wire(std::string_view text);
/// "floats" "exact" "exact-blocks". \throws Error(InvalidArgument) listing the names.
std::span<const Summing> all_summings();
std::string_view to_string(Summing summing);
Summing parse_summing(std::string_view text);

}  // namespace multitree::runtime
