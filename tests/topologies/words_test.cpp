// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Names as people type them.
#include "topologies/words.hpp"

#include <gtest/gtest.h>

#include "topologies/registry.hpp"
#include "topologies/spec.hpp"

namespace multitree {
namespace {

constexpr std::string_view kNames[] = {"fattree", "reduce-scatter", "torus", "twisted-torus"};
constexpr Alias kAliases[] = {{"leaf spine", "fattree"}};

TEST(Meant, TheNameItselfComesFirst) {
  constexpr std::string_view kAlike[] = {"a-b", "ab"};
  EXPECT_EQ(meant("ab", kAlike), "ab");
  EXPECT_EQ(meant("a-b", kAlike), "a-b");
}

TEST(Meant, CaseAndSeparatorsDoNotCount) {
  EXPECT_EQ(meant("Fat-Tree", kNames), "fattree");
  EXPECT_EQ(meant("REDUCE_SCATTER", kNames), "reduce-scatter");
  EXPECT_EQ(meant("reducescatter", kNames), "reduce-scatter");
  EXPECT_EQ(meant("Leaf-Spine", kNames, kAliases), "fattree");
}

TEST(Meant, OtherWordsAreNotGuessed) {
  for (const std::string_view word : {"tors", "", "-", "toruss", "fat tree 2"}) {
    EXPECT_FALSE(meant(word, kNames, kAliases)) << word;
  }
}

TEST(DidYouMean, ASlipOfTheKeyboard) {
  const std::string expected = "; did you mean 'torus'?";
  for (const std::string_view word : {"tors", "torsu", "toruss", "t0rus", "Trus", "orus"}) {
    EXPECT_EQ(did_you_mean(word, kNames), expected) << word;
  }
  EXPECT_EQ(did_you_mean("reduce-scater", kNames), "; did you mean 'reduce-scatter'?");
}

TEST(DidYouMean, NothingWhereNothingIsNear) {
  for (const std::string_view word : {"", "x", "donut", "mesh", "allgather"}) {
    EXPECT_EQ(did_you_mean(word, kNames), "") << word;
  }
  EXPECT_EQ(did_you_mean(std::string(1 << 20, 't'), kNames), "");
}

TEST(Spec, ColonsStandForQuestionMarksAndAmpersands) {
  const auto text = [](std::string_view spec) { return Spec::parse(spec).text(); };
  EXPECT_EQ(text("torus:4x4:bw=1GB/s:lat=1us"), "torus:4x4?bw=1GB/s&lat=1us");
  EXPECT_EQ(text("torus:4x4:slow=5:0.25:without=0-1:1"), "torus:4x4?slow=5:0.25&without=0-1:1");
  EXPECT_EQ(text("torus:4x4?bw=1GB/s:lat=1us"), "torus:4x4?bw=1GB/s&lat=1us");
  EXPECT_EQ(text("ring:segments=4"), "ring?segments=4");
  EXPECT_EQ(text("ring:4"), "ring:4");
}

TEST(Spec, TheNetworkIsCalledByItsName) {
  EXPECT_EQ(make_topology("Fat-Tree:4x4").name(), "fattree:4x4");
  EXPECT_EQ(make_topology("full_mesh:4:bw=2GB/s").name(), "full:4?bw=2GB/s");
}

}  // namespace
}  // namespace multitree
