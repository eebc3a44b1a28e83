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
  EXPECT_EQ(parse_model(kTable, "small.csv", {.parameter_bytes = 2}).bytes(), model.bytes() / 2);
}

TEST(LayerTables, SayWhereTheyAreWrong) {
  const std::string header = "name,params,forward,backward\n";
  const std::pair<std::string, std::string> cases[] = {
      {"layer,params\n", "x.csv:1: expected the line 'name,params,forward,backward'"},
      {"# nothing\n", "x.csv:1: expected a table of layers, found nothing"},
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

TEST(ModelTables, OfMultiplicationsAreRooflines) {
  constexpr std::string_view kText =
      "name,kind,params,tensor_elems,fwd_macs,out_elems\n"
      "conv,conv,23296,23232+64,70000000,1000\n"
      "bn,bn,128,64+64,0,500000\n"
      "pool,pool,0,0,0,0\n";
  const Model model = parse_model(kText, "net.csv", {.batch = 2, .flops = 1e12});
  ASSERT_EQ(model.layers.size(), 3U);
  EXPECT_EQ(model.layers[0].tensors, (std::vector<std::uint64_t>{92928, 256}));
  EXPECT_DOUBLE_EQ(model.layers[0].forward, 2 * 7e7 * 2 / 1e12);
  EXPECT_DOUBLE_EQ(model.layers[0].backward, 2 * model.layers[0].forward);
  EXPECT_EQ(model.layers[1].forward, 0);
  // What it makes is read and written once, for two samples.
  const Model moved = parse_model(kText, "net.csv", {.batch = 2, .flops = 1e12, .memory = 1e9});
  EXPECT_DOUBLE_EQ(moved.layers[1].forward, (512 + 2 * 500000 * 2 * 4) / 1e9);
  EXPECT_DOUBLE_EQ(moved.layers[0].forward, model.layers[0].forward);
  // Passes are started, also those of layers without work.
  const Model launched = parse_model(kText, "net.csv", {.batch = 2, .flops = 1e12, .launch = 1e-5});
  EXPECT_DOUBLE_EQ(launched.layers[0].forward, model.layers[0].forward + 1e-5);
  EXPECT_DOUBLE_EQ(launched.layers[0].backward, model.layers[0].backward + 1e-5);
  EXPECT_DOUBLE_EQ(launched.layers[2].backward, 1e-5);
  try {
    (void)parse_model(kText, "net.csv");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_THAT(error.what(), testing::HasSubstr("(--flops)"));
  }
}

TEST(ModelTables, OfShapesAreTheStudys) {
  const Model model = parse_model(
      "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
      "Strides,\nconv1, 228, 228, 11, 11, 3, 64, 4,\nfc, 1, 1, 1, 1, 4096, 1000, 1,\n",
      "net.csv");
  ASSERT_EQ(model.layers.size(), 2U);
  EXPECT_EQ(model.layers[0].bytes(), 11U * 11 * 3 * 64 * 4);
  // A row of 1000 outputs: 32 columns at once, 4096 cycles each time.
  EXPECT_GE(model.layers[1].forward, 32 * 4096e-9);
  EXPECT_LT(model.layers[1].forward, 32 * 4200e-9);
}

TEST(ModelTables, OfAstraSim) {
  constexpr std::string_view kText =
      "DATA\n2\n"
      "embedding -1 0 NONE 0 0 NONE 0 5 ALLREDUCE 4096 10\n"
      "fc\t-1 1000 NONE 0 2000 NONE 0 1500 NONE 77 10\n";
  const Model model = parse_model(kText, "dlrm.txt", {.clock_hz = 1e6});
  ASSERT_EQ(model.layers.size(), 2U);
  EXPECT_EQ(model.name, "dlrm");
  EXPECT_EQ(model.layers[0], (Layer{"embedding", 0, 5e-6, {4096}}));
  EXPECT_EQ(model.layers[1], (Layer{"fc", 1e-3, 3.5e-3, {}}));
  const auto expect = [](const std::string& text, const std::string& words) {
    try {
      (void)parse_model(text, "x.txt");
      ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(words));
    }
  };
  expect("DATA\n", "x.txt:1: expected the number of layers");
  expect("DATA\nmany\n", "x.txt:2: column 'number of layers': expected a whole number");
  expect("DATA\n2\na -1 0 NONE 0 0 NONE 0 5 NONE 0 10\n",
         "x.txt:2: expected as many lines as layers");
  expect("DATA\n1\na -1 0 NONE 0 0 NONE 0 5\n", "x.txt:3: expected 12 columns");
  expect("DATA\n1\na -1 0 ALLTOALL 9 0 NONE 0 5 NONE 0 1\n", "expected NONE, as data parallelism");
  expect("DATA\n1\na -1 0 NONE 0 0 NONE 0 5 ALLGATHER 0 1\n", "expected ALLREDUCE or NONE");
}

/// Totals as counted elsewhere: torchvision's documentation, BERT's and NeuMF's papers.
TEST(BuiltInModels, HaveTheParametersOfTheirNetworks) {
  const Machine machine{.parameter_bytes = 1, .batch = 1, .flops = 1e12};
  EXPECT_EQ(built_in_models().size(), 20U);
  for (const std::string_view name : built_in_models()) {
    const Model model = read_model(std::string(name), machine);
    EXPECT_EQ(model.name, name);
    EXPECT_GT(model.forward(), 0) << name;
  }
  EXPECT_EQ(read_model("alexnet", machine).bytes(), 61'100'840U);
  EXPECT_EQ(read_model("resnet50", machine).bytes(), 25'557'032U);
  EXPECT_EQ(read_model("vgg16", machine).bytes(), 138'357'544U);
  EXPECT_EQ(read_model("densenet201", machine).bytes(), 20'013'928U);
  EXPECT_EQ(read_model("bert_large", machine).bytes(), 336'232'258U);
  EXPECT_TRUE(built_in_table("alexnet2").empty());
  EXPECT_THROW(read_model("alexnet2", machine), Error);
}

}  // namespace
}  // namespace multitree::training
