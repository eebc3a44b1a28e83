// SPDX-License-Identifier: BSD-3-Clause
/// Traces are encoded here by hand, so that reader and writer of the program prove nothing to each
/// other.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "topologies/error.hpp"
#include "training/model.hpp"

namespace multitree::training {
namespace {

constexpr int kCompute = 4, kSend = 5, kCollective = 7;

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7U) bytes += static_cast<char>((value & 127U) | 128U);
  return bytes + static_cast<char>(value);
}
std::string number(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3U) + varint(value);
}
std::string text(int field, const std::string& content) {
  return varint((static_cast<std::uint64_t>(field) << 3U) | 2U) + varint(content.size()) + content;
}
std::string message(const std::string& content) { return varint(content.size()) + content; }

/// An int64, as Chakra's converters write counts.
std::string attribute(const std::string& name, std::uint64_t value) {
  return text(10, text(1, name) + number(9, value));
}

struct Node {
  int id;
  std::string name;
  int type = kCompute;
  std::vector<int> after = {};
  int micros = 0;
  std::string attributes = {};
};

std::string all_reduce_of(std::uint64_t bytes) {
  return attribute("comm_type", 0) + attribute("comm_size", bytes);
}

std::string trace(const std::vector<Node>& nodes) {
  std::string file = message(text(1, "0.0.4"));
  for (const Node& node : nodes) {
    std::string after;
    for (const int id : node.after) after += varint(static_cast<std::uint64_t>(id));
    std::string content = number(1, static_cast<std::uint64_t>(node.id)) + text(2, node.name) +
                          number(3, static_cast<std::uint64_t>(node.type));
    if (!after.empty()) content += text(5, after);  // packed
    if (node.micros > 0) content += number(7, static_cast<std::uint64_t>(node.micros));
    file += message(content + node.attributes);
  }
  return file;
}

/// Two layers as Chakra's converter of text workloads writes them; `from`: the least id.
std::vector<Node> pass(int from, const std::vector<int>& sums_before) {
  std::vector<int> first, second{from};
  if (!sums_before.empty()) {
    first = {sums_before[0]};
    second.push_back(sums_before[1]);
  }
  return {{from, "COMP_NODE_a_FWD", kCompute, first, 10},
          {from + 1, "COMP_NODE_b_FWD", kCompute, second, 20},
          {from + 2, "COMP_NODE_b_BWD_WG", kCompute, {from + 1}, 15},
          {from + 3, "COMM_COLL_NODE_b", kCollective, {from + 2}, 0, all_reduce_of(4096)},
          {from + 4, "COMP_NODE_b_BWD_IG", kCompute, {from + 2}, 25},
          {from + 5, "COMP_NODE_a_BWD_WG", kCompute, {from + 4}, 5},
          {from + 6, "COMM_COLL_NODE_a", kCollective, {from + 5, from + 3}, 0, all_reduce_of(400)}};
}

void expect_two_layers(const std::vector<Node>& nodes) {
  const Model model = parse_model(trace(nodes), "net/dlrm.0.et");
  EXPECT_EQ(model.name, "dlrm.0");
  ASSERT_EQ(model.layers.size(), 2U);
  EXPECT_EQ(model.layers[0], (Layer{"a", 10e-6, 25e-6 + 5e-6, {400}}));
  EXPECT_EQ(model.layers[1], (Layer{"b", 20e-6, 15e-6, {4096}}));
}

