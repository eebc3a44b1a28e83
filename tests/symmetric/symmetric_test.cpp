// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Translation trees on all small tori, and the schedules made of them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "algorithms/symmetric/cayley_network.hpp"
#include "algorithms/symmetric/translation_tree.hpp"
#include "algorithms/verify.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using Sizes = std::vector<std::uint32_t>;

/// The element one generator further, in coordinates: the group written out, not asked for.
std::uint32_t neighbour(const Sizes& sizes, std::uint32_t element, std::size_t dim, bool up) {
  std::uint32_t stride = 1;
  for (std::size_t d = 0; d < dim; ++d) stride *= sizes[d];
  const std::uint32_t at = element / stride % sizes[dim];
  const std::uint32_t to = (at + (up ? 1 : sizes[dim] - 1)) % sizes[dim];
  return element - at * stride + to * stride;
}

/// The directions of a torus in the order of its generators.
std::vector<std::pair<std::size_t, bool>> directions(const Sizes& sizes) {
  std::vector<std::pair<std::size_t, bool>> result;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (sizes[dim] > 1) result.emplace_back(dim, true);
    if (sizes[dim] > 2) result.emplace_back(dim, false);
  }
  return result;
}

/// Parents come earlier (hence it spans), and no generator is used twice in a step. Returns the
/// depth.
std::uint32_t check_tree(const Sizes& sizes, const TranslationTree& tree) {
  const auto moves = directions(sizes);
  std::vector<std::uint32_t> order, depth(tree.step.size(), 0);
  for (std::uint32_t x = 1; x < tree.step.size(); ++x) order.push_back(x);
  std::ranges::sort(order, {}, [&](std::uint32_t x) { return tree.step[x]; });
  std::vector<bool> used(std::size_t{tree.steps} * moves.size());
  for (const std::uint32_t x : order) {
    const std::uint32_t s = tree.generator[x], step = tree.step[x];
    if (s >= moves.size() || step >= tree.steps) {
      ADD_FAILURE() << "element " << x << " generator " << s << " step " << step;
      return 0;
    }
    const std::uint32_t parent = neighbour(sizes, x, moves[s].first, !moves[s].second);
    EXPECT_TRUE(parent == 0 || tree.step[parent] < step) << "element " << x;
    EXPECT_FALSE(used[step * moves.size() + s]) << "generator " << s << " in step " << step;
    used[step * moves.size() + s] = true;
    depth[x] = depth[parent] + 1;
  }
  return std::ranges::max(depth);
}

/// Steps and depth must be the least: those of the closed forms.
void check_torus(const Sizes& sizes) {
  SCOPED_TRACE(fmt::format("torus {}", fmt::join(sizes, "x")));
  std::uint32_t size = 1, degree = 0, diameter = 0;
  for (const std::uint32_t n : sizes) {
    size *= n;
    degree += std::min(n - 1, 2U);
    diameter += n / 2;
  }
  const std::uint32_t least =
      degree == 0 ? 0 : std::max(diameter, (size - 1 + degree - 1) / degree);
  const CayleyGraph graph = CayleyGraph::torus(sizes);
  const TranslationTree tree = make_translation_tree(graph);
  ASSERT_EQ(tree.step.size(), size);
  EXPECT_EQ(least_steps(graph), least);
  EXPECT_EQ(tree.steps, least);
  EXPECT_EQ(tree.depth, diameter);
  EXPECT_EQ(check_tree(sizes, tree), tree.depth);
}

TEST(TranslationTree, IsOptimalWhateverTheOrderOfSizes) {
  for (const Sizes& sizes : std::vector<Sizes>{
           {1}, {1, 1}, {1, 5}, {5, 1, 2}, {7, 2}, {4, 3, 2}, {2, 6, 2}, {9, 2, 3}}) {
    check_torus(sizes);
  }
}

// They need more than the first try: with shortest paths there is hardly any idle slot.
TEST(TranslationTree, IsOptimalWhereTheFirstTryFails) {
  for (const Sizes& sizes : std::vector<Sizes>{
           {2, 3, 80}, {2, 5, 60}, {3, 4, 93}, {2, 3, 3, 23}, {2, 9, 77}, {3, 3, 3, 3}}) {
    check_torus(sizes);
  }
}

TEST(TranslationTree, IsTheSameTwice) {
  const CayleyGraph graph = CayleyGraph::torus({2, 3, 80});
  const TranslationTree first = make_translation_tree(graph), again = make_translation_tree(graph);
  EXPECT_EQ(first.step, again.step);
  EXPECT_EQ(first.generator, again.generator);
}

struct Named {
  Sizes sizes;
  std::uint32_t steps;
};

class NamedTorus : public testing::TestWithParam<Named> {};

TEST_P(NamedTorus, HasTheKnownSteps) {
  check_torus(GetParam().sizes);
  EXPECT_EQ(make_translation_tree(CayleyGraph::torus(GetParam().sizes)).steps, GetParam().steps);
}

INSTANTIATE_TEST_SUITE_P(
    Tori, NamedTorus,
    testing::Values(Named{{4, 4}, 4}, Named{{5, 5}, 6}, Named{{8, 8}, 16}, Named{{16, 16}, 64},
                    Named{{17, 17}, 72}, Named{{32, 32}, 256}, Named{{33, 33}, 272},
                    Named{{64, 64}, 1024}, Named{{4, 4, 4}, 11}, Named{{8, 8, 8}, 86},
                    Named{{9, 9, 9}, 122}, Named{Sizes(10, 2), 103}, Named{{2, 16}, 11},
                    Named{{2, 64}, 43}, Named{{3, 64}, 48}, Named{{2, 2, 2}, 3}),
    [](const auto& named) { return fmt::format("{}", fmt::join(named.param.sizes, "x")); });

