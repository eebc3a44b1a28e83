// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Thousands of random mutations of good schedules. A model that moves numbers instead of symbols
/// says which of them change the result; the verifier must catch every one of those.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "algorithms/registry.hpp"
#include "algorithms/traffic/all_to_all.hpp"
#include "algorithms/verify.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using Random = std::mt19937_64;

/// Executes a schedule on one 64-bit number per rank and chunk; sums wrap. Random inputs make any
/// wrong multiset of contributions show but for a chance of 2^-64.
class NumberModel {
 public:
  explicit NumberModel(const Schedule& schedule) : schedule_(schedule) {
    Random random(7);
    for (std::uint32_t r = 0; r < schedule.ranks; ++r) {
      for (std::uint32_t c = 0; c < schedule.chunks.size(); ++c) {
        const std::uint64_t input = random();
        input_[{r, c}] = input;
        if (starts_with(schedule, Rank{r}, c)) {
          value_[{r, c}] = input;
        }
      }
    }
  }

  /// Whether the schedule runs and ends with what its collective promises.
  bool right() {
    for (std::size_t i = 0; i < schedule_.transfers.size();) {
      std::vector<std::pair<const Transfer*, std::uint64_t>> sent;
      const std::uint32_t step = schedule_.transfers[i].step;
      for (; i < schedule_.transfers.size() && schedule_.transfers[i].step == step; ++i) {
        const Transfer& t = schedule_.transfers[i];
        const auto found = value_.find({index(t.src), t.chunk});
        if (found == value_.end()) return false;
        sent.emplace_back(&t, found->second);
      }
      for (const auto& [t, number] : sent) {
        if (!receive(*t, number)) return false;
      }
    }
    return ends_right();
  }

 private:
  using Place = std::pair<std::uint32_t, std::uint32_t>;

  bool receive(const Transfer& t, std::uint64_t number) {
    const Place place{index(t.dst), t.chunk};
    if (t.op == Op::Copy) {
      value_[place] = number;
      return true;
    }
    const auto found = value_.find(place);
    if (found == value_.end()) return false;
    found->second += number;
    return true;
  }

  bool ends_right() const {
    for (std::uint32_t c = 0; c < schedule_.chunks.size(); ++c) {
      std::uint64_t expected = 0;
      for (std::uint32_t r = 0; r < schedule_.ranks; ++r) {
        if (starts_with(schedule_, Rank{r}, c)) expected += input_.at({r, c});
      }
      for (std::uint32_t r = 0; r < schedule_.ranks; ++r) {
        if (!ends_with(schedule_, Rank{r}, c)) continue;
        const auto found = value_.find({r, c});
        if (found == value_.end() || found->second != expected) return false;
      }
    }
    return true;
  }

  const Schedule& schedule_;
  std::map<Place, std::uint64_t> input_, value_;
};

/// Whether a link carries more in a step than it has slots, counted naively.
bool overloads(const Schedule& schedule, const Topology& topology) {
  std::map<std::pair<std::uint32_t, LinkId>, std::uint32_t> uses;
  for (const Transfer& t : schedule.transfers) {
    for (const LinkId id : schedule.route(t)) ++uses[{t.step, id}];
  }
  return std::ranges::any_of(
      uses, [&](const auto& use) { return use.second > topology.slots(use.first.second); });
}

/// A shortest route by a search of its own.
std::vector<LinkId> find_route(const Topology& topology, Rank src, Rank dst) {
  std::map<NodeId, LinkId> reached_by;
  std::vector<NodeId> queue{topology.node_of(src)};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const LinkId id : topology.out_links(queue[i])) {
      const NodeId next = topology.link(id).dst;
      if (next == queue.front() || !reached_by.try_emplace(next, id).second) continue;
      queue.push_back(next);
    }
  }
  std::vector<LinkId> route;
  for (NodeId at = topology.node_of(dst); at != topology.node_of(src);
       at = topology.link(route.back()).src) {
    route.push_back(reached_by.at(at));
  }
  std::ranges::reverse(route);
  return route;
}

