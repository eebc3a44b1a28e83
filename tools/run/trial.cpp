// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rounds of all candidates in turns.
#include "tools/run/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "algorithms/registry.hpp"
#include "algorithms/tuning/choose.hpp"
#include "algorithms/tuning/planner.hpp"
#include "tools/run/history.hpp"
#include "topologies/error.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

/// Times of the fastest that nobody catches up.
constexpr double kHopeless = 1.5;

/// Whether two do the same, whatever they are called.
bool are_alike(const Schedule& a, Schedule b) {
  b.algorithm = a.algorithm;
  return a == b;
}

/// Verified, each once, the predicted one first.
std::vector<Tried> candidates(const Schedule& predicted, const Topology& topology,
                              const BenchmarkOptions& options, std::uint64_t bytes) {
  std::vector<Tried> all{{predicted, {}}};
  for (const std::string& spec : specs_worth_making(topology, options.collective)) {
    Schedule schedule;
    try {
      schedule = generate_schedule(told(spec, bytes, kMessageOverhead), topology,
                                   options.collective, options.root);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Unsupported) throw;
      continue;
    }
    const auto same = [&](const Tried& other) { return are_alike(other.schedule, schedule); };
    if (std::ranges::none_of(all, same)) all.push_back({std::move(schedule), {}});
  }
  for (const Tried& one : all) check_verified(for_all_sizes(one.schedule), topology);
  return all;
}

/// Collective. \returns seconds of an iteration, the same at every rank
double seconds_of(const Schedule& schedule, Crew& crew, const BenchmarkOptions& options) {
  Observer observer({});
  History history(1);
  const std::vector<Row> rows = run_benchmark(
      for_all_sizes(schedule), crew, options, observer, history, 0,
      [](const Row&, const RowDetails&) {}, [] {});
  return rows.front().out_of_place.seconds;
}

std::uint64_t between(std::uint64_t low, std::uint64_t high) {
  const double mean =
      std::sqrt(static_cast<double>(std::max<std::uint64_t>(low, 1)) * static_cast<double>(high));
  return std::clamp(static_cast<std::uint64_t>(mean), low, high - 1);
}

}  // namespace

double typical(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const std::size_t half = seconds.size() / 2;
  return seconds.size() % 2 == 1 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
}

void rank_tried(std::vector<Tried>& tried) {
  std::ranges::stable_sort(tried, {}, [](const Tried& one) { return typical(one.seconds); });
}

SizedSchedules plan_of(std::span<const TriedSize> sizes) {
  SizedSchedules plan;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Schedule& best = sizes[i].tried.front().schedule;
    const std::uint64_t last = i + 1 < sizes.size() ? between(sizes[i].bytes, sizes[i + 1].bytes)
                                                    : std::numeric_limits<std::uint64_t>::max();
    if (!plan.empty() && plan.back().schedule == best) {
      plan.back().max_bytes = last;
    } else {
      plan.push_back({best, last});
    }
  }
  return plan;
}

std::string trial_words(std::span<const TriedSize> sizes) {
  std::string words;
  for (const TriedSize& size : sizes) {
    const double best = typical(size.tried[0].seconds);
    words += fmt::format("# {}: {} took {:.1f}us", format_bytes(size.bytes),
                         size.tried[0].schedule.algorithm, best * 1e6);
    if (size.tried.size() > 1) {
      const double next = typical(size.tried[1].seconds);
      words += fmt::format(", {} {:.2f} times that", size.tried[1].schedule.algorithm,
                           best > 0 ? next / best : 1.0);
    }
    words +=
        fmt::format(" ({} tried, {} rounds)\n", size.tried.size(), size.tried[0].seconds.size());
  }
  return words;
}

std::vector<TriedSize> try_all(const SizedSchedules& predicted, const Topology& topology,
                               Crew& crew, const BenchmarkOptions& options, std::uint32_t rounds) {
  BenchmarkOptions one = options;
  one.types.resize(1);
  one.ops.resize(1);
  one.check = false;
  std::vector<TriedSize> all;
  for (const std::uint64_t bytes : options.sizes) {
    one.sizes = {bytes};
    TriedSize size{bytes, candidates(schedule_for(predicted, bytes), topology, options, bytes)};
    for (std::uint32_t round = 0; round < rounds; ++round) {
      double least = std::numeric_limits<double>::max();
      for (const Tried& tried : size.tried) {
        if (!tried.seconds.empty()) least = std::min(least, tried.seconds.front());
      }
      for (Tried& tried : size.tried) {
        if (round > 0 && tried.seconds.front() > kHopeless * least) continue;
        tried.seconds.push_back(seconds_of(tried.schedule, crew, one));
      }
    }
    // Those that were not run again have one lucky or unlucky round, and are no candidates.
    const auto hopeless = std::ranges::stable_partition(
        size.tried, [&](const Tried& tried) { return tried.seconds.size() == rounds; });
    const auto kept = std::distance(size.tried.begin(), hopeless.begin());
    std::vector<Tried> others(std::make_move_iterator(hopeless.begin()),
                              std::make_move_iterator(hopeless.end()));
    size.tried.resize(static_cast<std::size_t>(kept));
    rank_tried(size.tried);
    rank_tried(others);
    std::ranges::move(others, std::back_inserter(size.tried));
    all.push_back(std::move(size));
  }
  return all;
}

}  // namespace multitree::tools
