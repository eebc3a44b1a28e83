// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Deadline, budget and stragglers of simulated interfaces.
#include "tools/late_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

std::uint64_t cycles_of(const char* flag, const std::string& text, std::uint64_t clock_hz) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 31;
  const double seconds = for_flag(flag, [&] { return parse_time(text); }).seconds();
  const double cycles = std::ceil(seconds * static_cast<double>(clock_hz) - 1e-6);
  if (cycles >= 0 && cycles < static_cast<double>(kMost)) return static_cast<std::uint64_t>(cycles);
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("{}: expected at most 2^31 cycles, got '{}'", flag, text));
}

/// RANK:TIME into `ready`.
void add_straggler(const char* flag, const std::string& text, std::uint64_t clock_hz,
                   std::vector<std::uint64_t>& ready) {
  try {
    std::size_t used = 0;
    const unsigned long rank = std::stoul(text, &used);
    if (used + 1 < text.size() && text[used] == ':' && rank < ready.size()) {
      ready[rank] = cycles_of(flag, text.substr(used + 1), clock_hz);
      return;
    }
  } catch (const std::logic_error&) {  // told below
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("{}: expected RANK:TIME with a rank below {}, several by commas, "
                          "got '{}'",
                          flag, ready.size(), text));
}

}  // namespace

std::vector<std::uint64_t> straggler_cycles(const char* flag, const std::string& text,
                                            std::uint32_t ranks, std::uint64_t clock_hz) {
  std::vector<std::uint64_t> ready(ranks, 0);
  if (text.empty() || text == "none") return ready;
  for (const std::string& straggler : for_flag(flag, [&] { return split_list(text); })) {
    add_straggler(flag, straggler, clock_hz, ready);
  }
  return ready;
}

void add_late_flags(CLI::App& app, LateFlags& flags) {
  auto* budget =
      app.add_option("--loss-budget", flags.budget,
                     "An all-reduce goes on without late ranks: the part of all contributions, of "
                     "which whole ones count, that it may lack")
          ->check(CLI::Range(0.0, 0.999));
  app.add_option("--deadline", flags.deadline, "When contributions are late, from the start on")
      ->needs(budget)
      ->capture_default_str();
  app.add_option("--straggler", flags.stragglers,
                 "RANK:TIME,...: ranks whose contributions are there at that time, not at once");
}

std::optional<nic::Losses> losses_of(const LateFlags& flags, const Topology& topology,
                                     const nic::Parameters& parameters) {
  if (!flags.budget && flags.stragglers.empty()) return std::nullopt;
  const std::uint64_t clock = nic::clock_of(topology, parameters);
  nic::Losses losses{.deadline = cycles_of("--deadline", flags.deadline, clock)};
  losses.budget =
      static_cast<std::uint32_t>(flags.budget.value_or(0) * topology.num_ranks() + 1e-9);
  losses.ready = straggler_cycles("--straggler", flags.stragglers, topology.num_ranks(), clock);
  return losses;
}

std::string losses_line(const nic::LossReport& report, std::uint32_t ranks) {
  const auto list = [](const std::vector<std::uint32_t>& who) {
    return who.empty() ? "nobody" : fmt::format("{}", fmt::join(who, ", "));
  };
  return fmt::format("# {} of {} contributions; late at the deadline: {}; the sum is without: {}\n",
                     report.contributions, ranks, list(report.late), list(report.absent));
}

nlohmann::ordered_json losses_json(const nic::LossReport& report) {
  return {
      {"contributions", report.contributions}, {"late", report.late}, {"absent", report.absent}};
}

}  // namespace multitree::tools
