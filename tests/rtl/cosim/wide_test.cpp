// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flits of 32 and 64 bytes: the model and the hardware that was made with them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

#include "algorithms/registry.hpp"
#include "rtl/sim/cosim.hpp"
#include "rtl/sim/node.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

constexpr std::array kWideNetworks = {"ring:2",    "ring:3", "mesh:3",     "mesh:2x2",
                                      "torus:2x2", "full:4", "full:6",     "hypercube:3",
                                      "torus:3x3", "star:5", "fattree:2x2"};
constexpr std::array kWideAlgorithms = {"multitree", "ring", "symmetric", "recursive-doubling"};
/// Of all elements: none of a message, one, and what leaves 1 to 31 over in its last flit.
constexpr std::array kWideSizes = {4U, 60U, 200U, 1000U, 1028U, 4104U, 9004U, 16384U};
constexpr std::array kWideTypes = {HardwareType::Fp32, HardwareType::Int32, HardwareType::Bf16,
                                   HardwareType::Fp16};
constexpr std::uint32_t kWidePoints = 48;

template <typename T, std::size_t N>
const T& one_of(const std::array<T, N>& all, std::mt19937& random) {
  return all[random() % N];
}

nic::Parameters wide(std::uint32_t flit_bytes) {
  return {.flit_bytes = flit_bytes, .send_words = kWideWords.send, .add_words = kWideWords.add};
}
/// With links of a flit a nanosecond.
std::string network_of(const std::string& name, std::uint32_t flit_bytes) {
  return fmt::format("{}?bw={}GB/s&lat=9ns", name, flit_bytes);
}

/// Networks whose switches add and copy: with few links, with a number that is no power of two, and
/// two levels of them.
constexpr std::array kWideAdding = {"star:4?switches=add,copy", "star:7?switches=add,copy",
                                    "fattree:2x3?switches=add,copy"};

class WideFlits : public testing::TestWithParam<std::uint32_t> {};

