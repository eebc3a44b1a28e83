// SPDX-License-Identifier: BSD-3-Clause
/// Where the message model is said to be exact, it gives the flit model's cycles.
#include "nic/message/exact.hpp"

#include <gmock/gmock.h>

#include <random>

#include "algorithms/registry.hpp"
#include "nic/simulate.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::Parameters;

/// Any of these values.
template <typename T>
T one_of(std::mt19937& random, std::initializer_list<T> values) {
  return *(values.begin() + random() % values.size());
}

Parameters random_parameters(std::mt19937& random) {
  Parameters p;
  p.flit_bytes = one_of(random, {8U, 16U, 64U});
  p.virtual_channels = one_of(random, {1U, 2U, 4U});
  p.buffer_flits = one_of(random, {8U, 40U, 318U});
  p.router_cycles = one_of(random, {0U, 1U, 3U});
  p.interface_cycles = one_of(random, {1U, 2U});
  p.flow_control = one_of(random, {nic::FlowControl::Message, nic::FlowControl::Packet});
  p.packet_bytes = one_of(random, {64U, 256U});
  p.header_flits = one_of(random, {1U, 2U});
  p.ports = one_of(random, {0U, 0U, 1U});
  p.issue = one_of(random, {nic::Issue::Dependency, nic::Issue::Lockstep});
  return p;
}

TEST(MessageModel, IsExactWhereItIsSaidToBe) {
  std::mt19937 random(11);
  int exact = 0;
  for (int round = 0; round < 1500; ++round) {
    const Topology topology = make_topology(one_of<const char*>(
        random, {"ring:5?bw=16GB/s&lat=10ns", "torus:3x3?bw=16GB/s&lat=20ns", "mesh:3x2?lat=7ns",
                 "hypercube:3?bw=8GB/s&lat=4ns", "star:4?lat=5ns", "full:4?lat=9ns"}));
    const std::string algorithm =
        one_of<const char*>(random, {"ring", "multitree", "symmetric", "allreduce-optimal"});
    Schedule schedule;
    try {
      schedule = make_schedule(algorithm, topology);
    } catch (const Error&) {
      continue;  // not for this network
    }
    const Parameters p = random_parameters(random);
    const std::uint64_t bytes = one_of<std::uint64_t>(random, {0, 64, 1'000, 20'000});
    if (!nic::message_model_differs(schedule, topology, bytes, p).empty()) continue;
    ++exact;
    nic::SimulationOptions options;
    if (random() % 3 == 0) {
      options.faults = {{.kind = nic::Fault::Kind::LateInterface, .rank = Rank{1}, .cycle = 77}};
    }
    options.model = nic::Model::Message;
    const auto message = nic::simulate(schedule, topology, bytes, p, options);
    options.model = nic::Model::Flit;
    const auto flit = nic::simulate(schedule, topology, bytes, p, options);
    EXPECT_TRUE(flit.errors.empty());
    EXPECT_EQ(message.cycles, flit.cycles)
        << topology.name() << " " << algorithm << " " << bytes << "\n"
        << nic::write_parameters(p);
    EXPECT_EQ(message.link_flits, flit.link_flits);
  }
  EXPECT_GT(exact, 200);
}

TEST(MessageModel, SaysWhyItMayDiffer) {
  const Topology topology = make_topology("torus:4x4");
  const Schedule schedule = make_schedule("multitree", topology);
  const auto reason = [&](const Parameters& p) {
    return nic::message_model_differs(schedule, topology, 65'536, p);
  };
  EXPECT_EQ(reason({}), "");
  EXPECT_EQ(reason({.buffer_flits = 100}), "buffers are shorter than the way there and back");
  EXPECT_EQ(reason({.clock_hz = 2'000'000'000}), "links are slower than a flit a cycle");
  EXPECT_EQ(reason({.shared_inputs = true}), "inputs of routers move one flit a cycle");
  EXPECT_EQ(reason({.issue_jitter = 3}), "messages are issued later than they could be");
  EXPECT_EQ(reason({.issue_cycles = 3}), "messages are issued later than they could be");
  EXPECT_EQ(reason({.cut_through = true}), "headers wait for room for a packet (cut_through)");
  EXPECT_EQ(reason({.reduction = nic::Reduction::Store}), "one unit of a rank makes all sums");
  EXPECT_EQ(reason({.ejection_channels = 1}), "ejection ports have channels of their own");
  EXPECT_EQ(reason({.port_queue_packets = 58}), "ports share their messages");
  EXPECT_EQ(reason({.reduction = nic::Reduction::Pipelined}),
            "sums are made word by word as in hardware");
  const Topology star = make_topology("star:4");
  EXPECT_EQ(nic::message_model_differs(make_schedule("double-binary-tree", star), star, 4'096, {}),
            "messages of several ports share channels");
}

}  // namespace
}  // namespace multitree
