// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The cycles of a collective.
#include "rtl/sim/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "rtl/sim/node.hpp"

namespace multitree::rtl {
namespace {

constexpr std::array<std::string_view, mt_pkg::kNumErrors> kErrors = {"table parity",
                                                                      "opcode",
                                                                      "table full",
                                                                      "configured while running",
                                                                      "corrupt flit",
                                                                      "length",
                                                                      "piece",
                                                                      "duplicate message",
                                                                      "parked full",
                                                                      "late",
                                                                      "too many credits",
                                                                      "stuck credit",
                                                                      "timeout",
                                                                      "memory"};
constexpr std::uint32_t kDoneMask = 1;

/// Rings the doorbells that are due by that cycle, with the next tick.
/// \param rings in the order of cycles; from `next` on they have not been rung.
void ring_those_of(Hardware& network, const std::vector<Ring>& rings, std::uint64_t cycle,
                   std::size_t& next) {
  std::vector<std::uint32_t> doorbells;  // [rank]
  for (; next < rings.size() && rings[next].cycle <= cycle; ++next) {
    doorbells.resize(std::max<std::size_t>(doorbells.size(), rings[next].rank + std::size_t{1}));
    doorbells[rings[next].rank] |= rings[next].doorbells;
  }
  for (std::uint32_t r = 0; r < doorbells.size(); ++r) {
    if (doorbells[r] != 0) network.put_write(Rank{r}, {reg::kDoorbell, doorbells[r]});
  }
}

Fate fate_of(std::uint32_t losses) {
  const auto bit = [&](std::uint32_t number) {
    return (losses >> (mt_pkg::kSrcW + number) & 1) != 0;
  };
  return {.found = losses & ((1U << mt_pkg::kSrcW) - 1),
          .late = bit(0),
          .undecided = bit(1),
          .absent = bit(2),
          .discarded = bit(3)};
}

std::vector<std::vector<RegisterWrite>> to_all(std::uint32_t ranks, RegisterWrite write) {
  return std::vector(ranks, std::vector<RegisterWrite>{write});
}

class Run {
 public:
  Run(Hardware& network, std::uint32_t ranks, std::uint32_t links)
      : network_(network), done_(ranks, 0), flits_(links, 0) {}

  /// \returns whether all interfaces are done.
  bool cycle() {
    network_.tick();
    bool all = true;
    for (std::uint32_t r = 0; r < done_.size(); ++r) {
      const NodeTrace trace = network_.trace(Rank{r});
      if (trace.running && !is_started_) {
        is_started_ = true;
        start_ = network_.cycle();
      }
      if (trace.taken != 0) last_taken_ = network_.cycle() + 1;
      done_[r] |= trace.done ? kDoneMask : 0;
      all = all && done_[r] != 0;
    }
    for (std::uint32_t l = 0; l < flits_.size(); ++l) {
      flits_[l] += network_.sent(LinkId{l}).valid ? 1 : 0;
    }
    return all;
  }

  [[nodiscard]] bool is_started() const { return is_started_; }
  [[nodiscard]] std::uint64_t since_start() const { return network_.cycle() - start_; }
  [[nodiscard]] bool is_done(std::uint32_t rank) const { return done_[rank] != 0; }

  void finish(RunResult& result) const {
    result.cycles = last_taken_ > start_ ? last_taken_ - start_ : 0;
    result.simulated = network_.cycle();
    for (const std::uint64_t flits : flits_) {
      result.link_flits += flits;
      result.busiest_link_flits = std::max(result.busiest_link_flits, flits);
    }
  }

 private:
  Hardware& network_;
  std::vector<std::uint8_t> done_;
  std::vector<std::uint64_t> flits_;
  std::uint64_t start_ = 0, last_taken_ = 0;
  bool is_started_ = false;
};

}  // namespace

std::string describe_errors(std::uint32_t bits) {
  std::string names;
  for (std::size_t e = 0; e < kErrors.size(); ++e) {
    if ((bits >> e & 1) != 0) names += (names.empty() ? "" : ", ") + std::string(kErrors[e]);
  }
  return names;
}

RunResult run_collective(Hardware& network, const Collective& collective, Buffers& buffers,
                         std::uint64_t most, const std::function<void(std::uint64_t)>& observe) {
  network.write(load(collective, network.ports(), network.read(Rank{0}, reg::kGroups)));
  return run_again(network, collective, buffers, most, observe);
}

RunResult run_again(Hardware& network, const Collective& collective, Buffers& buffers,
                    std::uint64_t most, const std::function<void(std::uint64_t)>& observe) {
  const std::uint32_t ranks = collective.tables.ranks;
  network.write(to_all(ranks, arm()));
  for (std::uint32_t c = 0; c < kArmCycles; ++c) network.tick();
  for (std::uint32_t r = 0; r < ranks; ++r) {
    std::ranges::copy(buffers[r], network.memory(Rank{r}).bytes().begin());
  }
  std::size_t rung = 0;
  if (!collective.rings.empty()) {  // in cycle 0: before it starts
    ring_those_of(network, collective.rings, 0, rung);
    network.tick();
  }
  network.write(to_all(ranks, go()));

  Run run(network, ranks, network.num_links());
  RunResult result;
  bool all = false;
  // The interfaces start as many cycles after this write as a doorbell can be seen after its own.
  for (std::uint64_t cycle = 0; !all; ++cycle) {
    ring_those_of(network, collective.rings, cycle, rung);
    all = run.cycle();
    if (!run.is_started()) continue;
    if (observe) observe(run.since_start());
    if (run.since_start() >= most) break;
  }
  run.finish(result);
  for (const LinkId link : network.dead_links()) {
    result.errors.push_back(fmt::format("link {} is dead: nothing new has arrived for {} cycles",
                                        index(link), mt_pkg::kDeadCycles));
  }
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const std::uint32_t bits = network.read(Rank{r}, reg::kError);
    if (bits != 0) {
      const std::uint32_t first = network.read(Rank{r}, reg::kFirstError);
      result.errors.push_back(fmt::format("{}: {} (first at port {}, piece {})",
                                          collective.tables.name_of(r), describe_errors(bits),
                                          first >> 8 & 0xf, first >> 16));
    } else if (!run.is_done(r)) {
      result.errors.push_back(fmt::format(
          "{}: not done after {} cycles: {} of {} messages taken in", collective.tables.name_of(r),
          run.since_start(), network.read(Rank{r}, reg::kTaken), "its"));
    }
    if (collective.bounds) result.fates.push_back(fate_of(network.read(Rank{r}, reg::kLosses)));
    const auto bytes = network.memory(Rank{r}).bytes();
    buffers[r].assign(bytes.begin(), bytes.end());
  }
  return result;
}

}  // namespace multitree::rtl