TEST_P(WideFlits, ModelAndHardwareAgreeInEveryCycle) {
  std::mt19937 random(GetParam());
  std::uint32_t compared = 0;
  for (std::uint32_t i = 0; i < kWidePoints; ++i) {
    const std::string name = network_of(one_of(kWideNetworks, random), GetParam());
    const std::string algorithm = one_of(kWideAlgorithms, random);
    const std::uint32_t bytes = kWideSizes[i % kWideSizes.size()];
    const HardwareType type = one_of(kWideTypes, random);
    nic::Parameters p = wide(GetParam());
    p.flow_control = random() % 2 == 0 ? nic::FlowControl::Message : nic::FlowControl::Packet;
    p.issue = random() % 2 == 0 ? nic::Issue::Dependency : nic::Issue::Lockstep;
    p.packet_bytes = one_of(std::array{64U, 256U, 1024U}, random);
    p.memory_cycles = one_of(std::array{1U, 7U, 100U}, random);
    p.memory_ports = one_of(std::array{0U, 0U, 1U, 3U}, random);
    SCOPED_TRACE(fmt::format("{} {} {} bytes, type {}, {}", name, algorithm, bytes,
                             static_cast<int>(type), nic::write_parameters(p)));
    const Topology topology = make_topology(name);
    try {
      const CosimResult result = cosimulate(make_schedule(algorithm, topology), topology, bytes, p,
                                            {.type = type, .own_chunks = random() % 2 == 0});
      EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;
      EXPECT_EQ(result.hardware.cycles, result.model_cycles);
      ++compared;
    } catch (const Error& error) {  // an algorithm that the network has not
      ASSERT_EQ(error.code(), ErrorCode::Unsupported) << error.what();
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(compared, kWidePoints / 2);
}

/// Four ranks, memory of 100 cycles that reads and writes twice what a rank's links carry.
TEST_P(WideFlits, LinksAreBusyBehindSlowMemory) {
  const Topology topology = make_topology(network_of("torus:2x2", GetParam()));
  nic::Parameters p = wide(GetParam());
  p.memory_cycles = 100;
  p.memory_ports = 4;
  const std::uint64_t bytes = std::uint64_t{16'384} * GetParam();
  const CosimResult result =
      cosimulate(make_schedule("allreduce-optimal", topology), topology, bytes, p, {});
  EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;
  // Of a rank's two links each carries 3/4 of all.
  EXPECT_GT(0.75 * 16'384 / static_cast<double>(result.hardware.cycles), 0.93);
}

/// Links that lose and corrupt part of all they carry: what comes of it is the same.
TEST_P(WideFlits, LinksThatLose) {
  std::mt19937 random(GetParam() + 1);
  std::uint64_t bad = 0;
  for (const char* const name : {"ring:2", "ring:3", "mesh:2x3", "star:5", "fattree:2x2"}) {
    for (const double rate : {0.003, 0.1, 0.4}) {
      SCOPED_TRACE(fmt::format("{} {}", name, rate));
      const Topology topology = make_topology(network_of(name, GetParam()));
      nic::Parameters p = wide(GetParam());
      p.flow_control = random() % 2 == 0 ? nic::FlowControl::Message : nic::FlowControl::Packet;
      p.memory_cycles = one_of(std::array{1U, 40U}, random);
      const CosimResult result =
          cosimulate(make_schedule("multitree", topology), topology, 9004, p,
                     {.type = one_of(kWideTypes, random),
                      .link_errors = nic::LinkErrors{.rate = rate, .seed = random()}});
      EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;
      EXPECT_EQ(result.hardware.cycles, result.model_cycles);
      ASSERT_TRUE(result.link_counts);
      bad += result.link_counts->bad;
    }
  }
  EXPECT_GT(bad, 100U);
}

/// Between switches that add and copy, also by links that lose.
TEST_P(WideFlits, SwitchesThatAddAndCopy) {
  for (const char* const name : kWideAdding) {
    for (const HardwareType type : kWideTypes) {
      for (const double rate : {0.0, 0.02}) {
        SCOPED_TRACE(fmt::format("{} type {} rate {}", name, static_cast<int>(type), rate));
        const Topology topology =
            make_topology(fmt::format("{}&bw={}GB/s&lat=9ns", name, GetParam()));
        CosimOptions options{.type = type};
        if (rate > 0) options.link_errors = nic::LinkErrors{.rate = rate};
        const CosimResult result = cosimulate(make_schedule("in-network?segments=5", topology),
                                              topology, 9004, wide(GetParam()), options);
        EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;
        EXPECT_EQ(result.hardware.cycles, result.model_cycles);
      }
    }
  }
}

/// Contributions that are too late for a deadline: headers count what they hold.
TEST_P(WideFlits, LateContributions) {
  const Topology topology = make_topology(network_of("torus:2x2", GetParam()));
  const nic::Losses losses{.deadline = 400, .budget = 1, .ready = {0, 0, 5000, 0}};
  const CosimResult result = cosimulate(make_schedule("multitree", topology), topology, 4104,
                                        wide(GetParam()), {.losses = losses});
  EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;
  ASSERT_TRUE(result.losses);
  EXPECT_EQ(result.losses->absent, std::vector<std::uint32_t>{2});
}

/// What such hardware does not have is refused in words.
TEST_P(WideFlits, OneKindOfHardware) {
  const auto message = [&](const std::string& network, const nic::Parameters& p,
                           const CosimOptions& options) -> std::string {
    const Topology topology = make_topology(network_of(network, GetParam()));
    try {
      (void)cosimulate(make_schedule("ring", topology), topology, 64, p, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
      return error.what();
    }
    return "";
  };
  const nic::Parameters p = wide(GetParam());
  const std::string with = fmt::format("with flit_bytes {}", GetParam());
  nic::Parameters other = p;
  other.ports_per_unit = 2;
  for (const std::string& refused : {message("star:9", p, {}), message("full:10", p, {}),
                                     message("ring:3", {.flit_bytes = GetParam()}, {})}) {
    EXPECT_NE(refused.find(with), std::string::npos) << refused;
  }
  EXPECT_NE(message("ring:3", other, {}).find("expected a unit for each port"), std::string::npos);
  other = p;
  other.flit_bytes = 48;
  EXPECT_NE(message("ring:3", other, {}).find("expected flit_bytes 16 or 32 or 64, got 48"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Bytes, WideFlits, testing::Values(32U, 64U));

}  // namespace
}  // namespace multitree::rtl
