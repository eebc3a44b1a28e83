// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Chakra execution traces: messages, each after its length; the first is about the trace.
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <unordered_map>

#include "algorithms/interchange/chakra_internal.hpp"
#include "chakra.pb.h"
#include "topologies/error.hpp"
#include "topologies/utf8_internal.hpp"

namespace multitree {
namespace {

/// What counts may be, so that sums of them are far from leaving 64 bits.
constexpr double kMostBytes = 1e15;

[[noreturn]] void fail(const std::string& file, const std::string& what) {
  throw Error(ErrorCode::InvalidInput, file + ": " + what);
}

[[noreturn]] void fail(const std::string& file, const ChakraNode& node, const std::string& what) {
  fail(file, fmt::format("node {} ('{}'): {}", node.id, node.name, what));
}

/// Messages of a file, one after the other.
class Messages {
 public:
  Messages(std::string_view text, const std::string& file) : left_(text), file_(file) {}

  [[nodiscard]] bool is_at_end() const { return left_.empty(); }
  void next(google::protobuf::MessageLite& message) {
    ++number_;
    const auto size = take_size(left_);
    if (!size || *size > left_.size()) {
      fail(file_, fmt::format("message {}: expected {} bytes, found {}", number_,
                              size ? fmt::format("{}", *size) : "its length in", left_.size()));
    }
    if (!message.ParseFromArray(left_.data(), static_cast<int>(*size))) {
      fail(file_, fmt::format("message {}: expected a Chakra {}, found {} other bytes", number_,
                              number_ == 1 ? "header" : "node", *size));
    }
    left_.remove_prefix(*size);
  }
  /// Of the next message, taken off the text; none if the text has no such number.
  static std::optional<std::size_t> take_size(std::string_view& text) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < text.size() && i < 5; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      size |= std::size_t{byte & 0x7fU} << (7 * i);
      if ((byte & 0x80U) != 0) continue;
      if (size > std::size_t{std::numeric_limits<int>::max()}) return std::nullopt;
      text.remove_prefix(i + 1);
      return size;
    }
    return std::nullopt;
  }

 private:
  std::string_view left_;
  const std::string& file_;
  std::size_t number_ = 0;
};

double number_of(const chakra::Attribute& attribute) {
  using Value = chakra::Attribute::ValueCase;
  switch (attribute.value_case()) {
    case Value::kDoubleValue:
      return attribute.double_value();
    case Value::kFloatValue:
      return attribute.float_value();
    case Value::kInt32Value:
      return attribute.int32_value();
    case Value::kInt64Value:
      return static_cast<double>(attribute.int64_value());
    case Value::kUint32Value:
      return attribute.uint32_value();
    case Value::kUint64Value:
      return static_cast<double>(attribute.uint64_value());
    case Value::kBoolValue:
      return attribute.bool_value() ? 1 : 0;
    default:
      return std::nan("");
  }
}

ChakraKind kind_of(const chakra::Node& node) {
  switch (node.type()) {
    case chakra::COMPUTE:
      return ChakraKind::Compute;
    case chakra::SEND:
    case chakra::RECEIVE:
      return ChakraKind::Message;
    case chakra::COLLECTIVE:
      return ChakraKind::Collective;
    default:
      return ChakraKind::Other;
  }
}

/// As it can be printed.
std::string name_of(const chakra::Node& read) {
  std::string name = read.name();
  const bool is_text = utf8_error(name) == name.size();
  for (char& byte : name) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < ' ' || (code > '~' && !is_text)) byte = '?';
  }
  return name;
}

