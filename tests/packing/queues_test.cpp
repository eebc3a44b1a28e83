// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Chunks that wait in the middle of routes (TimingOptions::queues): in order all the same, and
/// faster where that is what they wait for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "algorithms/cost.hpp"
#include "algorithms/packing/steps/time_trees.hpp"
#include "algorithms/packing/steps/tree_plan_internal.hpp"
#include "algorithms/packing/trees/switched_all_reduce.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "random_packings.hpp"
#include "tests/topologies/drawn_networks.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using Route = std::vector<LinkId>;
Route copy_of(std::span<const LinkId> route) { return {route.begin(), route.end()}; }

/// Each chunk takes each arc of its tree once, by its route.
void expect_arcs(const Schedule& schedule, const TreePacking& packing) {
  using Arc = std::tuple<std::uint32_t, Op, Rank, Rank, Route>;
  std::vector<Arc> expected, found;
  for (std::uint32_t c = 0; c < schedule.chunks.size(); ++c) {
    const PackedTree& tree = packing.trees[schedule.chunks[c].tree];
    for (const TreeArc& arc : tree.reduce) {
      expected.emplace_back(c, Op::Reduce, arc.src, arc.dst, copy_of(packing.route(arc)));
    }
    for (const TreeArc& arc : tree.gather) {
      expected.emplace_back(c, Op::Copy, arc.src, arc.dst, copy_of(packing.route(arc)));
    }
  }
  for (const Transfer& t : schedule.transfers) {
    found.emplace_back(t.chunk, t.op, t.src, t.dst, copy_of(schedule.route(t)));
  }
  std::ranges::sort(expected);
  std::ranges::sort(found);
  EXPECT_TRUE(found == expected);
}

/// Whether a rank must have received `before` when it sends `after`: sums take all that is summed,
/// the root copies what it has summed, others what was copied to them.
bool waits_for(const Transfer& after, const Transfer& before, Rank root) {
  if (before.chunk != after.chunk || before.dst != after.src) return false;
  return after.op == Op::Reduce || after.src == root ? before.op == Op::Reduce
                                                     : before.op == Op::Copy;
}

/// Nothing leaves a rank in a step before or in which it comes there.
void expect_after_arrival(const Schedule& schedule) {
  std::vector<std::vector<Transfer>> of_chunk(schedule.chunks.size());
  for (const Transfer& t : schedule.transfers) of_chunk[t.chunk].push_back(t);
  for (const auto& transfers : of_chunk) {
    for (const Transfer& after : transfers) {
      const Rank root = schedule.chunks[after.chunk].root();
      std::uint32_t received = 0;
      for (const Transfer& before : transfers) {
        if (!waits_for(after, before, root)) continue;
        EXPECT_LT(before.step, after.step);
        ++received;
      }
      if (after.op == Op::Copy && after.src != root) {
        EXPECT_EQ(received, 1U);
      }
    }
  }
}

/// No link carries more in a step than it has room for.
void expect_room(const Schedule& schedule, const Topology& topology) {
  std::map<std::pair<std::uint32_t, LinkId>, std::uint32_t> used;
  for (const Transfer& t : schedule.transfers) {
    for (const LinkId link : schedule.route(t)) ++used[{t.step, link}];
  }
  for (const auto& [where, count] : used) EXPECT_LE(count, topology.slots(where.second));
}

/// All chunks of a tree are summed in the same order at a rank.
void expect_same_order(const Schedule& schedule) {
  std::map<std::pair<std::uint32_t, Rank>, std::vector<Rank>> sums;  // by chunk and rank
  for (const Transfer& t : schedule.transfers) {
    if (t.op == Op::Reduce) sums[{t.chunk, t.dst}].push_back(t.src);
  }
  std::map<std::pair<std::uint32_t, Rank>, std::vector<Rank>> first;  // by tree and rank
  for (const auto& [where, sources] : sums) {
    const std::uint32_t tree = schedule.chunks[where.first].tree;
    EXPECT_EQ(first.try_emplace({tree, where.second}, sources).first->second, sources);
  }
}

void expect_right(const Schedule& schedule, const TreePacking& packing, const Topology& topology) {
  const VerifyReport report = verify(schedule, topology);
  ASSERT_TRUE(report.ok()) << report.violations.front().message;
  expect_arcs(schedule, packing);
  expect_after_arrival(schedule);
  expect_room(schedule, topology);
}