/// Steps, chunks and ranks with which mutations work.
struct Mutator {
  Random& random;
  const Topology& topology;

  std::size_t any(const Schedule& schedule) { return random() % schedule.transfers.size(); }
  Rank any_rank() { return Rank{static_cast<std::uint32_t>(random() % topology.num_ranks())}; }

  void reroute(Schedule& schedule, Transfer& t) {
    const auto route = find_route(topology, t.src, t.dst);
    t.route_begin = static_cast<std::uint32_t>(schedule.routes.size());
    t.route_size = static_cast<std::uint32_t>(route.size());
    schedule.routes.insert(schedule.routes.end(), route.begin(), route.end());
  }
};

using Mutation = void (*)(Schedule&, Mutator&);

void drop(Schedule& s, Mutator& m) {
  s.transfers.erase(s.transfers.begin() + static_cast<long>(m.any(s)));
}

void duplicate(Schedule& s, Mutator& m) {
  Transfer copy = s.transfers[m.any(s)];
  copy.step = static_cast<std::uint32_t>(m.random() % (s.num_steps() + 1));
  s.transfers.push_back(copy);
}

void redirect(Schedule& s, Mutator& m) {
  Transfer& t = s.transfers[m.any(s)];
  const Rank dst = m.any_rank();
  if (dst == t.src) return;
  t.dst = dst;
  m.reroute(s, t);
}

void resend(Schedule& s, Mutator& m) {
  Transfer& t = s.transfers[m.any(s)];
  const Rank src = m.any_rank();
  if (src == t.dst) return;
  t.src = src;
  m.reroute(s, t);
}

void reorder(Schedule& s, Mutator& m) {
  s.transfers[m.any(s)].step = static_cast<std::uint32_t>(m.random() % (s.num_steps() + 1));
}

void swap_steps(Schedule& s, Mutator& m) {
  std::swap(s.transfers[m.any(s)].step, s.transfers[m.any(s)].step);
}

void rechunk(Schedule& s, Mutator& m) {
  s.transfers[m.any(s)].chunk = static_cast<std::uint32_t>(m.random() % s.chunks.size());
}

void flip_op(Schedule& s, Mutator& m) {
  Transfer& t = s.transfers[m.any(s)];
  t.op = t.op == Op::Copy ? Op::Reduce : Op::Copy;
}

void turn_around(Schedule& s, Mutator& m) {
  Transfer& t = s.transfers[m.any(s)];
  std::swap(t.src, t.dst);
  m.reroute(s, t);
}

void overload(Schedule& s, Mutator& m) {
  // Another transfer over the same link is moved into the step of this one.
  const Transfer& t = s.transfers[m.any(s)];
  const LinkId link = s.route(t)[0];
  for (Transfer& other : s.transfers) {
    if (other.step != t.step && std::ranges::find(s.route(other), link) != s.route(other).end()) {
      other.step = t.step;
      return;
    }
  }
}

struct NamedMutation {
  const char* name;
  Mutation mutate;
};
constexpr NamedMutation kMutations[] = {
    {"drop", drop},        {"duplicate", duplicate}, {"redirect", redirect},
    {"resend", resend},    {"reorder", reorder},     {"swap_steps", swap_steps},
    {"rechunk", rechunk},  {"flip_op", flip_op},     {"turn_around", turn_around},
    {"overload", overload}};

struct Subject {
  Topology topology;
  Schedule schedule;
};