ChakraNode node_of(const chakra::Node& read, const std::string& file) {
  ChakraNode node{.id = read.id(), .name = name_of(read), .kind = kind_of(read), .after = {}};
  node.seconds = static_cast<double>(read.microseconds()) / 1e6;
  for (const chakra::Attribute& attribute : read.attributes()) {
    const std::string& name = attribute.name();
    const bool counts =
        name == "comm_type" || name == "comm_size" || name == "num_ops" || name == "tensor_size";
    if (!counts && name != "is_cpu_op") continue;
    const double value = number_of(attribute);
    if (!(value >= 0) || (value > kMostBytes && name != "num_ops") || !std::isfinite(value)) {
      fail(file, node,
           fmt::format("attribute '{}': expected a number from 0 to 10^15, found {}", name, value));
    }
    if (name == "is_cpu_op") node.on_cpu = value != 0;
    if (name == "comm_type") node.collective = static_cast<std::uint64_t>(value);
    if (name == "comm_size") node.bytes = static_cast<std::uint64_t>(value);
    if (name == "num_ops") node.operations = value;
    if (name == "tensor_size") node.moved_bytes = value;
  }
  return node;
}

/// By what they are after; of what could be next, the first in the file.
std::vector<ChakraNode> in_order(std::vector<ChakraNode> nodes, const std::string& file) {
  const auto count = static_cast<std::uint32_t>(nodes.size());
  std::vector<std::vector<std::uint32_t>> before(count);
  std::vector<std::size_t> awaited(count);
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> next;
  for (std::uint32_t n = 0; n < count; ++n) {
    awaited[n] = nodes[n].after.size();
    if (awaited[n] == 0) next.push(n);
    for (const std::uint32_t earlier : nodes[n].after) before[earlier].push_back(n);
  }
  std::vector<std::uint32_t> places(count, count);
  std::vector<ChakraNode> ordered;
  ordered.reserve(count);
  while (!next.empty()) {
    const std::uint32_t n = next.top();
    next.pop();
    places[n] = static_cast<std::uint32_t>(ordered.size());
    for (std::uint32_t& earlier : nodes[n].after) earlier = places[earlier];
    ordered.push_back(std::move(nodes[n]));
    for (const std::uint32_t later : before[n]) {
      if (--awaited[later] == 0) next.push(later);
    }
  }
  const auto stuck = std::ranges::find(places, count);
  if (stuck != places.end()) {
    fail(file, nodes[static_cast<std::size_t>(stuck - places.begin())],
         "expected an order in which nodes can run, found that it depends on itself");
  }
  return ordered;
}

}  // namespace

bool is_chakra_trace(std::string_view text) {
  constexpr unsigned char kLeastOfText = '\t', kVersion = 0x0a, kAttribute = 0x12;
  const bool is_binary = std::ranges::any_of(
      text, [](char byte) { return static_cast<unsigned char>(byte) < kLeastOfText; });
  const auto size = Messages::take_size(text);
  if (!is_binary || !size || *size > text.size()) return false;
  if (*size == 0) return true;
  const auto field = static_cast<unsigned char>(text.front());
  return field == kVersion || field == kAttribute;
}

std::vector<ChakraNode> parse_chakra_trace(std::string_view text, const std::string& file) {
  Messages messages(text, file);
  chakra::Metadata header;
  messages.next(header);
  std::vector<ChakraNode> nodes;
  std::vector<std::vector<std::uint64_t>> after;  // ids
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  while (!messages.is_at_end()) {
    chakra::Node read;
    messages.next(read);
    nodes.push_back(node_of(read, file));
    auto& ids = after.emplace_back(read.data_dependences().begin(), read.data_dependences().end());
    ids.insert(ids.end(), read.control_dependences().begin(), read.control_dependences().end());
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    const auto number = static_cast<std::uint32_t>(nodes.size() - 1);
    if (!numbers.emplace(read.id(), number).second) {
      fail(file, nodes.back(), "expected an id for each node, found it twice");
    }
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (const std::uint64_t id : after[n]) {
      const auto found = numbers.find(id);
      if (found == numbers.end()) {
        fail(file, nodes[n], fmt::format("it depends on node {}, which is not there", id));
      }
      nodes[n].after.push_back(found->second);
    }
  }
  return in_order(std::move(nodes), file);
}

}  // namespace multitree
