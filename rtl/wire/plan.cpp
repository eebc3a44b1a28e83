// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nic/program/program.hpp"
#include "rtl/sim/network.hpp"
#include "rtl/sim/node.hpp"
#include "topologies/error.hpp"

namespace multitree::rtl {
namespace {

std::optional<nic::SwitchesAsRanks> as_ranks(const WireJob& job, std::uint64_t elements) {
  if (!job.schedule.in_network) return std::nullopt;
  nic::expect_hardware_switches(job.topology);
  return nic::switches_as_ranks(job.schedule, job.topology, elements);
}

/// How many words wait for memory changes cycles alone, which a job does not have: unless it is
/// said, wider flits have what is verilated.
nic::Parameters as_verilated(const WireJob& job) {
  nic::Parameters parameters = job.parameters;
  const bool is_said =
      WordsUnderWay{parameters.send_words, parameters.add_words} != WordsUnderWay{};
  if (parameters.flit_bytes == kUsualFlitBytes || is_said) return parameters;
  parameters.send_words = kWideWords.send;
  parameters.add_words = kWideWords.add;
  return parameters;
}

nic::Tables tables_of(const Plan& plan) {
  check_verilated(plan.topology(), plan.parameters);
  return nic::compile_tables(plan.schedule(), plan.topology(), {.elements = plan.elements});
}

}  // namespace

Plan::Plan(const WireJob& given)
    : job(given),
      parameters(as_verilated(job)),
      numbers(job.topology),
      elements(nic::padded_elements(job.bytes, bytes_of(job.type), job.schedule.ranks)),
      made(as_ranks(job, elements)),
      tables(tables_of(*this)),
      collective{.tables = tables,
                 .parameters = parameters,
                 .type = job.type,
                 .step_lengths = {},
                 .watchdog = 0},  // it counts cycles, and others need time
      inputs(make_inputs(schedule().ranks, elements, job.type)),
      expected(inputs) {
  check_channels(tables, topology(), parameters.virtual_channels);
  run_schedule(schedule(), job.type, expected);
}

void check_channels(const nic::Tables& tables, const Topology& topology, std::uint32_t channels) {
  // Where there are fewer channels than classes, each class has one channel, and the last have
  // none.
  const std::uint32_t end = std::min(tables.classes, channels);
  for (std::uint32_t r = 0; r < tables.ranks; ++r) {
    for (const nic::TableRoute& route : tables.routes[r]) {
      NodeId node = topology.node_of(Rank{r});
      for (const nic::TableRoute::Hop& hop : route.hops) {
        const Link& link = topology.link(topology.out_links(node)[hop.port]);
        if (hop.vc_class >= end) {
          throw Error(ErrorCode::Unsupported,
                      fmt::format("nic job: {}: its route to {} takes virtual channel {} of link "
                                  "{} -> {}, expected one below {} (virtual_channels {})",
                                  tables.name_of(r), tables.name_of(index(route.peer)),
                                  hop.vc_class, topology.node(link.src).name,
                                  topology.node(link.dst).name, end, channels));
        }
        node = link.dst;
      }
    }
  }
}

}  // namespace multitree::rtl