std::vector<Node> joined(std::vector<Node> a, const std::vector<Node>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void expect_refusal(const std::string& file, const std::string& words,
                    ErrorCode code = ErrorCode::InvalidInput) {
  try {
    (void)parse_model(file, "x.et");
    ADD_FAILURE() << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_THAT(error.what(), testing::HasSubstr(words));
  }
}

TEST(ChakraModels, AreTheFirstIteration) {
  expect_two_layers(pass(0, {}));
  expect_two_layers(joined(pass(0, {}), pass(7, {6, 3})));  // waits for the sums of the first
  expect_two_layers(joined(pass(0, {}), pass(7, {})));      // and for nothing
  std::vector<Node> backwards = pass(0, {});
  std::ranges::reverse(backwards);
  expect_two_layers(backwards);
}

TEST(ChakraModels, HaveLayersByWhatIsSummedUp) {
  // What a framework writes: no layers in names, an optimizer, kernels beside what prepares them.
  const std::vector<Node> nodes = {
      {1, "aten::linear", kCompute, {}, 7, attribute("is_cpu_op", 1)},
      {2, "gemm", kCompute, {1}, 60, attribute("is_cpu_op", 0)},
      {3, "autograd: AddmmBackward0", kCompute, {2}, 9, attribute("is_cpu_op", 1)},
      {4, "gemm", kCompute, {3}, 40, attribute("is_cpu_op", 0)},
      {5, "nccl:all_reduce", kCollective, {4}, 90, all_reduce_of(1000)},
      {6, "gemm", kCompute, {4}, 80, attribute("is_cpu_op", 0)},
      {7, "nccl:all_reduce", kCollective, {6, 5}, 90, all_reduce_of(3000)},
      {8, "Optimizer.step", kCompute, {7}, 50, attribute("is_cpu_op", 0)}};
  const Model model = parse_model(trace(nodes), "torch.et");
  ASSERT_EQ(model.layers.size(), 2U);
  EXPECT_NEAR(model.layers[0].forward, 40e-6, 1e-12);
  EXPECT_NEAR(model.layers[0].backward, 80e-6, 1e-12);
  EXPECT_EQ(model.layers[0].tensors, std::vector<std::uint64_t>{3000});
  EXPECT_NEAR(model.layers[1].forward, 20e-6, 1e-12);
  EXPECT_EQ(model.layers[1].tensors, std::vector<std::uint64_t>{1000});
}

TEST(ChakraModels, ComputeOperationsAsTheMachineDoes) {
  const std::string file = trace(
      {{0, "fwd", kCompute, {}, 0, attribute("num_ops", 2'000'000)},
       {1, "bwd", kCompute, {0}, 0, attribute("num_ops", 1000) + attribute("tensor_size", 5000)},
       {2, "sum", kCollective, {1}, 0, all_reduce_of(64)}});
  const Model model = parse_model(file, "x.et", {.flops = 1e12, .memory = 1e9});
  ASSERT_EQ(model.layers.size(), 1U);
  EXPECT_DOUBLE_EQ(model.layers[0].forward, 2e-6);
  EXPECT_DOUBLE_EQ(model.layers[0].backward, 5e-6);
  expect_refusal(file, "expected the machine's operations a second (--flops)",
                 ErrorCode::InvalidArgument);
}

TEST(ChakraModels, SayWhereTracesAreWrong) {
  const auto with = [](std::size_t n, auto change) {
    std::vector<Node> nodes = pass(0, {});
    change(nodes[n]);
    return trace(nodes);
  };
  expect_refusal(with(3, [](Node& n) { n.attributes = attribute("comm_type", 2); }),
                 "x.et: node 3 ('COMM_COLL_NODE_b'): expected an all-reduce (0)");
  expect_refusal(with(3, [](Node& n) { n.type = kSend; }), "node 3 ('COMM_COLL_NODE_b'): expected");
  expect_refusal(with(3, [](Node& n) { n.after = {}; }), "behind a backward pass");
  expect_refusal(with(3, [](Node& n) { n.after = {77}; }), "depends on node 77");
  expect_refusal(with(2, [](Node& n) { n.after = {5}; }), "depends on itself");
  expect_refusal(with(2, [](Node& n) { n.id = 1; }),
                 "node 1 ('COMP_NODE_b_BWD_WG'): expected an id");
  expect_refusal(with(3, [](Node& n) { n.attributes = attribute("comm_size", ~std::uint64_t{0}); }),
                 "attribute 'comm_size': expected a number from 0");
  expect_refusal(trace({{0, "COMP_NODE_a_FWD", kCompute, {}, 10}}), "computing of a backward pass");
  expect_refusal(with(3, [](Node& n) { n = {3, "Ähre\n", kSend}; }), "node 3 ('Ähre?')");
  expect_refusal(with(3, [](Node& n) { n = {3, "a\xff", kSend}; }), "node 3 ('a?')");
  expect_refusal(trace({}) + std::string("\x05\x08\0", 3), "message 2: expected 5 bytes, found 2");
}

/// Cut off anywhere, and with any byte changed: a model, or words.
TEST(ChakraModels, OfDamagedTracesAreRefusedInWords) {
  const std::string whole = trace(pass(0, {}));
  const auto read = [](const std::string& file) {
    try {
      (void)parse_model(file, "x.et");
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("x.et:"));
    }
  };
  for (std::size_t size = 0; size < whole.size(); ++size) read(whole.substr(0, size));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {1, 0x10, 0x80}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      read(damaged);
    }
  }
}

}  // namespace
}  // namespace multitree::training
