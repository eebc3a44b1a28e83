// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flags for sums that go on without ranks that are late.
#include "tools/train/run/loss_flags.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topologies/units.hpp"

namespace multitree::tools {

void add_loss_flags(CLI::App& app, LossFlags& flags) {
  app.add_option("--loss-budget", flags.budget,
                 "Sums of a learner go on without late ranks: the part of contributions that each "
                 "may lack")
      ->check(CLI::Range(0.0, 0.999));
  app.add_option("--deadline", flags.deadline, "How long they wait for them, in whole milliseconds")
      ->capture_default_str();
  app.add_option("--straggler", flags.straggler,
                 "RANK:TIME:EVERY: a rank that is late by TIME every so many iterations");
}

std::optional<runtime::LossBounds> loss_bounds(const LossFlags& flags, runtime::Deadline timeout) {
  if (!flags.budget) return std::nullopt;
  constexpr std::int64_t kPicoseconds = 1'000'000'000;  // in a millisecond
  const Time deadline = for_flag("--deadline", [&] { return parse_time(flags.deadline); });
  return runtime::LossBounds{
      .budget = *flags.budget,
      .deadline = runtime::Deadline((deadline.picoseconds + kPicoseconds - 1) / kPicoseconds),
      .timeout = timeout};
}

std::optional<Straggler> straggler_of(const LossFlags& flags, std::uint32_t ranks) {
  if (flags.straggler.empty()) return std::nullopt;
  const std::size_t first = flags.straggler.find(':');
  const std::size_t last = flags.straggler.rfind(':');
  try {
    std::size_t used = 0, used_every = 0;
    const unsigned long rank = std::stoul(flags.straggler, &used);
    const unsigned long every = std::stoul(flags.straggler.substr(last + 1), &used_every);
    if (used == first && last > first && last + 1 + used_every == flags.straggler.size() &&
        rank < ranks && every > 0) {
      const std::string time = flags.straggler.substr(first + 1, last - first - 1);
      return Straggler{static_cast<std::uint32_t>(rank), every,
                       for_flag("--straggler", [&] { return parse_time(time); }).seconds()};
    }
  } catch (const std::logic_error&) {  // told below
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("--straggler: expected RANK:TIME:EVERY with a rank below {}, got '{}'",
                          ranks, flags.straggler));
}

void check_all_reduces(const training::Plan& plan) {
  const auto other = std::ranges::find_if(plan.transfers, [](const auto& transfer) {
    return transfer.collective != Collective::AllReduce;
  });
  if (other == plan.transfers.end()) return;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("expected policies of all-reduces, got {}", plan.policy));
}

}  // namespace multitree::tools
