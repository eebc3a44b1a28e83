// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From typed vectors to one way of reducing them, counted.
#include "training/compression/exchange.hpp"

#include "runtime/kernels/lossless.hpp"
#include "runtime/kernels/wire.hpp"

namespace multitree::training {

using runtime::DataType;
using runtime::ReduceOp;
using runtime::WireType;

/// Where it depends on the numbers, those of this rank stand for the sums that travel too.
std::uint64_t Exchange::bytes_of(const Vector& vector) {
  if (vector.type != DataType::Float32) return vector.count * runtime::size_of(vector.type);
  if (vector.wire != WireType::Lossless) return runtime::wire_bytes(vector.wire, vector.count);
  std::vector<std::byte> packed(vector.count * sizeof(float));
  return runtime::LosslessCodec().encode(packed.data(), vector.data, vector.count, sizeof(float));
}

void Exchange::reduce(const Vector& vector) {
  sent_.reduced += bytes_of(vector);
  all_reduce(vector);
}

void Exchange::sum(std::span<float> numbers, WireType wire) {
  reduce({numbers.data(), numbers.size(), DataType::Float32, ReduceOp::Sum, wire});
}

void Exchange::sum(std::span<std::int8_t> numbers) {
  reduce({numbers.data(), numbers.size(), DataType::Int8, ReduceOp::Sum, WireType::AsIs});
}

void Exchange::sum(std::span<std::int16_t> numbers) {
  reduce({numbers.data(), numbers.size(), DataType::Int16, ReduceOp::Sum, WireType::AsIs});
}

void Exchange::sum(std::span<std::int32_t> numbers) {
  reduce({numbers.data(), numbers.size(), DataType::Int32, ReduceOp::Sum, WireType::AsIs});
}

void Exchange::max(std::span<float> numbers) {
  reduce({numbers.data(), numbers.size(), DataType::Float32, ReduceOp::Max, WireType::AsIs});
}

std::vector<std::vector<std::byte>> Exchange::gather(std::span<const std::byte> own) {
  sent_.gathered += own.size();
  return all_gather(own);
}

}  // namespace multitree::training
