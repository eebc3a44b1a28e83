// SPDX-License-Identifier: BSD-3-Clause
#include "nic/simulate.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <tuple>

#include "algorithms/registry.hpp"
#include "simulation.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::Model;
using nic::Parameters;
using nic::Simulation;
using nic::SimulationOptions;
using nic::Span;
using testing::HasSubstr;

Simulation run(const char* spec, const char* algorithm, std::uint64_t bytes,
               const SimulationOptions& options, const Parameters& parameters = {}) {
  const Topology topology = make_topology(spec);
  return nic::simulate(make_schedule(algorithm, topology), topology, bytes, parameters, options);
}

std::string error_of(ErrorCode code, const SimulationOptions& options,
                     const Parameters& parameters = {}, const char* spec = "ring:4") {
  try {
    run(spec, "ring", 4096, options, parameters);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "no error";
}

TEST(Models, HaveNames) {
  for (const Model model : {Model::AlphaBeta, Model::Message, Model::Flit}) {
    EXPECT_EQ(nic::parse_model(nic::to_string(model)), model);
  }
  try {
    nic::parse_model("fast");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("alphabeta, message, flit or rtl, got 'fast'"));
  }
}

/// Of an all-reduce in which the switches of a network add and copy.
Simulation in_network(const std::string& spec, const char* algorithm, std::uint64_t bytes,
                      const SimulationOptions& options) {
  return run((spec + "?switches=add,copy").c_str(), algorithm, bytes, options);
}

TEST(InNetwork, MessagesAndFlitsTakeAboutAsLongAsPredicted) {
  constexpr std::uint64_t kBytes = 1 << 20;
  for (const char* spec : {"star:4", "fattree:2x4", "bigraph:2x4"}) {
    const auto seconds = [&](Model model) {
      const Simulation result = in_network(spec, "in-network?size=1MiB", kBytes, {.model = model});
      EXPECT_THAT(result.errors, testing::IsEmpty()) << spec;
      return result.seconds();
    };
    const double predicted = seconds(Model::AlphaBeta), message = seconds(Model::Message);
    // Headers, interfaces, and a chunk that each switch takes in first.
    EXPECT_GE(message, 0.97 * predicted) << spec;
    EXPECT_LE(message, 1.25 * predicted) << spec;
    EXPECT_NEAR(seconds(Model::Flit), message, 0.1 * message) << spec;
  }
}

TEST(InNetwork, LinksCarryEachVectorOnceEachWay) {
  const Simulation result =
      in_network("star:5", "in-network?segments=1", 16 * 5 * 1024, {.model = Model::Message});
  // Rank 0 takes the sum and sends the result, the others one message each way: with a switch that
  // takes them in, one on each of ten links.
  EXPECT_EQ(result.messages, 10U);
  EXPECT_EQ(result.link_flits, 10 * result.busiest_link_flits);
}

TEST(InNetwork, MovesData) {
  for (const char* spec : {"star:4", "fattree:2x4"}) {
    const Simulation result = in_network(spec, "in-network?segments=3", 8192, {.data = true});
    EXPECT_THAT(result.errors, testing::IsEmpty()) << spec;
    EXPECT_TRUE(result.checked) << spec;
  }
}