class SymmetricAlgorithm : public testing::TestWithParam<const char*> {};

TEST_P(SymmetricAlgorithm, VerifiesWithTheLeastSteps) {
  const Topology topology = make_topology(GetParam());
  std::string reason;
  const auto network = find_cayley_network(topology, reason);
  ASSERT_TRUE(network) << reason;
  const std::uint32_t least = least_steps(network->graph);
  const Schedule gather = make_schedule("symmetric", topology, Collective::AllGather);
  EXPECT_EQ(gather.num_steps(), least);
  EXPECT_EQ(gather.transfers.size(),
            std::size_t{topology.num_ranks()} * (topology.num_ranks() - 1));
  EXPECT_EQ(make_schedule("symmetric", topology).num_steps(), 2 * least);
  const Rank last{topology.num_ranks() - 1};
  for (const Collective collective :
       {Collective::ReduceScatter, Collective::Broadcast, Collective::Reduce}) {
    const Rank root = has_root(collective) ? last : Rank{0};
    EXPECT_TRUE(verify(make_schedule("symmetric", topology, collective, root), topology).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, SymmetricAlgorithm,
                         testing::Values("torus:1", "torus:2x1", "torus:2x2x2", "torus:4x4",
                                         "torus:5x3", "torus:2x16", "torus:4x4x4", "torus:3x3x3x3",
                                         "ring:1", "ring:2", "ring:7", "ring:8", "hypercube:0",
                                         "hypercube:5", "full:1", "full:2", "full:9",
                                         "torus:2x3x2?double=1", "circulant:12?offsets=1,5",
                                         "circulant:9?offsets=2,3", "twisted-torus:6x4?twist=2",
                                         "twisted-torus:2x2?twist=1", "cayley:4x4?generators=1,4,5",
                                         "star-graph:1", "star-graph:4", "pancake:4",
                                         "bubble-sort:4", "bubble-sort:5"));

std::string refusal(const Topology& topology) {
  const auto reason = find_algorithm("symmetric").unsupported(topology);
  return reason.value_or("");
}

/// A 4x4 torus of which the caller changes a link, with the shape that it claims to have.
Topology changed_torus(std::size_t changed, std::size_t copies, NodeId dst, const Shape& shape) {
  const Topology whole = make_topology("torus:4x4");
  TopologyBuilder builder("changed");
  builder.set_shape(shape);
  for (std::uint32_t r = 0; r < whole.num_ranks(); ++r) builder.add_endpoint();
  for (std::size_t id = 0; id < whole.num_links(); ++id) {
    const Link& link = whole.links()[id];
    for (std::size_t i = 0; i < (id == changed ? copies : 1); ++i) {
      builder.add_link(link.src, id == changed ? dst : link.dst, link.bandwidth, link.latency);
    }
  }
  return std::move(builder).build();
}

TEST(Symmetric, RefusesWhatIsNotAWholeCayleyGraph) {
  using testing::HasSubstr;
  const Topology whole = make_topology("torus:4x4");
  const Link first = whole.links()[0];
  const NodeId away{index(first.src) == 10 ? 5U : 10U};
  EXPECT_EQ(refusal(whole), "");
  EXPECT_EQ(refusal(changed_torus(0, 1, first.dst, whole.shape())), "");
  EXPECT_THAT(refusal(changed_torus(0, 0, first.dst, whole.shape())), HasSubstr("other links"));
  EXPECT_THAT(refusal(changed_torus(0, 2, first.dst, whole.shape())), HasSubstr("other links"));
  EXPECT_THAT(refusal(changed_torus(0, 1, away, whole.shape())), HasSubstr("other links"));
  EXPECT_THAT(refusal(changed_torus(0, 1, first.dst, {})), HasSubstr("layout is not known"));
  EXPECT_THAT(refusal(changed_torus(0, 1, first.dst, {"torus", {4, 5}})), HasSubstr("16 ranks"));
  EXPECT_THAT(refusal(changed_torus(0, 1, first.dst, {"torus", {65536, 65536, 16}})),
              HasSubstr("16 ranks"));
  EXPECT_THAT(refusal(changed_torus(0, 1, first.dst, {"ring", {16}})), HasSubstr("other links"));
  EXPECT_THAT(refusal(changed_torus(0, 1, first.dst, {"hypercube", {40}})), HasSubstr("16 ranks"));
  EXPECT_THAT(refusal(make_topology("mesh:4x4")), HasSubstr("mesh"));
  EXPECT_THAT(refusal(make_topology("bigraph:2x2")), HasSubstr("2 switches"));
  EXPECT_THAT(refusal(make_topology("torus:4x4?bw=50GB/s,25GB/s")), HasSubstr("bandwidths differ"));
  EXPECT_THAT(refusal(make_topology("torus:4x4?without=0-1")), HasSubstr("rank 0 has other links"));
  EXPECT_THROW(make_schedule("symmetric", make_topology("mesh:4x4")), Error);
}

TEST(Symmetric, AcceptsTheOtherNameOfANetwork) {
  const Topology whole = make_topology("torus:4x4");
  const Link first = whole.links()[0];
  // 4x4 is the hypercube of 4 dimensions with its ranks in another order: other generators.
  EXPECT_EQ(refusal(changed_torus(0, 1, first.dst, {"hypercube", {4}})), "");
  EXPECT_EQ(refusal(changed_torus(0, 1, first.dst, {"torus", {4, 4, 1}})), "");
}

}  // namespace
}  // namespace multitree
