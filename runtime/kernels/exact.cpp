// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From sums to the kernels of this processor.
#include "runtime/kernels/exact.hpp"

#include <fmt/format.h>

#include "runtime/kernels/kernels_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// Contributions whose whole numbers of 24 bits add up to 31, of 53 bits to 63; and those that the
/// fields of 64 bits count.
constexpr std::uint32_t kMostNarrow = 128, kMostDouble = 1024, kMostWide = 1U << 20;

const kernels::ExactCodec& codec_of(const ExactForm& form) {
  const auto type =
      static_cast<std::size_t>(form.type) - static_cast<std::size_t>(DataType::Float16);
  const std::size_t blocks = form.summing == Summing::Blocks ? 1 : 0;
  return kernels::best().exact.at(type)[form.wide ? 1 : 0][blocks];
}

const std::byte* at(const void* memory, std::size_t offset) {
  return static_cast<const std::byte*>(memory) + offset;
}
std::byte* at(void* memory, std::size_t offset) { return static_cast<std::byte*>(memory) + offset; }

}  // namespace

DataType ExactForm::exponent_type() const {
  return type == DataType::Float64 ? DataType::Uint16 : DataType::Uint8;
}

DataType ExactForm::whole_type() const {
  return wide || type == DataType::Float64 ? DataType::Int64 : DataType::Int32;
}

std::size_t ExactForm::exponents() const {
  if (summing == Summing::Elements) return count;
  return (count + kernels::kExactBlock - 1) / kernels::kExactBlock;
}

ExactForm exact_form(DataType type, Summing summing, std::uint32_t ranks) {
  const std::uint32_t most = type == DataType::Float64 ? kMostDouble : kMostWide;
  if (ranks > most) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} sums of {}: expected at most {} ranks, whose whole numbers fit 64 "
                            "bits, found {}",
                            to_string(summing), to_string(type), most, ranks));
  }
  return {.type = type, .summing = summing, .wide = ranks > kMostNarrow};
}

bool sums_exactly(Summing summing, DataType type) {
  return summing != Summing::Floats && !is_integer(type);
}

void exponents_of(const ExactForm& form, void* to, const void* from) {
  const std::size_t length = form.count * size_of(form.type);
  const std::size_t agreed = form.exponents() * size_of(form.exponent_type());
  for (std::size_t s = 0; s < form.shards; ++s) {
    codec_of(form).exponents(at(to, s * agreed), at(from, s * length), form.count);
  }
}

void to_whole(const ExactForm& form, void* to, const void* from, const void* exponents) {
  const std::size_t length = form.count * size_of(form.type);
  const std::size_t wholes = form.count * size_of(form.whole_type());
  const std::size_t agreed = form.exponents() * size_of(form.exponent_type());
  for (std::size_t s = 0; s < form.shards; ++s) {
    codec_of(form).encode(at(to, s * wholes), at(from, s * length), at(exponents, s * agreed),
                          form.count);
  }
}

void from_whole(const ExactForm& form, void* to, const void* from, const void* exponents) {
  const std::size_t length = form.count * size_of(form.type);
  const std::size_t wholes = form.count * size_of(form.whole_type());
  const std::size_t agreed = form.exponents() * size_of(form.exponent_type());
  for (std::size_t s = 0; s < form.shards; ++s) {
    codec_of(form).decode(at(to, s * length), at(from, s * wholes), at(exponents, s * agreed),
                          form.count);
  }
}

}  // namespace multitree::runtime
