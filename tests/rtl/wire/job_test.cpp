// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives of interfaces in hardware and in software: whoever is which, the bits are the
/// runtime's.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "algorithms/registry.hpp"
#include "nic/hardware.hpp"
#include "rtl/wire/job.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

struct Case {
  std::string network, algorithm;
  HardwareType type = HardwareType::Fp32;
  nic::FlowControl flow_control = nic::FlowControl::Message;
  multitree::Collective collective = multitree::Collective::AllReduce;
  std::uint32_t flit_bytes = 16;
};

/// Which ranks are hardware.
enum class Mix : std::uint8_t { None, Half, All };

std::vector<WireReport> run(const Case& one, Mix mix, std::uint64_t bytes, double drop = 0) {
  const Topology topology = make_topology(one.network);
  const Schedule schedule = make_schedule(one.algorithm, topology, one.collective, Rank{0});
  nic::Parameters parameters;
  parameters.flow_control = one.flow_control;
  parameters.flit_bytes = one.flit_bytes;
  parameters = nic::as_hardware(parameters);
  parameters.element_bytes = bytes_of(one.type);
  WireJob job{.schedule = schedule,
              .topology = topology,
              .bytes = bytes,
              .type = one.type,
              .parameters = parameters,
              .is_hardware = std::vector<bool>(topology.num_nodes(), mix == Mix::All),
              .adders = Adders::Function,
              .drop = drop};
  for (std::uint32_t i = 0; i < topology.num_nodes() && mix == Mix::Half; i += 2) {
    job.is_hardware[i] = true;
  }
  return run_in_memory(job);
}

void expect_right(const std::vector<WireReport>& reports) {
  for (std::size_t r = 0; r < reports.size(); ++r) EXPECT_EQ(reports[r].wrong, "") << "rank " << r;
}

