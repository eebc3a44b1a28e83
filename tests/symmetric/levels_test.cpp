// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What one rank stands for, against the schedule written out and the bounds of the whole network:
/// links and switches.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/all_reduce_lp.hpp"
#include "algorithms/certificate/certify.hpp"
#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/certificate/least_time.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/symmetric/alike_network.hpp"
#include "algorithms/symmetric/alike_times.hpp"
#include "algorithms/symmetric/symmetric_schedule.hpp"
#include "algorithms/verify.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using testing::HasSubstr;

constexpr Collective kHalvesAndWhole[] = {Collective::AllGather, Collective::ReduceScatter,
                                          Collective::AllReduce};

AlikeNetwork alike(const Topology& topology) {
  std::string reason;
  auto network = find_alike_network(topology, reason);
  EXPECT_TRUE(network) << reason;
  return std::move(*network);
}

struct AlikeCase {
  const char* spec;
  std::uint32_t chunks = 1;
};

class Alike : public testing::TestWithParam<AlikeCase> {
 protected:
  Topology topology = make_topology(GetParam().spec);
  AlikeNetwork network = alike(topology);
  std::string algorithm = fmt::format("symmetric?chunks={}", GetParam().chunks);
};

TEST_P(Alike, EveryRanksProgramIsItsPartOfTheExplicitSchedule) {
  for (const Collective collective : kHalvesAndWhole) {
    SCOPED_TRACE(to_string(collective));
    const SymmetricSchedule implicit(network.ranks(), GetParam().chunks, collective);
    EXPECT_EQ(find_fault(network.ranks(), implicit.tree()).value_or(""), "");
    const Schedule schedule = make_schedule(algorithm, topology, collective);
    ASSERT_EQ(schedule.num_steps(), implicit.num_steps());
    EXPECT_TRUE(verify(schedule, topology, {.replay_always = true}).ok());
    for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
      std::vector<std::vector<SymmetricTransfer>> program(implicit.num_steps());
      for (const Transfer& t : schedule.transfers) {
        if (index(t.src) != r && index(t.dst) != r) continue;
        program[t.step].push_back({t.step, t.op, t.chunk, t.src, t.dst, 0});
      }
      for (std::uint32_t step = 0; step < implicit.num_steps(); ++step) {
        auto part = implicit.transfers_of_rank(Rank{r}, step);
        for (SymmetricTransfer& t : part) {
          const auto links = network.route(index(t.src), t.generator);
          EXPECT_EQ(topology.link(links.front()).src, topology.node_of(t.src));
          EXPECT_EQ(topology.link(links.back()).dst, topology.node_of(t.dst));
          t.generator = 0;
        }
        EXPECT_EQ(part, program[step]) << "rank " << r << " step " << step;
      }
    }
  }
}

TEST_P(Alike, BoundsAreThoseOfTheWholeNetwork) {
  const Bounds bounds = compute_bounds(topology);
  for (const Collective collective : all_collectives()) {
    SCOPED_TRACE(to_string(collective));
    const Certified certified = certify(topology, bounds, collective);
    const AlikeBound bound = bound_of(network.ranks(), collective);
    EXPECT_EQ(to_exact(bound.shards), certified.certificate.bound);
    EXPECT_TRUE(certified.exact);
    for (const Time overhead : {Time{}, kMessageOverhead}) {
      const LeastTime least(topology, certified.certificate, overhead);
      for (const std::uint64_t bytes : {std::uint64_t{64}, std::uint64_t{64} << 20}) {
        const TimeCertificate best = least.at(bytes);
        const Time one = least_time(network.ranks(), bound, bytes, overhead);
        EXPECT_LE(one, best.bound);
        if (best.reason == TimeReason::Cuts && GetParam().chunks == 1) {
          EXPECT_GE(one.seconds(), 0.99 * best.bound.seconds());
        }
      }
    }
  }
}

