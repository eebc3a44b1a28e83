// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Against cycles of the study's released simulator.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/study/report.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

std::string ratio(std::uint64_t cycles, std::uint64_t measured) {
  return fmt::format("{:.3f}", static_cast<double>(cycles) / static_cast<double>(measured));
}

/// What our own cycles are headed with.
std::string ours_of(const StudyPlan& plan) {
  return plan.machine == nic::Machine::Ideal ? "default" : std::string(to_string(plan.machine));
}

/// Who is how much faster at a network and size, by each way of counting.
std::string speedups(const ReportInput& input) {
  const std::vector<Measured> list = measured(input.plan);
  Rows rows = {{"network", "buffer", "speed-up", "measured", "imitated", ours_of(input.plan)}};
  const auto find = [&](const Measured& like, std::string_view label) {
    return std::ranges::find_if(list, [&](const Measured& m) {
      return m.network == like.network && m.bytes == like.bytes && m.label == label;
    });
  };
  const auto add = [&](const Measured& fast, std::string_view label) {
    const auto slow = find(fast, label);
    if (slow == list.end()) return;
    const auto ratio_of = [&](const auto& cycles) {
      return times(static_cast<double>(cycles(*slow)) / static_cast<double>(cycles(fast)));
    };
    rows.push_back(
        {fast.network, format_bytes(fast.bytes), fmt::format("{} over {}", fast.label, label),
         ratio_of([](const Measured& m) { return m.cycles; }), ratio_of([&](const Measured& m) {
           return input.outcome(compatible_point(input.plan, m)).cycles;
         }),
         ratio_of([&](const Measured& m) {
           return input.outcome(default_point(input.plan, m)).cycles;
         })});
  };
  for (const Measured& one : list) {
    if (one.contender.algorithm != "multitree") continue;
    for (const std::string_view label : {"ring", "2D-ring", "multitree, packets"}) {
      if (label != one.label) add(one, label);
    }
  }
  return markdown_table(rows);
}

/// {}: worst_ring() in percent.
constexpr std::string_view kMechanisms =
    R"(What the study's simulator does, and which parameter imitates it:

* It adds a partial sum only after the whole chunk has come, one after the other, 32 elements a cycle and rank
  (`reduction`: store). A ring of n ranks and chunks of e elements then takes n - 1 times e / 32 more.
* A step costs 167.5 cycles besides: 150 of the link, the rest interfaces and router (`interface_cycles`,
  `issue_cycles`). With both, rings are {:.1f} % off at most.
* Its four ports are not those of the four links: the lowest free port takes the next message, in whatever
  direction it goes, and is free again once the packets are in its queues (`port_queue_packets`: 32 + 16 packets and
  80 flits). So messages for different links wait in one queue, most of all where they become ready one after the
  other. This is most of the distance between 2D-ring and MULTITREE there and here.
* Lockstep waits for an estimate that is 58 packets short (`step_discount`: 928 flits). Chunks of up to 64 packets
  have no lockstep to speak of: 4x4 up to 256 KiB, 8x8 up to 1 MiB.
* An input of its router moves one flit a cycle (`shared_inputs`): messages of one input for different outputs hold
  each other up. Without that, packets on 8x8 were 28 % too fast, with it 18 %; at 256 KiB 20 % became 4 %.

What remains, up to 19 % for packets of 1 MiB on 8x8, was not measured: its trees differ from ours (other tie breaks), and
in its routers outputs choose before inputs do (iSLIP, one round), here inputs before outputs.
)";

/// How far imitated rings are from what was measured at most, in percent.
double worst_ring(const ReportInput& input) {
  double worst = 0;
  for (const Measured& one : measured(input.plan)) {
    if (one.label != "ring") continue;
    const auto imitated =
        static_cast<double>(input.outcome(compatible_point(input.plan, one)).cycles);
    worst = std::max(worst, std::abs(imitated / static_cast<double>(one.cycles) - 1));
  }
  return 100 * worst;
}

}  // namespace

Section compatibility_section(const ReportInput& input) {
  Rows rows = {{"network", "buffer", "algorithm", "measured", "imitated", "ratio",
                ours_of(input.plan), "ratio"}};
  for (const Measured& one : measured(input.plan)) {
    const std::uint64_t imitated = input.outcome(compatible_point(input.plan, one)).cycles;
    const std::uint64_t ours = input.outcome(default_point(input.plan, one)).cycles;
    rows.push_back({one.network, format_bytes(one.bytes), one.label, fmt::format("{}", one.cycles),
                    fmt::format("{}", imitated), ratio(imitated, one.cycles),
                    fmt::format("{}", ours), ratio(ours, one.cycles)});
  }
  return {.text =
              "## Compatibility\n\nCycles that the study's released simulator takes, against "
              "the flit model with parameters that imitate it\n(`study/compatibility-*.json`) "
              "and with ours on the " +
              std::string(to_string(input.plan.machine)) +
              " machine. Its 2D-ring is one phase, times two; ours is both phases.\n\n" +
              markdown_table(rows) + "\n" + speedups(input) + "\n" +
              fmt::format(kMechanisms, worst_ring(input))};
}

}  // namespace multitree::tools