void expect_refused(const std::function<void()>& call, const std::string& words) {
  try {
    call();
    ADD_FAILURE() << "expected an error with '" << words << "'";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(WireJob, SoftwareDoesWhatTablesSay) {
  for (const auto& [network, algorithm] : {std::pair{"torus:4x4", "multitree"},
                                           {"mesh:3x3", "ring"},
                                           {"ring:5", "multitree"},
                                           {"hypercube:4", "recursive-doubling"},
                                           {"torus:4x4", "recursive-doubling"},
                                           {"mesh:2x3", "allreduce-optimal"},
                                           {"torus:4x4", "2d-ring"},
                                           {"torus:3x3x3", "multitree"},
                                           {"fullmesh:5", "multitree"},
                                           {"torus:2x2", "multitree"}}) {
    SCOPED_TRACE(std::string(network) + " " + algorithm);
    expect_right(run({network, algorithm}, Mix::None, 5000));
  }
}

TEST(WireJob, HardwareAndSoftwareUnderstandEachOther) {
  for (const auto& [network, algorithm] : {std::pair{"torus:2x4", "multitree"},
                                           {"mesh:3x3", "ring"},
                                           {"mesh:2x3", "allreduce-optimal"},
                                           {"hypercube:3", "recursive-doubling"},
                                           {"torus:4x4", "recursive-doubling"}}) {
    SCOPED_TRACE(std::string(network) + " " + algorithm);
    const auto reports = run({network, algorithm}, Mix::Half, 5000);
    expect_right(reports);
    for (std::size_t r = 0; r < reports.size(); ++r) EXPECT_EQ(reports[r].is_hardware, r % 2 == 0);
  }
}

TEST(WireJob, AllTypesPacketsAndCollectives) {
  for (const HardwareType type : {HardwareType::Int32, HardwareType::Bf16, HardwareType::Fp16}) {
    expect_right(run({"mesh:2x3", "multitree", type}, Mix::Half, 3000));
  }
  expect_right(run({"torus:2x4", "multitree", HardwareType::Fp32, nic::FlowControl::Packet},
                   Mix::Half, 20'000));
  using All = multitree::Collective;
  for (const All collective : {All::ReduceScatter, All::AllGather, All::Broadcast, All::Reduce}) {
    expect_right(
        run({"mesh:2x3", "multitree", HardwareType::Fp32, nic::FlowControl::Message, collective},
            Mix::Half, 3000));
  }
}

TEST(WireJob, LostAndBrokenFramesChangeNothing) {
  for (const Mix mix : {Mix::None, Mix::Half, Mix::All}) {
    const auto reports = run({"torus:2x4", "multitree"}, mix, 20'000, 0.05);
    expect_right(reports);
    std::uint64_t again = 0, bad = 0;
    for (const WireReport& report : reports) again += report.again, bad += report.bad;
    EXPECT_GT(again, 0U);
    EXPECT_GT(bad, 0U);
  }
}

TEST(WireJob, OneElementAndNone) {
  expect_right(run({"mesh:2x2", "multitree"}, Mix::Half, 4));
  expect_right(run({"mesh:2x2", "multitree"}, Mix::Half, 0));
}

/// In which order and how early worms come is up to the network: up to 255 at a port have places.
TEST(WireJob, HardwareHasPlacesForEarlyWorms) {
  expect_right(run({"torus:2x4", "multitree", HardwareType::Fp32, nic::FlowControl::Packet},
                   Mix::All, 80'000, 0.02));
}

nic::Tables tables_of(const Topology& topology, const std::string& algorithm) {
  return nic::compile_tables(make_schedule(algorithm, topology), topology, {.elements = 1024});
}

/// Messages to ranks that are no neighbours, all around a ring, need two.
TEST(WireJob, RoutesThatTakeChannelsThatLinksDoNotHaveAreRefused) {
  const Topology topology = make_topology("ring:8");
  nic::Tables tables = tables_of(topology, "recursive-doubling");
  ASSERT_EQ(tables.classes, 2U);
  check_channels(tables, topology, 2);
  expect_refused([&] { check_channels(tables, topology, 1); }, "virtual channel 1 of link");
  const nic::TableRoute& first = tables.routes[5].front();
  const Link& link = topology.link(topology.out_links(topology.node_of(Rank{5}))[first.port]);
  tables.routes[5].front().hops.front().vc_class = 3;
  expect_refused([&] { check_channels(tables, topology, 4); },
                 "rank 5: its route to rank " + std::to_string(index(first.peer)) +
                     " takes virtual channel 3 of link " + topology.node(link.src).name + " -> " +
                     topology.node(link.dst).name + ", expected one below 2");
}

TEST(WireJob, HaveNoMoreChannelsThanHardware) {
  const Topology topology = make_topology("ring:8");
  const Schedule schedule = make_schedule("recursive-doubling", topology);
  WireJob job{.schedule = schedule,
              .topology = topology,
              .bytes = 1024,
              .parameters = nic::as_hardware({.virtual_channels = 1}),
              .is_hardware = std::vector<bool>(schedule.ranks, false)};
  expect_refused([&] { run_in_memory(job); }, "nic job: rank");
  job.parameters.virtual_channels = mt_pkg::kNumVc + 1;
  expect_refused([&] { run_in_memory(job); }, "at most 4 virtual channels");
  job.parameters.virtual_channels = 2;
  expect_right(run_in_memory(job));
  job.parameters.flit_bytes = 48;
  expect_refused([&] { run_in_memory(job); }, "expected flit_bytes 16 or 32 or 64, got 48");
  job.parameters.flit_bytes = 64;
  job.parameters.send_words = 24;
  job.parameters.add_words = 32;
  expect_refused([&] { run_in_memory(job); }, "send_words 512 and add_words 512");
}

/// Ways of more than two links have a flit of their own, last flits any number of elements.
TEST(WireJob, FlitsMayBeWider) {
  for (const std::uint32_t flit_bytes : {32U, 64U}) {
    for (const auto& [network, algorithm, flow] :
         {std::tuple{"mesh:2x3", "allreduce-optimal", nic::FlowControl::Message},
          {"torus:4x4", "recursive-doubling", nic::FlowControl::Message},
          {"torus:2x4", "multitree", nic::FlowControl::Packet},
          {"star:5", "ring", nic::FlowControl::Packet},
          {"star:5?switches=add,copy", "in-network?segments=2", nic::FlowControl::Message}}) {
      for (const Mix mix : {Mix::None, Mix::Half, Mix::All}) {
        for (const HardwareType type : {HardwareType::Fp32, HardwareType::Bf16}) {
          SCOPED_TRACE(std::string(network) + " " + algorithm + " " + std::to_string(flit_bytes));
          expect_right(
              run({network, algorithm, type, flow, multitree::Collective::AllReduce, flit_bytes},
                  mix, 5012, 0.01));
        }
      }
    }
  }
}

TEST(WireJob, SwitchesForward) {
  for (const auto& [network, algorithm] : {std::pair{"star:6", "multitree"},
                                           {"star:5", "ring"},
                                           {"fattree:2x2", "multitree"},
                                           {"fattree:4x2", "recursive-doubling"},
                                           {"dgx-a100:2", "multitree"},
                                           {"bigraph:2x4", "allreduce-optimal"},
                                           {"dragonfly:2x1x2", "ring"}}) {
    for (const Mix mix : {Mix::None, Mix::Half, Mix::All}) {
      SCOPED_TRACE(std::string(network) + " " + algorithm);
      const auto reports = run({network, algorithm}, mix, 3000, 0.01);
      expect_right(reports);
      const Topology topology = make_topology(network);
      ASSERT_EQ(reports.size(), topology.num_nodes());
      std::uint64_t forwarded = 0;
      for (std::size_t i = topology.num_ranks(); i < reports.size(); ++i) {
        forwarded += reports[i].flits;
      }
      EXPECT_GT(forwarded, 0U);
    }
  }
}

TEST(WireJob, SwitchesAddAndCopy) {
  for (const char* network :
       {"star:5?switches=add,copy", "fattree:2x2?switches=leaf0:add,leaf0:copy"}) {
    for (const Mix mix : {Mix::None, Mix::Half, Mix::All}) {
      SCOPED_TRACE(network);
      expect_right(run({network, "in-network?segments=2"}, mix, 3000, 0.01));
    }
  }
  expect_refused(
      [] {
        run({"star:4?switches=add,copy,1", "in-network?segments=1"}, Mix::None, 64);
      },
      "any number of messages at once");
}

}  // namespace
}  // namespace multitree::rtl
