// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Chakra execution traces: a send, a receive and, for a reduction, a computation for each message.
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <map>
#include <tuple>

#include "algorithms/interchange/rank_operations_internal.hpp"
#include "chakra.pb.h"
#include "topologies/error.hpp"

namespace multitree {
namespace {

using namespace interchange;
namespace pb = google::protobuf::io;

constexpr std::uint64_t kNoNode = UINT64_MAX;

/// A file: messages, each after its length.
class TraceFile {
 public:
  void write(const google::protobuf::MessageLite& message) {
    pb::StringOutputStream stream(&text_);
    pb::CodedOutputStream coded(&stream);
    coded.WriteVarint32(static_cast<std::uint32_t>(message.ByteSizeLong()));
    message.SerializeWithCachedSizes(&coded);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }
  std::uint64_t nodes = 0;

 private:
  std::string text_;
};

chakra::Node new_node(TraceFile& file, chakra::NodeType type, std::string name) {
  chakra::Node node;
  node.set_id(file.nodes++);
  node.set_name(std::move(name));
  node.set_type(type);
  chakra::Attribute* attribute = node.add_attributes();
  attribute->set_name("is_cpu_op");
  attribute->set_bool_value(false);
  return node;
}

void set_message(chakra::Node& node, const char* peer_name, Rank peer, std::uint64_t bytes,
                 std::int32_t tag) {
  const auto add = [&](const char* name) {
    chakra::Attribute* attribute = node.add_attributes();
    attribute->set_name(name);
    return attribute;
  };
  add("comm_type")->set_int64_value(node.type());
  add("comm_size")->set_int64_value(static_cast<std::int64_t>(bytes));
  add(peer_name)->set_int32_value(static_cast<std::int32_t>(index(peer)));
  add("comm_tag")->set_int32_value(tag);
}

chakra::Metadata metadata(const Schedule& schedule) {
  chakra::Metadata result;
  result.set_version("0.0.4");
  const auto add = [&](const char* name, std::string_view value) {
    chakra::Attribute* attribute = result.add_attributes();
    attribute->set_name(name);
    attribute->set_string_value(std::string(value));
  };
  add("schema", "1.0.2-chakra.0.0.4");
  add("collective", to_string(schedule.collective));
  add("algorithm", schedule.algorithm);
  return result;
}

/// Writes the nodes of all ranks, in an order in which they could run.
class Tracer {
 public:
  Tracer(const Schedule& schedule, std::uint64_t bytes)
      : schedule_(schedule),
        ranges_(chunk_ranges(schedule, bytes)),
        values_(std::size_t{schedule.ranks} * schedule.chunks.size(), kNoNode),
        files_(schedule.ranks) {
    for (TraceFile& file : files_) file.write(metadata(schedule));
  }

  std::vector<std::string> run() {
    const RankOperations all =
        rank_operations(schedule_, unit_layout(schedule_), BufferMode::OutOfPlace);
    for (const Operation& o : all.operations) {
      if (o.action == Action::CopyLocal) continue;  // costs nothing that is modelled
      o.action == Action::Send ? send(o) : receive(o);
    }
    std::vector<std::string> texts;
    for (TraceFile& file : files_) texts.push_back(file.take());
    return texts;
  }

 private:
  /// The node that made the rank's value of the chunk; kNoNode: it is its input.
  std::uint64_t& value(Rank rank, std::uint32_t chunk) {
    return values_[std::size_t{index(rank)} * schedule_.chunks.size() + chunk];
  }

  /// chunk + chunks * (how many messages of it went from src to dst before): a tag is used once.
  std::int32_t tag(Rank src, const Operation& o, Rank dst) {
    const std::uint64_t before = messages_[{o.action, src, dst, o.chunk}]++;
    const std::uint64_t result = o.chunk + before * schedule_.chunks.size();
    if (result > INT32_MAX) {
      throw Error(ErrorCode::Unsupported,
                  "chakra: expected at most 2^31 different messages between "
                  "two ranks, got more");
    }
    return static_cast<std::int32_t>(result);
  }

  void send(const Operation& o) {
    TraceFile& file = files_[index(o.rank)];
    chakra::Node node = new_node(file, chakra::SEND,
                                 fmt::format("COMM_SEND_NODE_{}_to_{}", o.chunk, index(o.peer)));
    if (const auto made = value(o.rank, o.chunk); made != kNoNode) node.add_data_dependences(made);
    set_message(node, "comm_dst", o.peer, ranges_[o.chunk].count, tag(o.rank, o, o.peer));
    file.write(node);
  }

  void receive(const Operation& o) {
    TraceFile& file = files_[index(o.rank)];
    chakra::Node node = new_node(file, chakra::RECEIVE,
                                 fmt::format("COMM_RECV_NODE_{}_from_{}", o.chunk, index(o.peer)));
    set_message(node, "comm_src", o.peer, ranges_[o.chunk].count, tag(o.peer, o, o.rank));
    file.write(node);
    std::uint64_t& made = value(o.rank, o.chunk);
    if (o.action == Action::Receive) {
      made = node.id();
      return;
    }
    chakra::Node sum = new_node(file, chakra::COMPUTE, fmt::format("COMP_NODE_{}_reduce", o.chunk));
    sum.add_data_dependences(node.id());
    if (made != kNoNode) sum.add_data_dependences(made);
    file.write(sum);
    made = sum.id();
  }

  const Schedule& schedule_;
  std::vector<ElementRange> ranges_;
  std::vector<std::uint64_t> values_;  // of each rank and chunk
  std::vector<TraceFile> files_;
  std::map<std::tuple<Action, Rank, Rank, std::uint32_t>, std::uint64_t> messages_;
};

}  // namespace

std::vector<std::string> write_chakra_traces(const Schedule& schedule, std::uint64_t bytes) {
  expect_no_switches_at_work(schedule, "Chakra traces");
  if (bytes > INT64_MAX) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected a size below 2^63 bytes, got {}", bytes));
  }
  for (const ElementRange& range : chunk_ranges(schedule, bytes)) {
    if (range.count == 0) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("expected at least a byte for each of the {} chunks, got {} bytes",
                              schedule.chunks.size(), bytes));
    }
  }
  return Tracer(schedule, bytes).run();
}

}  // namespace multitree