TEST_P(Alike, LoadAndTimeAreThoseOfTheExplicitSchedule) {
  for (const Collective collective : kHalvesAndWhole) {
    SCOPED_TRACE(to_string(collective));
    const SymmetricSchedule implicit(network.ranks(), GetParam().chunks, collective);
    const Schedule schedule = make_schedule(algorithm, topology, collective);
    EXPECT_EQ(to_exact(implicit.load()), load_of(schedule, topology));
    EXPECT_GE(implicit.load(), implicit.load_bound());
    for (const Time overhead : {Time{}, kMessageOverhead}) {
      for (const std::uint64_t bytes : {std::uint64_t{1} << 10, std::uint64_t{64} << 20}) {
        const double whole = predict_time(schedule, topology, bytes, {overhead}).seconds();
        const double one = predict_time(implicit, bytes, overhead).seconds();
        const bool links = network.ranks().levels.empty();
        if (links && overhead == Time{}) {
          EXPECT_NEAR(one, whole, 1e-11 + 1e-9 * whole) << bytes;
        } else {
          EXPECT_LE(one, 1.03 * whole) << bytes;
          EXPECT_GE(one, (links ? 0.85 : 0.68) * whole) << bytes;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, Alike,
    testing::Values(AlikeCase{"torus:1"}, AlikeCase{"ring:5"}, AlikeCase{"torus:4x3"},
                    AlikeCase{"torus:4x3", 4}, AlikeCase{"torus:3x2x2?lat=100ns,200ns,300ns"},
                    AlikeCase{"hypercube:4"}, AlikeCase{"tpu-v4:2x2x4"}, AlikeCase{"star:1"},
                    AlikeCase{"star:5"}, AlikeCase{"star:4", 3}, AlikeCase{"dgx-a100:1"},
                    AlikeCase{"dgx-a100:2"}, AlikeCase{"dgx-a100:2", 13}, AlikeCase{"dgx-a100:3"},
                    AlikeCase{"dgx-h100:4"}, AlikeCase{"nvl72:1"}, AlikeCase{"nvl72:2?gpus=18"},
                    AlikeCase{"mi300x:1"}, AlikeCase{"mi300x:3"}, AlikeCase{"rail:3x4"},
                    AlikeCase{"rail:2x3?spines=0", 2}, AlikeCase{"fattree:1x4"},
                    AlikeCase{"fattree:3x4"}, AlikeCase{"fattree:3x2x4", 2},
                    AlikeCase{"fattree3:2"}, AlikeCase{"fattree3:4"}),
    [](const auto& c) {
      std::string name = fmt::format("{}_{}", c.param.spec, c.param.chunks);
      std::ranges::replace_if(
          name, [](unsigned char x) { return std::isalnum(x) == 0; }, '_');
      return name;
    });

/// Every change of one number of a tree is found, unless what it makes is right as well.
TEST(FindFaultOverSwitches, IsNeverFooled) {
  for (const char* spec : {"fattree:2x3", "dgx-a100:2?nvlink=50GB/s", "star:4"}) {
    SCOPED_TRACE(spec);
    const Topology topology = make_topology(spec);
    const AlikeNetwork network = alike(topology);
    const AlikeRanks& ranks = network.ranks();
    const CayleyGraph& graph = ranks.graph;
    const TranslationTree good = make_translation_tree(ranks);
    for (std::uint32_t e = 1; e < graph.size(); ++e) {
      for (std::uint32_t s = 0; s < graph.degree(); ++s) {
        for (std::uint32_t step = 0; step < good.steps; ++step) {
          TranslationTree changed = good;
          changed.generator[e] = s;
          changed.step[e] = step;
          Schedule schedule;
          schedule.collective = Collective::AllGather;
          schedule.ranks = graph.size();
          schedule.chunks = one_chunk_per_rank(graph.size());
          for (std::uint32_t owner = 0; owner < graph.size(); ++owner) {
            for (std::uint32_t x = 1; x < graph.size(); ++x) {
              const std::uint32_t to = graph.group().multiply(owner, x);
              const std::uint32_t from = graph.apply(to, graph.inverse(changed.generator[x]));
              schedule.add(changed.step[x], Op::Copy, owner, Rank{from}, Rank{to},
                           network.route(from, changed.generator[x]));
            }
          }
          schedule.canonicalize();
          EXPECT_EQ(!find_fault(ranks, changed), verify(schedule, topology).ok())
              << "element " << e << " generator " << s << " step " << step;
        }
      }
    }
  }
}

TEST(AlikeNetworks, AreToldFromOthers) {
  const auto reason = [](const char* spec) {
    std::string text;
    EXPECT_FALSE(find_alike_network(make_topology(spec), text)) << spec;
    return text;
  };
  EXPECT_THAT(reason("fattree:4x4x2"), HasSubstr("ranks 0 and 2 share the link from leaf0"));
  EXPECT_THAT(reason("fattree3:4?oversubscription=2"), HasSubstr("has other links"));
  EXPECT_THAT(reason("dgx-a100:2?slow=5:0.5"), HasSubstr("rank 5 has other links"));
  EXPECT_THAT(reason("dgx-a100:2?without=box0gpu1-ib0"), HasSubstr("rank 1 has other links"));
  EXPECT_THAT(reason("dgx-a100:3?ranks=0-7,9"), HasSubstr("needs a network that looks the same"));
  EXPECT_THAT(reason("star:4?parallel=0-sw0:2"), HasSubstr("rank 0 has other links"));
  EXPECT_THAT(reason("mesh:3x3"), HasSubstr("needs a network that looks the same"));
}

TEST(LevelTrees, ReachTheBoundOfBoxes) {
  const Topology topology = make_topology("dgx-a100:500");
  const AlikeNetwork network = alike(topology);
  const SymmetricSchedule schedule(network.ranks());
  EXPECT_EQ(find_fault(network.ranks(), schedule.tree()).value_or(""), "");
  EXPECT_EQ(schedule.load(), bound_of(network.ranks(), Collective::AllReduce).shards);
  EXPECT_EQ(schedule.tree().depth, 2U);
  EXPECT_LE(schedule.num_steps(), schedule.bound_steps() + 2);
  EXPECT_LE(schedule.memory(), 16U * 4000);
}

}  // namespace
}  // namespace multitree
