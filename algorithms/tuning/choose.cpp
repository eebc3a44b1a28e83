// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From the name of an algorithm to what is run.
#include "algorithms/tuning/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/registry.hpp"
#include "algorithms/tuning/tune.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// Up to so many ranks every candidate is made in moments.
constexpr std::uint32_t kRanksForAll = 32;
/// The same of those that compare others, or solve a linear program.
constexpr std::uint32_t kRanksForOptimal = 16;
/// Beyond, trees in pieces take longer to make than a job may take to start.
constexpr std::uint32_t kRanksForTrees = 64;

/// Up to so many others beside the fastest.
constexpr std::size_t kMostRivals = 3;

/// Whether every candidate is priced at every size.
bool compares_all(const Topology& topology, const ChooseOptions& options) {
  return options.rivals && topology.num_ranks() <= kRanksForAll;
}

TuneResult choose(const Topology& topology, Collective collective, Rank root,
                  const ChooseOptions& options) {
  TuneOptions wanted;
  wanted.first = options.first;
  wanted.last = options.last;
  wanted.cost.message_overhead = kMessageOverhead;
  wanted.cost.port_loss = kPortLoss;
  wanted.winners_only = !compares_all(topology, options);
  wanted.algorithms = specs_worth_making(topology, collective);
  std::optional<Topology> priced;
  if (options.links != nullptr) {
    priced = with_times(topology, *options.links);
    wanted.priced = &*priced;
    wanted.cost = cost_model(topology, *options.links);
  }
  return tune(topology, collective, root, wanted);
}

/// Whether two take the same time at all sizes, as one schedule under two names does.
bool take_the_same(const TuneCandidate& a, const TuneCandidate& b) {
  return a.times == b.times && a.schedule.transfers.size() == b.schedule.transfers.size();
}

/// The winner and those near it, at the size number `i`.
std::vector<PricedSpec> rivals_at(const TuneResult& result, std::size_t winner, std::size_t i) {
  const auto& all = result.candidates;
  std::vector<std::size_t> near{winner};
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t c) {
    return !all[c].unsupported.empty() || all[c].times.size() <= i;
  });
  std::ranges::stable_sort(order, {}, [&](std::size_t c) { return all[c].times[i]; });
  const double most = kWithinDoubt * all[order.front()].times[i].seconds();
  for (const std::size_t c : order) {
    if (near.size() > kMostRivals || all[c].times[i].seconds() > most) break;
    const auto is_like = [&](std::size_t other) { return take_the_same(all[c], all[other]); };
    if (std::ranges::none_of(near, is_like)) near.push_back(c);
  }
  std::vector<PricedSpec> rivals;
  for (const std::size_t c : near) rivals.push_back({all[c].spec, all[c].times[i].seconds()});
  return rivals;
}

/// The ranges, cut between each two of the sizes that were compared.
std::vector<SizedSpec> with_rivals(const TuneResult& result) {
  std::vector<SizedSpec> specs;
  for (const TunedRange& range : result.ranges) {
    for (std::size_t i = 0; i < result.sizes.size(); ++i) {
      const bool last = i + 1 == result.sizes.size();
      const std::uint64_t end =
          last ? range.to
               : std::min(range.to, result.sizes[i] + (result.sizes[i + 1] - result.sizes[i]) / 3);
      const std::uint64_t begin =
          specs.empty() ? range.from : std::max(range.from, specs.back().max_bytes + 1);
      if (end < begin) continue;
      specs.push_back(
          {result.candidates[range.candidate].spec, end, rivals_at(result, range.candidate, i)});
    }
  }
  return specs;
}