// Neither headers nor interfaces.
TEST(Models, AlphaBetaIsTheCostModel) {
  const Simulation result = run("mesh:2", "multitree", 8192, {.model = Model::AlphaBeta});
  EXPECT_EQ(result.cycles, 2U * (4096 / 16 + 150));
  EXPECT_EQ(result.messages, 4U);
  EXPECT_EQ(result.clock_hz, 1'000'000'000U);
  EXPECT_DOUBLE_EQ(result.seconds(), 812e-9);
}

std::string text(const Span& s) {
  return fmt::format("row {} port {} message {}: {}-{}", s.row, s.port, s.message, s.begin, s.end);
}

// Where no link is shared, the two simulators tell the same of every message and every link.
TEST(Traces, AreTheSameInBothModels) {
  for (const auto& [spec, algorithm] :
       {std::pair{"torus:4x4", "multitree"}, std::pair{"mesh:3x5", "symmetric"},
        std::pair{"ring:8", "ring"}, std::pair{"star:5", "ring"}}) {
    const Topology topology = make_topology(spec);
    if (find_algorithm(algorithm).unsupported(topology)) continue;
    for (const nic::FlowControl flow_control :
         {nic::FlowControl::Message, nic::FlowControl::Packet}) {
      const Parameters p{.router_cycles = 2, .issue_cycles = 3, .flow_control = flow_control};
      const Parameters roomy = [&] {
        Parameters q = p;
        q.buffer_flits = 400;
        return q;
      }();
      const auto key = [](const Span& s) {
        return std::tuple(s.kind, s.row, s.port, s.message, s.begin, s.end);
      };
      const auto trace = [&](Model model) {
        Simulation result = run(spec, algorithm, 65'536, {.model = model, .trace = true}, roomy);
        std::ranges::sort(result.spans, {}, key);
        return result;
      };
      const Simulation flit = trace(Model::Flit), message = trace(Model::Message);
      EXPECT_EQ(flit.cycles, message.cycles);
      const auto [a, b] = std::ranges::mismatch(flit.spans, message.spans, {}, key, key);
      EXPECT_EQ(a, flit.spans.end()) << spec << ": " << text(*a);
      EXPECT_EQ(b, message.spans.end()) << spec << ": " << text(*b);
      const auto times = [](const nic::MessageRecord& m) {
        return std::tuple(m.src, m.dst, m.op, m.step, m.flow, m.piece, m.bytes, m.issued,
                          m.arrived);
      };
      EXPECT_TRUE(std::ranges::equal(flit.records, message.records, {}, times, times)) << spec;
      EXPECT_FALSE(flit.spans.empty());
    }
  }
}

TEST(Traces, OnlyIfAskedFor) {
  for (const Model model : {Model::Flit, Model::Message}) {
    const Simulation result = run("ring:4", "ring", 4096, {.model = model});
    EXPECT_TRUE(result.spans.empty());
    EXPECT_TRUE(result.records.empty());
    EXPECT_FALSE(result.checked);
  }
}

TEST(Progress, GrowsFromNothingToAll) {
  for (const Model model : {Model::Flit, Model::Message}) {
    double last = 0;
    std::size_t calls = 0;
    const auto progress = [&](double share) {
      EXPECT_GE(share, last);
      EXPECT_LE(share, 1);
      last = share;
      ++calls;
    };
    run("ring:3", "ring", 6 << 20, {.model = model, .progress = progress});
    if (model == Model::Flit) {
      EXPECT_GE(calls, 3U);
    }
  }
}

TEST(SimulateRefuses, WhatItCannotServe) {
  for (const Model model : {Model::Flit, Model::Message}) {
    EXPECT_THAT(
        error_of(ErrorCode::Unsupported, {.model = model}, {.virtual_channels = 1}, "torus:3x5"),
        testing::AnyOf(HasSubstr("no error"), HasSubstr("virtual channels")));
    EXPECT_THAT(error_of(ErrorCode::Unsupported, {.model = model}, {}, "ring:4?bw=100KB/s"),
                HasSubstr("at most 65535 cycles a flit"));
    const nic::Fault late{.kind = nic::Fault::Kind::LateInterface, .cycle = std::uint64_t{1} << 33};
    EXPECT_THAT(error_of(ErrorCode::Unsupported, {.model = model, .faults = {late}}),
                HasSubstr("below 2^31"));
  }
  EXPECT_THAT(error_of(ErrorCode::Unsupported, {.data = true}, {.element_bytes = 2}),
              HasSubstr("elements of 4 bytes"));
  EXPECT_THAT(error_of(ErrorCode::Unsupported, {.data = true}, {.flit_bytes = 6}),
              HasSubstr("flits of whole"));
}

TEST(SimulateRefuses, ParametersOutOfRange) {
  for (const Model model : {Model::AlphaBeta, Model::Message, Model::Flit}) {
    const SimulationOptions options{.model = model};
    EXPECT_THAT(error_of(ErrorCode::InvalidInput, options, {.virtual_channels = 9}),
                HasSubstr("virtual_channels"));
    EXPECT_THAT(error_of(ErrorCode::InvalidInput, options, {.virtual_channels = 0}),
                HasSubstr("virtual_channels"));
    EXPECT_THAT(error_of(ErrorCode::InvalidInput, options, {.flit_bytes = 0}),
                HasSubstr("flit_bytes"));
    EXPECT_THAT(error_of(ErrorCode::InvalidInput, options, {.interface_cycles = 0}),
                HasSubstr("interface_cycles"));
  }
}

}  // namespace
}  // namespace multitree