TEST(Queues, ChunksLeaveOnlyAfterTheyCame) {
  Generator random(21);
  for (const DrawnKind& kind : drawn_kinds(9)) {
    for (int i = 0; i < 40; ++i) {
      const Topology topology = draw_network(random, kind);
      for (const Collective collective :
           {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter,
            Collective::Broadcast, Collective::Reduce}) {
        const TreePacking packing = random_packing(topology, collective, random);
        const TimingOptions timing{.segments = 1 + below(random, 6),
                                   .lag = below(random, 2),
                                   .same_order = below(random, 2) == 0,
                                   .queues = 1 + below(random, 9)};
        SCOPED_TRACE(fmt::format("{} {} {}, {} segments, {} queues", to_string(kind), i,
                                 to_string(collective), timing.segments, timing.queues));
        const Schedule schedule = time_trees(packing, topology, timing);
        expect_right(schedule, packing, topology);
        if (timing.same_order) expect_same_order(schedule);
        EXPECT_EQ(schedule, time_trees(packing, topology, timing));
      }
    }
  }
}

constexpr std::uint64_t kLarge = std::uint64_t{1} << 30;  // bytes: latency counts for nothing

/// Of a large buffer, in the time that the busiest link takes.
double loads_taken(const TreePacking& packing, const Topology& topology, std::uint32_t segments,
                   std::uint32_t queues) {
  const TimingOptions timing{.segments = segments, .lag = 1, .same_order = true, .queues = queues};
  const Time time = predict_time(time_trees(packing, topology, timing), topology, kLarge);
  const double buffer =
      static_cast<double>(kLarge) / static_cast<double>(topology.unit_bandwidth().bytes_per_second);
  const double taken = time.seconds() * packing.ranks / buffer;
  const double least = load(packing, topology).convert_to<double>();
  EXPECT_GE(taken, 0.999999 * least);
  return taken / least;
}

/// A chunk that may wait can cost a network something, which is why several are tried, but on the
/// whole it does not.
TEST(Queues, CostOptimalTreesInManyChunksNothingOnTheWhole) {
  Generator random(22);
  for (const DrawnKind& kind : drawn_kinds(9)) {
    SCOPED_TRACE(to_string(kind));
    double without = 0, with = 0;
    for (int i = 0; i < 40; ++i) {
      const Topology topology = draw_network(random, kind);
      if (topology.num_ranks() < 2) continue;
      const TreePacking packing = pack_switched_all_reduce(topology);
      without += loads_taken(packing, topology, 256, 0);
      with += loads_taken(packing, topology, 256, 1);
    }
    EXPECT_LE(with, 1.01 * without);
  }
}

TEST(Queues, KeepLinksBusyThatWaitForOthers) {
  for (const char* network : {"hypercube:4?ranks=0-10", "mesh:5x5?ranks=0-24:3"}) {
    SCOPED_TRACE(network);
    const Topology topology = make_topology(network);
    const TreePacking packing = pack_switched_all_reduce(topology, EqualTrees::IfQuickly);
    const double without = loads_taken(packing, topology, 128, 0);
    EXPECT_LE(loads_taken(packing, topology, 128, 1), 0.97 * without);
    EXPECT_LE(loads_taken(packing, topology, 128, 8), 0.95 * without);
  }
}

/// Of a large buffer, by the cost model.
double large_seconds(const char* algorithm, const Topology& topology) {
  const Schedule schedule = make_schedule(algorithm, topology);
  const VerifyReport report = verify(schedule, topology);
  EXPECT_TRUE(report.ok()) << report.violations.front().message;
  return predict_time(schedule, topology, kLarge).seconds();
}

/// Who tries trees with and without takes nothing slower than those without, but for the hundredth
/// within which nothing more is tried.
TEST(Queues, AreTakenOnlyWhereTheyAreFaster) {
  Generator random(24);
  for (const DrawnKind& kind : drawn_kinds(8)) {
    for (int i = 0; i < 12; ++i) {
      SCOPED_TRACE(fmt::format("{} {}", to_string(kind), i));
      const Topology topology = draw_network(random, kind);
      EXPECT_LE(large_seconds("allreduce-optimal?size=1GiB", topology),
                1.01 * large_seconds("allreduce-optimal?size=1GiB&form=trees", topology));
    }
  }
}

/// Links of several rates, so that there are no periods, and longer routes.
TEST(Queues, AreTakenWhereTheyAreFaster) {
  const Topology boxes = make_topology("dgx-h100:2?ranks=0,1,8,9,10");
  EXPECT_LE(large_seconds("allreduce-optimal?size=1GiB", boxes),
            0.95 * large_seconds("allreduce-optimal?size=1GiB&form=trees", boxes));
}

Transfer transfer_of(const PackingPlan& plan, const Turn& turn) {
  const TreePlan& tree = plan.tree_of(turn.chunk);
  const TreeArc& arc = tree.arcs[turn.arc].arcs.front();
  return {.op = turn.arc < tree.reductions ? Op::Reduce : Op::Copy,
          .chunk = turn.chunk,
          .src = arc.src,
          .dst = arc.dst,
          .route_begin = arc.route_begin,
          .route_size = arc.route_size};
}

