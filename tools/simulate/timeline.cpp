// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Simulations as timelines.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "report/lanes.hpp"
#include "report/trace.hpp"
#include "tools/simulate/arrows.hpp"
#include "tools/simulate/output.hpp"

namespace multitree::tools {
namespace {

using nic::MessageRecord;
using nic::Span;

std::string port_name(const Topology& topology, const Span& span) {
  return fmt::format("{} port {}", topology.node(topology.node_of(Rank{span.row})).name, span.port);
}

std::string link_name(const Topology& topology, const Span& span) {
  const Link& link = topology.link(LinkId{span.row});
  return fmt::format("{}->{}", topology.node(link.src).name, topology.node(link.dst).name);
}

}  // namespace

std::string simulation_trace(const Topology& topology, const nic::Simulation& simulation) {
  report::Trace trace;
  report::Lanes lanes(trace);
  const double cycle_ns = 1e9 / static_cast<double>(simulation.clock_hz);
  // Rows in the order of ranks and links, spans of a row in the order of time.
  std::vector<std::uint32_t> order(simulation.spans.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) {
    const Span& s = simulation.spans[i];
    return std::tuple(s.kind, s.row, s.port, s.begin, s.message);
  });
  std::vector<std::uint64_t> span_of(simulation.records.size(), kNoSpan);
  for (const std::uint32_t i : order) {
    const Span& span = simulation.spans[i];
    const MessageRecord& record = simulation.records[span.message];
    const bool is_port = span.kind == Span::Kind::Interface;
    const std::uint32_t track = lanes.track(
        is_port ? "interfaces" : "links",
        is_port ? port_name(topology, span) : link_name(topology, span), span.begin, span.end);
    const std::uint64_t number = trace.add_span(
        track,
        fmt::format("{} flow {}", record.op == Op::Reduce ? "reduce" : "gather", record.flow),
        static_cast<double>(span.begin) * cycle_ns, static_cast<double>(span.end) * cycle_ns,
        {{"src", index(record.src)},
         {"dst", index(record.dst)},
         {"step", record.step},
         {"piece", record.piece},
         {"bytes", record.bytes}});
    if (is_port) span_of[span.message] = number;
  }
  add_arrows(trace, simulation.records, span_of);
  return trace.to_json();
}

}  // namespace multitree::tools