/// The same where a size has another one, which comes before its rivals.
void use_for(std::vector<SizedSpec>& specs, std::uint64_t bytes, const std::string& spec) {
  auto range = std::ranges::lower_bound(specs, bytes, {}, &SizedSpec::max_bytes);
  if (range == specs.end() || range->spec == spec) return;
  SizedSpec found{spec, bytes, range->rivals};
  std::vector<PricedSpec>& rivals = found.rivals;
  if (!rivals.empty()) {
    const double seconds = rivals.front().seconds;
    std::erase_if(rivals, [&](const PricedSpec& one) { return one.spec == spec; });
    rivals.insert(rivals.begin(), {spec, seconds});
  }
  const std::uint64_t begin = range == specs.begin() ? 0 : std::prev(range)->max_bytes + 1;
  SizedSpec before{range->spec, bytes - 1, range->rivals};
  if (range->max_bytes == bytes) range = specs.erase(range);
  range = specs.insert(range, std::move(found));
  if (bytes != begin) specs.insert(range, std::move(before));
}

/// What was found while it was used goes before what is predicted. A file may name what this
/// network cannot have.
void use_choices(std::vector<SizedSpec>& specs, const LinkTable& table, const Topology& topology,
                 Collective collective, Rank root) {
  for (const LinkTable::Choice& choice : table.choices) {
    if (choice.collective != collective) continue;
    try {
      expect_verified(generate_schedule(choice.spec, topology, collective, root), topology);
      use_for(specs, choice.bytes, choice.spec);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Unsupported && error.code() != ErrorCode::InvalidArgument)
        throw;
    }
  }
}

}  // namespace

std::vector<std::string> specs_worth_making(const Topology& topology, Collective collective) {
  const std::uint32_t ranks = topology.num_ranks();
  const bool at_once = collective == Collective::AllReduce;
  std::vector<std::string> specs = candidate_specs();
  std::erase_if(specs, [&](const std::string& spec) {
    // In other collectives it is another's schedule under its name.
    if (spec.starts_with("allreduce-optimal")) return ranks > kRanksForOptimal || !at_once;
    return ranks > kRanksForAll && spec.starts_with("forest");
  });
  if (ranks <= kRanksForOptimal || ranks > kRanksForTrees) return specs;
  if (at_once && !topology.has_switches() && topology.is_symmetric()) {
    specs.emplace_back("allreduce-optimal?form=trees");
    specs.emplace_back("allreduce-optimal?trees=1");
    // Of whole vectors, or nearly: the fewest messages, and made in moments.
    for (const int trees : {1, 2, 4}) {
      specs.push_back(fmt::format("allreduce-optimal?trees={}&segments=1", trees));
    }
  } else if (ranks > kRanksForAll) {
    specs.emplace_back("forest");
  }
  return specs;
}

std::vector<SizedSpec> choose_specs(const Topology& topology, Collective collective, Rank root,
                                    const ChooseOptions& options) {
  const TuneResult result = choose(topology, collective, root, options);
  std::vector<SizedSpec> specs;
  if (compares_all(topology, options)) {
    specs = with_rivals(result);
  } else {
    for (const TunedRange& range : result.ranges) {
      specs.push_back({result.candidates[range.candidate].spec, range.to});
    }
  }
  specs.back().max_bytes = std::numeric_limits<std::uint64_t>::max();
  if (options.links != nullptr) use_choices(specs, *options.links, topology, collective, root);
  return specs;
}

SizedSchedules schedules_of(const std::vector<SizedSpec>& specs, const Topology& topology,
                            Collective collective, Rank root) {
  SizedSchedules schedules;
  std::string before;
  for (const SizedSpec& sized : specs) {
    const std::string& spec = sized.spec;
    if (spec == std::exchange(before, spec)) {
      schedules.back().max_bytes = sized.max_bytes;
      continue;
    }
    schedules.push_back(
        {generate_schedule(sized.spec, topology, collective, root), sized.max_bytes});
  }
  check_sized(schedules);
  return schedules;
}

SizedSchedules choose_schedules(const std::string& algorithm, const Topology& topology,
                                Collective collective, Rank root, const ChooseOptions& options) {
  if (algorithm != "auto") {
    return for_all_sizes(generate_schedule(told(algorithm, kDefaultSize, kMessageOverhead),
                                           topology, collective, root));
  }
  return choose(topology, collective, root, options).plan();
}

}  // namespace multitree
