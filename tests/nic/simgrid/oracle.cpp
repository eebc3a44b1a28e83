// SPDX-License-Identifier: BSD-3-Clause
#include "tests/nic/simgrid/oracle.hpp"

#include <fmt/format.h>
#include <xbt/log.h>

#include <cmath>
#include <simgrid/s4u.hpp>
#include <stdexcept>
#include <vector>

#include "tests/nic/simgrid/child_process.hpp"
#include "tests/nic/simgrid/platform.hpp"

namespace multitree::test {
namespace {

namespace s4u = simgrid::s4u;

/// The activities of a message; an empty one has no flight, as nothing has to arrive.
struct Activities {
  s4u::CommPtr wire, flight;
  [[nodiscard]] const s4u::CommPtr& arrival() const { return flight ? flight : wire; }
};

std::vector<Activities> create_activities(const MessageGraph& graph, const Platform& platform) {
  std::vector<Activities> all(graph.messages.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Message& message = graph.messages[i];
    const Lane& lane = graph.lanes[message.lane];
    all[i].wire = platform.wire(lane, message.bytes);
    if (message.bytes > 0) {
      all[i].flight = platform.flight(lane);
      all[i].wire->add_successor(all[i].flight);
    }
    if (message.behind) all[*message.behind].wire->add_successor(all[i].wire);
    for (const std::size_t need : message.needs) all[need].arrival()->add_successor(all[i].wire);
  }
  return all;
}

/// Starts what waits for nothing; SimGrid starts the rest when its time has come.
void start(const std::vector<Activities>& all) {
  for (const Activities& activities : all) {
    activities.wire->vetoable_start();
    if (activities.flight) activities.flight->vetoable_start();
  }
}

void expect_all_finished(const std::vector<Activities>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].arrival()->get_state() == s4u::Activity::State::FINISHED) continue;
    throw std::runtime_error(
        fmt::format("expected message {} of {} to arrive, got a deadlock", i, all.size()));
  }
}

double run_engine(const MessageGraph& graph, const Topology& topology) {
  xbt_log_control_set("xbt_cfg.thresh:warning");  // no line for every setting
  int argc = 1;
  char name[] = "simgrid";
  char* argv[] = {name, nullptr};
  const s4u::Engine engine(&argc, argv);
  configure_fluid_model();
  const Platform platform(topology, graph);
  const std::vector<Activities> all = create_activities(graph, platform);
  start(all);
  engine.run();
  expect_all_finished(all);
  return s4u::Engine::get_clock();
}

}  // namespace

std::uint64_t simgrid_cycles(const Schedule& schedule, const Topology& topology,
                             std::uint64_t bytes, const FlowControl& flow_control) {
  const MessageGraph graph = build_message_graph(schedule, bytes, flow_control);
  if (graph.messages.empty()) return 0;
  const double cycles = run_in_child([&] { return run_engine(graph, topology); });
  return static_cast<std::uint64_t>(std::llround(cycles));
}

}  // namespace multitree::test