/// A random order of all transfers in which none comes before what it waits for.
std::vector<Turn> random_turns(const PackingPlan& plan, Generator& random) {
  std::vector<Turn> open, turns;
  for (std::uint32_t c = 0; c < plan.chunking.chunks.size(); ++c) {
    for (std::uint32_t a = 0; a < plan.tree_of(c).arcs.size(); ++a) open.push_back({c, a});
  }
  while (!open.empty()) {
    const std::size_t at = below(random, open.size());
    const Transfer next = transfer_of(plan, open[at]);
    const Rank root = plan.chunking.chunks[next.chunk].root();
    if (std::ranges::any_of(open, [&](const Turn& turn) {
          return waits_for(next, transfer_of(plan, turn), root);
        })) {
      continue;
    }
    turns.push_back(open[at]);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return turns;
}

/// The first step of a transfer that comes after another of its sender or to its receiver.
std::uint32_t step_behind(const Transfer& other, const Transfer& next, RankOrder order) {
  if (order == RankOrder::None) return 0;
  if (order == RankOrder::OfSteps) {
    return other.src == next.src || other.dst == next.dst ? other.step : 0;
  }
  std::uint32_t step = 0;
  const auto sent = [](const Transfer& t) {
    return std::tuple(t.op != Op::Reduce, t.chunk, t.dst);
  };
  const auto come = [](const Transfer& t) {
    return std::tuple(t.op != Op::Reduce, t.chunk, t.src);
  };
  if (other.src == next.src) step = other.step + (sent(next) < sent(other) ? 1 : 0);
  if (other.dst == next.dst) {
    step = std::max(step, other.step + (come(next) > come(other) ? 1 : 0));
  }
  return step;
}

/// One transfer after the other in the first step in which its data is there, its sender has sent
/// and its receiver received all that comes before it (`order`), and so has each of its links,
/// which have room.
std::vector<Transfer> plain_steps(const PackingPlan& plan, const std::vector<Turn>& turns,
                                  RankOrder order) {
  std::vector<Transfer> placed;
  std::map<LinkId, std::uint32_t> last;
  std::map<std::pair<LinkId, std::uint32_t>, std::uint32_t> used;
  for (const Turn& turn : turns) {
    Transfer next = transfer_of(plan, turn);
    const Rank root = plan.chunking.chunks[next.chunk].root();
    for (const Transfer& other : placed) {
      if (waits_for(next, other, root)) next.step = std::max(next.step, other.step + 1);
      next.step = std::max(next.step, step_behind(other, next, order));
    }
    const auto route = route_of(next, plan.packing.routes);
    for (const LinkId link : route) next.step = std::max(next.step, last[link]);
    while (std::ranges::any_of(route, [&](LinkId link) {
      return used[{link, next.step}] == plan.topology.slots(link);
    })) {
      ++next.step;
    }
    for (const LinkId link : route) {
      last[link] = next.step;
      ++used[{link, next.step}];
    }
    placed.push_back(next);
  }
  return placed;
}

TEST(Queues, StepsAreTheLeastThatKeepTheOrderOfRanks) {
  using Place = std::tuple<std::uint32_t, Op, std::uint32_t, Rank, Rank>;
  const auto places = [](const std::vector<Transfer>& transfers) {
    std::vector<Place> all;
    for (const Transfer& t : transfers) all.emplace_back(t.step, t.op, t.chunk, t.dst, t.src);
    std::ranges::sort(all);
    return all;
  };
  Generator random(23);
  std::uint32_t differ = 0;  // unless ranks count
  constexpr std::array kOrders{RankOrder::None, RankOrder::OfSteps, RankOrder::WithinSteps};
  for (const DrawnKind& kind : drawn_kinds(9)) {
    for (int i = 0; i < 25; ++i) {
      SCOPED_TRACE(fmt::format("{} {}", to_string(kind), i));
      const Topology topology = draw_network(random, kind);
      const TreePacking packing = random_packing(topology, Collective::AllReduce, random);
      const PackingPlan plan = plan_packing(packing, topology, {.segments = 1 + below(random, 3)});
      const std::vector<Turn> turns = random_turns(plan, random);
      std::array<std::vector<Place>, kOrders.size()> expected;
      for (std::size_t o = 0; o < kOrders.size(); ++o) {
        expected.at(o) = places(plain_steps(plan, turns, kOrders.at(o)));
        const Schedule schedule = number_steps(plan, turns, kOrders.at(o));
        EXPECT_TRUE(places(schedule.transfers) == expected.at(o)) << o;
        expect_right(schedule, packing, topology);
      }
      differ += expected[0] == expected[1] || expected[1] == expected[2] ? 0 : 1;
    }
  }
  EXPECT_GT(differ, 20U);
}

}  // namespace
}  // namespace multitree
