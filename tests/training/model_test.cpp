// SPDX-License-Identifier: BSD-3-Clause
#include "training/model.hpp"

#include <gmock/gmock.h>

#include "topologies/error.hpp"

namespace multitree::training {
namespace {

constexpr std::string_view kTable =
    "name,params,forward,backward\n"
    "# comments and blank lines are skipped\n"
    "\n"
    "conv1, 23232+64, 1.5us, 3us\n"
    "pool,0,250ns,0us\n"
    "fc,1000,10us,20us\n";

TEST(LayerTables, HaveTensorsAndTimes) {
  const Model model = parse_model(kTable, "nets/small.csv");
  EXPECT_EQ(model.name, "small");
  ASSERT_EQ(model.layers.size(), 3U);
  EXPECT_EQ(model.layers[0], (Layer{"conv1", 1.5e-6, 3e-6, {92928, 256}}));
  EXPECT_TRUE(model.layers[1].tensors.empty());
  EXPECT_EQ(model.bytes(), 92928U + 256 + 4000);
  EXPECT_DOUBLE_EQ(model.forward(), 11.75e-6);
  EXPECT_DOUBLE_EQ(model.backward(), 23e-6);
  EXPECT_EQ(parse_model(kTable, "small.csv", 2).bytes(), model.bytes() / 2);
}

TEST(LayerTables, SayWhereTheyAreWrong) {
  const std::string header = "name,params,forward,backward\n";
  const std::pair<std::string, std::string> cases[] = {
      {"layer,params\n", "x.csv:1: expected the line 'name,params,forward,backward'"},
      {header, "x.csv:2: expected a layer, found none"},
      {header + "a,1,1us\n", "x.csv:2: expected 4 columns"},
      {header + ",1,1us,1us\n", "x.csv:2: column 'name': expected the name of a layer"},
      {header + "a,1,1us,1us\nb,-1,1us,1us\n", "x.csv:3: column 'params': expected whole numbers"},
      {header + "a,1+,1us,1us\n", "x.csv:2: column 'params'"},
      {header + "a,9999999999999999999,1us,1us\n", "x.csv:2: column 'params'"},
      {header + "a,1,nan,1us\n", "x.csv:2: column 'forward': expected a time with its unit"},
      {header + "a,1,1us,-1us\n", "x.csv:2: column 'backward': expected a time with its unit"},
      {header + "a,1,1us,7\n", "x.csv:2: column 'backward': expected a time with its unit"},
  };
  for (const auto& [text, words] : cases) {
    try {
      (void)parse_model(text, "x.csv");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
      EXPECT_THAT(error.what(), testing::HasSubstr(words)) << text;
    }
  }
}

}  // namespace
}  // namespace multitree::training