std::vector<Subject> subjects() {
  std::vector<Subject> list;
  for (const char* spec :
       {"torus:3x3", "mesh:2x3", "ring:5", "hypercube:3", "fattree:2x3", "star:4"}) {
    const Topology topology = make_topology(spec);
    const Demand demand = Demand::uniform(topology.num_ranks());
    list.push_back(
        {topology, all_to_all_schedule(route_demand(topology, demand), demand, topology)});
    for (const char* algorithm : {"multitree", "ring", "double-binary-tree", "halving-doubling"}) {
      for (const Collective collective : all_collectives()) {
        list.push_back({topology, make_schedule(algorithm, topology, collective)});
      }
    }
  }
  return list;
}

TEST(Mutations, ThatChangeTheResultAreAllCaught) {
  Random random(2021);
  std::map<std::string, std::array<int, 3>> tally;  // made, harmful, caught
  int harmful = 0;
  for (const Subject& subject : subjects()) {
    for (int round = 0; round < 3; ++round) {
      for (const NamedMutation& mutation : kMutations) {
        Schedule mutant = subject.schedule;
        Mutator mutator{random, subject.topology};
        mutation.mutate(mutant, mutator);
        mutant.canonicalize();
        const bool harms = !NumberModel(mutant).right() || overloads(mutant, subject.topology);
        const VerifyReport report = verify(mutant, subject.topology);
        EXPECT_EQ(report.ok(), verify(mutant, subject.topology, {.replay_always = true}).ok())
            << mutation.name << " of " << mutant.algorithm << ": counting and replay disagree";
        auto& [made, bad, caught] = tally[mutation.name];
        ++made;
        bad += harms;
        caught += !report.ok();
        harmful += harms;
        EXPECT_TRUE(!harms || !report.ok())
            << mutation.name << " of " << mutant.algorithm << " " << to_string(mutant.collective)
            << " on " << subject.topology.name() << " slipped past the verifier";
      }
    }
  }
  EXPECT_GE(harmful, 500);
  for (const auto& [name, counts] : tally) {
    std::printf("%-12s %4d made, %4d change the result or overload a link, %4d caught\n",
                name.c_str(), counts[0], counts[1], counts[2]);
    EXPECT_GT(counts[1], 0) << name
                            << " never did any harm: the test would not notice a blind verifier";
  }
}

/// What a mutation must be reported as, when it is the only thing wrong.
TEST(Mutations, AreReportedByTheirName) {
  Random random(13);
  for (const Subject& subject : subjects()) {
    Mutator mutator{random, subject.topology};
    const bool moves_only = !reduces(subject.schedule.collective);

    Schedule mutant = subject.schedule;
    drop(mutant, mutator);
    const VerifyReport dropped = verify(mutant, subject.topology, {.max_violations = 10000});
    EXPECT_TRUE(dropped.has(ViolationKind::MissingContribution) ||
                dropped.has(ViolationKind::MissingChunk) ||
                dropped.has(ViolationKind::MissingData));
    EXPECT_FALSE(dropped.has(ViolationKind::LinkConflict));

    mutant = subject.schedule;
    Transfer again = mutant.transfers[mutator.any(mutant)];
    mutant.transfers.push_back(again);
    mutant.canonicalize();
    const VerifyReport duplicated = verify(mutant, subject.topology, {.max_violations = 10000});
    EXPECT_TRUE(duplicated.has(ViolationKind::LinkConflict) ||
                duplicated.has(ViolationKind::DoubleCount) ||
                duplicated.has(ViolationKind::WriteConflict));
    if (!moves_only && again.op == Op::Reduce) {
      EXPECT_TRUE(duplicated.has(ViolationKind::DoubleCount));
    }

    mutant = subject.schedule;
    Transfer& stray = mutant.transfers[mutator.any(mutant)];
    const Rank dst = mutator.any_rank();
    if (dst == stray.dst || dst == stray.src) continue;
    stray.dst = dst;  // the route is left as it was
    mutant.canonicalize();
    EXPECT_TRUE(
        verify(mutant, subject.topology, {.max_violations = 10000}).has(ViolationKind::BadRoute));
  }
}

}  // namespace
}  // namespace multitree
