// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "study/workload.hpp"
#include "topologies/error.hpp"

namespace multitree::study {
namespace {

const std::string kShapeHeader =
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
    "Strides,\n";
const std::string kTotalHeader = "workload,layer,params,fwd_macs,out_elems\n";

/// The message of the InvalidInput that a table causes.
std::string failure(const std::string& text) {
  try {
    parse_workloads(text, "nets/bad.csv");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    return error.what();
  }
  return "no error";
}

TEST(ShapeTables, GiveOneWorkloadNamedByTheFile) {
  const auto workloads = parse_workloads(kShapeHeader +
                                             "\r\n"
                                             "Recommendation (a title),\n"
                                             "conv, 19, 21, 3, 5, 17, 256, 1,\r\n"
                                             "  \n"
                                             "  fc,1,1,1,1,722 ,362,1",
                                         "some/where/go.v1.csv");
  ASSERT_EQ(workloads.size(), 1U);
  EXPECT_EQ(workloads[0].name, "go.v1");
  EXPECT_THAT(workloads[0].layers,
              testing::ElementsAre(make_layer("conv", {.input_height = 19,
                                                       .input_width = 21,
                                                       .filter_height = 3,
                                                       .filter_width = 5,
                                                       .channels = 17,
                                                       .filters = 256}),
                                   make_layer("fc", {.channels = 722, .filters = 362})));
}

TEST(ShapeTables, NamesOfColumnsMayBeOfAnyCase) {
  const auto workloads = parse_workloads(
      "\nLAYER NAME,ifmap height,ifmap width,filter height,filter width,channels,num filter,strides"
      "\nfc,1,1,1,1,2,3,1\n",
      "a");
  EXPECT_EQ(workloads[0].layers[0].parameters, 6U);
}

TEST(ShapeTables, MayRepeatLayersAndTieWeights) {
  std::string header = kShapeHeader;
  header.insert(header.size() - 1, " Repeat, Parameters,");
  const auto workloads = parse_workloads(header +
                                             "scores, 32, 1, 1, 1, 64, 32, 1, 8, 0,\n"
                                             "biased, 1, 1, 1, 1, 64, 32, 1, 1, 2080,\n",
                                         "a.csv");
  EXPECT_EQ(workloads[0].layers[0].repeat, 8U);
  EXPECT_EQ(workloads[0].layers[0].parameters, 0U);
  EXPECT_EQ(workloads[0].layers[0].forward, (Gemm{.rows = 32, .columns = 32, .depth = 64}));
  EXPECT_EQ(workloads[0].layers[1].parameters, 2080U);
}

// 3x3 convolution of 17 channels to 256 over 19x19 pixels without padding; a fully connected layer;
// a lookup; and a second network.
TEST(TotalTables, RecoverTheProducts) {
  const auto workloads = parse_workloads(kTotalHeader +
                                             "go,Conv,39168,11319552,73984\n"
                                             "go, FC ,261364,261364,362,\n"
                                             "rec,Users,1104000,0,0\n"
                                             "rec,MLP,2048,2048,32\n",
                                         "nets.csv");
  ASSERT_EQ(workloads.size(), 2U);
  EXPECT_EQ(workloads[0].name, "go");
  const auto& go = workloads[0].layers;
  ASSERT_EQ(go.size(), 2U);
  EXPECT_EQ(go[0].forward, (Gemm{.rows = 17 * 17, .columns = 256, .depth = 9 * 17}));
  EXPECT_EQ(go[0].parameters, 39168U);
  EXPECT_EQ(go[0].input_pixels, 17U * 17);
  EXPECT_EQ(go[0].channels, 9U * 17);
  EXPECT_EQ(go[1].name, "FC");
  EXPECT_EQ(go[1].forward, (Gemm{.rows = 1, .columns = 362, .depth = 722}));
  const auto& rec = workloads[1].layers;
  EXPECT_EQ(rec[0].forward, Gemm{});
  EXPECT_EQ(rec[0].parameters, 1104000U);
  EXPECT_EQ(rec[1].forward, (Gemm{.rows = 1, .columns = 32, .depth = 64}));
}

struct Bad {
  std::string text;
  std::string message;
};

class BadTables : public testing::TestWithParam<Bad> {};

TEST_P(BadTables, SayWhereWhatAndWhy) { EXPECT_EQ(failure(GetParam().text), GetParam().message); }

std::string columns(int found) {
  return fmt::format(
      "nets/bad.csv:2: expected 8 columns (Layer name, IFMAP Height, IFMAP Width, Filter Height, "
      "Filter Width, Channels, Num Filter, Strides), found {}",
      found);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, BadTables,
    testing::Values(
        Bad{"", "nets/bad.csv:1: the file is empty"},
        Bad{"a\nb\xff\n", "nets/bad.csv:2: a byte that is no UTF-8 text: 0xff"},
        Bad{"\nlayer, size\n",
            "nets/bad.csv:2: expected the header 'Layer name, IFMAP Height, IFMAP Width, Filter "
            "Height, Filter Width, Channels, Num Filter, Strides' or "
            "'workload,layer,params,fwd_macs,out_elems', found 'layer, size'"},
        Bad{kShapeHeader + "\nTitle,\n",
            "nets/bad.csv:3: expected rows of layers after the header, found none"},
        Bad{kShapeHeader + "c, 4, 4, 3, 3, 8, 8,\n", columns(7)},
        Bad{kShapeHeader + "c, 4, 4, 3, 3, 8, 8, 1, 1,\n", columns(9)},
        Bad{kShapeHeader + ", 4, 4, 3, 3, 8, 8, 1,\n",
            "nets/bad.csv:2: column 'Layer name': expected a name, found ''"},
        Bad{kShapeHeader + "c, 4, 4, 3, 3, 8, 8, 1,\nd, -4, 4, 3, 3, 8, 8, 1,\n",
            "nets/bad.csv:3: column 'IFMAP Height': expected a whole number from 1 to 4294967295, "
            "found '-4'"},
        Bad{kShapeHeader + "c, 4, 4.5, 3, 3, 8, 8, 1,\n",
            "nets/bad.csv:2: column 'IFMAP Width': expected a whole number from 1 to 4294967295, "
            "found '4.5'"},
        Bad{kShapeHeader + "c, 4, 4, 3, 3, 8, 4294967296, 1,\n",
            "nets/bad.csv:2: column 'Num Filter': expected a whole number from 1 to 4294967295, "
            "found '4294967296'"},
        Bad{kShapeHeader + "c, 4, 4, 3, 3, , 8, 1,\n",
            "nets/bad.csv:2: column 'Channels': expected a whole number from 1 to 4294967295, "
            "found ''"},
        Bad{kShapeHeader + "c, 4, 4, 3, 3, 8, 8, 0,\n",
            "nets/bad.csv:2: column 'Strides': expected a whole number from 1 to 4294967295, "
            "found '0'"},
        Bad{kShapeHeader + "c, 4, 9, 5, 3, 8, 8, 1,\n",
            "nets/bad.csv:2: column 'Filter Height': expected at most the IFMAP Height 4, "
            "found '5'"},
        Bad{kShapeHeader + "c, 9, 4, 3, 5, 8, 8, 1,\n",
            "nets/bad.csv:2: column 'Filter Width': expected at most the IFMAP Width 4, found '5'"},
        Bad{kShapeHeader + "c, 1, 1, 1, 1, 4294967295, 4294967295, 1,\n",
            "nets/bad.csv:2: layer 'c': expected at most 1099511627776 weights, found more"},
        Bad{kShapeHeader + "c, 4294967295, 4294967295, 1, 1, 1, 1, 1,\n",
            "nets/bad.csv:2: layer 'c': expected input pixels x weights x repeat of at most "
            "1099511627776, found more"}));

INSTANTIATE_TEST_SUITE_P(
    Totals, BadTables,
    testing::Values(
        Bad{kTotalHeader + "w,l,6,6\n",
            "nets/bad.csv:2: expected 5 columns (workload, layer, params, fwd_macs, out_elems), "
            "found 4"},
        Bad{kTotalHeader + ",l,6,6,3\n",
            "nets/bad.csv:2: column 'workload': expected a name, found ''"},
        Bad{kTotalHeader + "w,,6,6,3\n",
            "nets/bad.csv:2: column 'layer': expected a name, found ''"},
        Bad{kTotalHeader + "w,l,six,6,3\n",
            "nets/bad.csv:2: column 'params': expected a whole number from 0 to 1099511627776, "
            "found 'six'"},
        Bad{kTotalHeader + "w,l,6,99999999999999999999,3\n",
            "nets/bad.csv:2: column 'fwd_macs': expected a whole number from 0 to 1099511627776, "
            "found '99999999999999999999'"},
        Bad{kTotalHeader + "w,l,6,6,0\n",
            "nets/bad.csv:2: column 'out_elems': expected a whole number from 1 to 1099511627776, "
            "found '0'"},
        Bad{kTotalHeader + "w,l,0,6,3\n",
            "nets/bad.csv:2: column 'params': expected at least 1 for a layer with fwd_macs, "
            "found '0'"},
        Bad{kTotalHeader + "w,l,6,7,3\n",
            "nets/bad.csv:2: expected the depth fwd_macs / out_elems to be a whole number, "
            "found 7 / 3"},
        Bad{kTotalHeader + "w,l,7,6,3\n",
            "nets/bad.csv:2: expected the columns params / depth to be a whole number, "
            "found 7 / 2"},
        Bad{kTotalHeader + "w,l,8,6,3\n",
            "nets/bad.csv:2: expected the rows out_elems / columns to be a whole number, "
            "found 3 / 4"},
        Bad{kTotalHeader + "w,l,6,6,3\nv,l,6,6,3\nw,l,6,6,3\n",
            "nets/bad.csv:4: column 'workload': expected more of 'v' or a new name, as rows of a "
            "workload lie together, found 'w'"}));

TEST(Tables, LimitLayers) {
  std::string text = kTotalHeader;
  for (std::size_t i = 0; i < kMaxLayers; ++i) text += "w,l,6,6,3\n";
  EXPECT_EQ(parse_workloads(text, "a")[0].layers.size(), kMaxLayers);
  EXPECT_EQ(failure(text + "w,l,6,6,3\n"),
            "nets/bad.csv:4098: expected at most 4096 layers of workload 'w', found more");
}

TEST(Tables, ThatCannotBeReadAreIoErrors) {
  try {
    read_workloads("/nonexistent/table.csv");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Io);
  }
}

}  // namespace
}  // namespace multitree::study
