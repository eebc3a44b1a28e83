// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Compares candidates on a grid of sizes, then bisects where the winner changes.
#include "algorithms/tuning/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "algorithms/registry.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

constexpr std::uint64_t kGridFactor = 4;
constexpr std::uint64_t kCrossoverPrecision = 64;

class Tuner {
 public:
  Tuner(const Topology& topology, const TuneOptions& options)
      : topology_(topology),
        priced_(options.priced == nullptr ? topology : *options.priced),
        options_(options) {}

  void add(const std::string& spec, Collective collective, Rank root) {
    if (options_.on_candidate) options_.on_candidate(spec);
    TuneCandidate candidate{.spec = spec, .schedule = {}, .times = {}, .unsupported = {}};
    try {
      candidate.schedule = make_schedule(spec, topology_, collective, root);
      live_.push_back(result_.candidates.size());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Unsupported) throw;
      candidate.unsupported = error.what();
    }
    result_.candidates.push_back(std::move(candidate));
  }

  TuneResult run() {
    if (live_.empty()) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("{}: expected an algorithm that serves this network, got none of {}",
                              topology_.name(), result_.candidates.size()));
    }
    for (std::uint64_t size = options_.first; size < options_.last;) {
      result_.sizes.push_back(size);
      size = size > options_.last / kGridFactor ? options_.last
                                                : std::max<std::uint64_t>(size * kGridFactor, 1);
    }
    result_.sizes.push_back(options_.last);
    std::vector<std::size_t> winners;
    for (const std::uint64_t size : result_.sizes) winners.push_back(compare(size));
    begin_range(options_.first, winners.front());
    for (std::size_t i = 1; i < winners.size(); ++i) {
      refine(result_.sizes[i - 1], winners[i - 1], result_.sizes[i], winners[i]);
    }
    end_range(options_.last);
    return std::move(result_);
  }

 private:
  Time time(std::size_t candidate, std::uint64_t bytes) const {
    return predict_time(result_.candidates[candidate].schedule, priced_, bytes, options_.cost);
  }

  /// Fastest of all at a size of the grid; keeps their times.
  std::size_t compare(std::uint64_t bytes) {
    for (const std::size_t c : live_) result_.candidates[c].times.push_back(time(c, bytes));
    return *std::ranges::min_element(live_, {}, [&](std::size_t c) {
      const TuneCandidate& candidate = result_.candidates[c];
      return std::tuple(candidate.times.back().picoseconds, candidate.schedule.transfers.size(), c);
    });
  }

  /// Winner `a` at size `low`, `b` at `high`: finds where it changes, and to whom on the way.
  void refine(std::uint64_t low, std::size_t a, std::uint64_t high, std::size_t b) {
    if (a == b) return;
    if (high - low <= std::max<std::uint64_t>(1, low / kCrossoverPrecision)) {
      end_range(low);
      return begin_range(low + 1, b);
    }
    const auto mean = static_cast<std::uint64_t>(std::sqrt(
        static_cast<double>(std::max<std::uint64_t>(low, 1)) * static_cast<double>(high)));
    const std::uint64_t middle = std::clamp(mean, low + 1, high - 1);
    const std::size_t winner = fastest(middle);
    refine(low, a, middle, winner);
    refine(middle, winner, high, b);
  }

  std::size_t fastest(std::uint64_t bytes) const {
    return *std::ranges::min_element(live_, {}, [&](std::size_t c) {
      return std::tuple(time(c, bytes).picoseconds, result_.candidates[c].schedule.transfers.size(),
                        c);
    });
  }

  void begin_range(std::uint64_t from, std::size_t candidate) {
    result_.ranges.push_back({from, from, candidate, time(candidate, from), {}});
  }
  void end_range(std::uint64_t to) {
    TunedRange& range = result_.ranges.back();
    range.to = to;
    range.time_to = time(range.candidate, to);
  }

  const Topology& topology_;
  const Topology& priced_;
  const TuneOptions& options_;
  TuneResult result_;
  std::vector<std::size_t> live_;  // candidates that have a schedule
};

}  // namespace

SizedSchedules TuneResult::plan() const {
  SizedSchedules all;
  for (const TunedRange& range : ranges) {
    all.push_back({candidates[range.candidate].schedule, range.to});
  }
  all.back().max_bytes = std::numeric_limits<std::uint64_t>::max();
  return all;
}

std::vector<std::string> candidate_specs() {
  std::vector<std::string> specs;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == "auto") continue;
    specs.emplace_back(algorithm.name);
    std::string_view rest = algorithm.variants;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('|'), rest.size());
      specs.push_back(fmt::format("{}?{}", algorithm.name, rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return specs;
}

TuneResult tune(const Topology& topology, Collective collective, Rank root,
                const TuneOptions& options) {
  if (options.first > options.last) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("sizes: expected a first size up to the last, {}, got {}", options.last,
                            options.first));
  }
  Tuner tuner(topology, options);
  for (const std::string& spec :
       options.algorithms.empty() ? candidate_specs() : options.algorithms) {
    tuner.add(spec, collective, root);
  }
  return tuner.run();
}

}  // namespace multitree
