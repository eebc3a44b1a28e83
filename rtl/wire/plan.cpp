// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nic/program/program.hpp"
#include "rtl/sim/network.hpp"
#include "topologies/error.hpp"

namespace multitree::rtl {
namespace {

std::optional<nic::SwitchesAsRanks> as_ranks(const WireJob& job, std::uint64_t elements) {
  if (!job.schedule.in_network) return std::nullopt;
  nic::expect_hardware_switches(job.topology);
  return nic::switches_as_ranks(job.schedule, job.topology, elements);
}

nic::Tables tables_of(const Plan& plan) {
  if (plan.job.parameters.flit_bytes != mt_pkg::kDataW / 8) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("nic job: expected flits of {} bytes, as frames have them, got {}",
                            mt_pkg::kDataW / 8, plan.job.parameters.flit_bytes));
  }
  check_verilated(plan.topology(), plan.job.parameters);
  return nic::compile_tables(plan.schedule(), plan.topology(), {.elements = plan.elements});
}

}  // namespace

Plan::Plan(const WireJob& given)
    : job(given),
      numbers(job.topology),
      elements(nic::padded_elements(job.bytes, bytes_of(job.type), job.schedule.ranks)),
      made(as_ranks(job, elements)),
      tables(tables_of(*this)),
      collective{.tables = tables,
                 .parameters = job.parameters,
                 .type = job.type,
                 .step_lengths = {},
                 .watchdog = 0},  // it counts cycles, and others need time
      inputs(make_inputs(schedule().ranks, elements, job.type)),
      expected(inputs) {
  check_channels(tables, topology(), job.parameters.virtual_channels);
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
