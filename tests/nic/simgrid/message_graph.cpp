// SPDX-License-Identifier: BSD-3-Clause
#include "tests/nic/simgrid/message_graph.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace multitree::test {
namespace {

constexpr std::uint64_t kElementBytes = 4;

std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

/// Numbers the routes of a schedule, pair by pair.
class Lanes {
 public:
  explicit Lanes(MessageGraph& graph) : graph_(graph) {}

  std::size_t find_or_add(Rank src, Rank dst, std::span<const LinkId> route) {
    std::vector<std::size_t>& lanes = of_pair_[{src, dst}];
    for (const std::size_t lane : lanes) {
      if (std::ranges::equal(graph_.lanes[lane].route, route)) return lane;
    }
    const auto number = static_cast<std::uint32_t>(lanes.size());
    graph_.lanes.push_back({src, dst, number, {route.begin(), route.end()}});
    graph_.lane_numbers = std::max(graph_.lane_numbers, number + 1);
    lanes.push_back(graph_.lanes.size() - 1);
    return lanes.back();
  }

 private:
  MessageGraph& graph_;
  std::map<std::pair<Rank, Rank>, std::vector<std::size_t>> of_pair_;
};

/// Of one step, or of all steps: which messages bring a chunk to a rank.
using Arrivals = std::map<std::pair<Rank, std::uint32_t>, std::vector<std::size_t>>;

void add_needs(const Schedule& schedule, std::vector<Message>& messages) {
  Arrivals arrivals;
  const auto& transfers = schedule.transfers;
  for (std::size_t first = 0, end = 0; first < transfers.size(); first = end) {
    // Transfers of one step read what was there before it, so they are entered after all of them.
    for (; end < transfers.size() && transfers[end].step == transfers[first].step; ++end) {
      const auto found = arrivals.find({transfers[end].src, transfers[end].chunk});
      if (found != arrivals.end()) messages[end].needs = found->second;
    }
    for (std::size_t i = first; i < end; ++i) {
      arrivals[{transfers[i].dst, transfers[i].chunk}].push_back(i);
    }
  }
}

}  // namespace

std::uint64_t wire_bytes(std::uint64_t payload, const FlowControl& flow_control) {
  if (payload == 0) return 0;
  const std::uint64_t headers =
      flow_control.packet_bytes == 0 ? 1 : divide_up(payload, flow_control.packet_bytes);
  return (divide_up(payload, flow_control.flit_bytes) + headers) * flow_control.flit_bytes;
}

MessageGraph build_message_graph(const Schedule& schedule, std::uint64_t bytes,
                                 const FlowControl& flow_control) {
  MessageGraph graph;
  Lanes lanes(graph);
  std::map<std::pair<Rank, LinkId>, std::size_t> last_of_queue;
  const std::vector<ElementRange> ranges = chunk_ranges(schedule, bytes / kElementBytes);
  for (const Transfer& t : schedule.transfers) {
    const std::span<const LinkId> route = schedule.route(t);
    Message message;
    message.bytes = wire_bytes(ranges[t.chunk].count * kElementBytes, flow_control);
    message.lane = lanes.find_or_add(t.src, t.dst, route);
    const auto [last, is_first] =
        last_of_queue.try_emplace({t.src, route.front()}, graph.messages.size());
    if (!is_first) message.behind = std::exchange(last->second, graph.messages.size());
    graph.messages.push_back(std::move(message));
  }
  add_needs(schedule, graph.messages);
  return graph;
}

}  // namespace multitree::test
