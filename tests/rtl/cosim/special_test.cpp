// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Numbers that are none: NaN of both kinds, infinities, subnormals and zeros of both signs,
/// through whole networks with the hardware's adders. What comes out is the runtime's, bit for bit.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "algorithms/registry.hpp"
#include "nic/program/program.hpp"
#include "rtl/sim/cosim.hpp"
#include "rtl/sim/data.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

/// Bits of a type's exponent and fraction.
struct FloatShape {
  std::uint32_t exponent, fraction;
};

FloatShape shape_of(HardwareType type) {
  if (type == HardwareType::Fp32) return {8, 23};
  return type == HardwareType::Bf16 ? FloatShape{8, 7} : FloatShape{5, 10};
}

/// One of the numbers at the edges of a type, or any: with random signs.
std::uint32_t special(const FloatShape& shape, std::mt19937& random) {
  const auto any = [&](std::uint32_t mask) { return static_cast<std::uint32_t>(random()) & mask; };
  const std::uint32_t one = 1U << shape.fraction, largest = (1U << shape.exponent) - 1;
  const std::array<std::uint32_t, 10> numbers = {
      0,                                                            // zero
      1,                                                            // the least subnormal
      one - 1,                                                      // the largest subnormal
      one,                                                          // the least normal
      ((largest - 1) << shape.fraction) | (one - 1),                // the largest
      largest << shape.fraction,                                    // infinity
      (largest << shape.fraction) | (one >> 1) | any(one / 2 - 1),  // NaN
      (largest << shape.fraction) | 1,                              // signalling NaN
      ((largest >> 1) << shape.fraction) | any(one - 1),            // about 1
      any((1U << (shape.exponent + shape.fraction)) - 1)};          // any
  const std::uint32_t sign = any(1);
  return (sign << (shape.exponent + shape.fraction)) | numbers.at(random() % numbers.size());
}

Buffers special_inputs(std::uint32_t ranks, std::uint64_t elements, HardwareType type) {
  std::mt19937 random(static_cast<unsigned>(type) + 1);
  const std::uint32_t bytes = bytes_of(type);
  Buffers buffers(ranks, std::vector<std::byte>(elements * bytes));
  for (auto& buffer : buffers) {
    for (std::uint64_t e = 0; e < elements; ++e) {
      const std::uint32_t bits = special(shape_of(type), random);
      std::memcpy(buffer.data() + e * bytes, &bits, bytes);
    }
  }
  return buffers;
}

class SpecialNumbers : public testing::TestWithParam<HardwareType> {};

TEST_P(SpecialNumbers, AreAddedAsTheRuntimeAddsThem) {
  constexpr std::uint64_t kBytes = 8192;
  for (const auto& [network, algorithm] :
       {std::pair("torus:2x2?lat=5ns", "multitree"), std::pair("mesh:2x3?lat=5ns", "ring"),
        std::pair("hypercube:3?lat=5ns", "recursive-doubling")}) {
    SCOPED_TRACE(std::string(network) + " " + algorithm);
    const Topology topology = make_topology(network);
    const Schedule schedule = make_schedule(algorithm, topology);
    const std::uint64_t elements =
        nic::padded_elements(kBytes, bytes_of(GetParam()), schedule.ranks);
    Buffers buffers = special_inputs(schedule.ranks, elements, GetParam());
    const CosimResult result =
        cosimulate(schedule, topology, kBytes, {}, {.type = GetParam(), .buffers = &buffers});
    EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;
  }
}

std::string name_of(const testing::TestParamInfo<HardwareType>& test) {
  constexpr std::array kNames = {"int32", "fp32", "bf16", "fp16"};
  return kNames.at(static_cast<std::size_t>(test.param));
}

INSTANTIATE_TEST_SUITE_P(Types, SpecialNumbers,
                         testing::Values(HardwareType::Fp32, HardwareType::Bf16,
                                         HardwareType::Fp16),
                         name_of);

}  // namespace
}  // namespace multitree::rtl
