// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages of all ranks put together: what one has sent, another received.
#include "tools/run/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>

#include "tools/simulate/arrows.hpp"

namespace multitree::tools {

using runtime::Event;

/// A message from its sender's posting to its arrival.
struct RunTimeline::Message {
  std::uint32_t transfer = 0, segment = 0;
  std::uint64_t bytes = 0;
  std::uint64_t posted = 0, sent = 0, arrived = 0;  ///< on the time axis
};

namespace {

const std::string& name_of(const Topology& network, Rank rank) {
  return network.node(network.node_of(rank)).name;
}

/// The port of a simulated interface that the transfer would leave by: a port for each link.
std::size_t port_of(const Schedule& schedule, const Transfer& transfer, const Topology& network) {
  const auto route = schedule.route(transfer);
  if (route.empty()) return 0;
  const auto links = network.out_links(network.node_of(transfer.src));
  return static_cast<std::size_t>(std::ranges::find(links, route.front()) - links.begin());
}

std::string label_of(const Schedule& schedule, const Transfer& transfer) {
  return fmt::format("{} flow {}", transfer.op == Op::Reduce ? "reduce" : "gather",
                     schedule.chunks[transfer.chunk].tree);
}

std::string_view words_of(Event::Kind kind) {
  static constexpr std::array<std::string_view, 8> kWords = {
      "message", "message", "reduce", "copy", "copy in", "sum", "copy out", "wait"};
  return kWords.at(static_cast<std::size_t>(kind));
}

}  // namespace

void RunTimeline::begin_iteration(const TracedIteration& iteration) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  for (const auto& events : iteration.events) {
    for (const Event& event : events) {
      first = std::min(first, event.begin_ns);
      last = std::max(last, event.end_ns);
    }
  }
  if (first > last) first = last = 0;  // nothing happened
  const auto length = static_cast<std::uint64_t>(last - first);
  base_ = end_ == 0 ? 0 : end_ + std::max<std::uint64_t>(length / 10, 1000);
  end_ = base_ + length;
  origin_ = first;
  const std::uint32_t row = lanes_.track("run", "iterations", base_, end_);
  trace_.add_span(row, iteration.title, static_cast<double>(base_), static_cast<double>(end_),
                  {{"clock_error_ns", iteration.clock_error_ns}, {"events_lost", iteration.lost}});
}

std::uint64_t RunTimeline::at(std::int64_t ns) const {
  return base_ + static_cast<std::uint64_t>(std::max<std::int64_t>(ns - origin_, 0));
}

std::uint32_t RunTimeline::track(const Bar& bar) {
  return lanes_.track(bar.group, bar.name, bar.begin, bar.end);
}

std::uint64_t RunTimeline::add_message(const Message& message, const Bar& bar,
                                       const Schedule& schedule) {
  const Transfer& t = schedule.transfers[message.transfer];
  return trace_.add_span(track(bar), bar.label, static_cast<double>(bar.begin),
                         static_cast<double>(bar.end),
                         {{"src", index(t.src)},
                          {"dst", index(t.dst)},
                          {"step", t.step},
                          {"piece", message.segment},
                          {"bytes", message.bytes},
                          {"chunk", t.chunk},
                          {"tree", schedule.chunks[t.chunk].tree}});
}

void RunTimeline::add_sends(const std::vector<Message>& messages, const Schedule& schedule,
                            const Topology& network) {
  std::vector<nic::MessageRecord> records;
  std::vector<std::uint64_t> span_of;
  std::vector<std::tuple<Rank, std::size_t, std::uint64_t, const Message*>> order;
  for (const Message& message : messages) {
    const Transfer& t = schedule.transfers[message.transfer];
    order.emplace_back(t.src, port_of(schedule, t, network), message.posted, &message);
  }
  std::ranges::stable_sort(order, {}, [](const auto& o) {
    return std::tuple(std::get<0>(o), std::get<1>(o), std::get<2>(o));
  });
  for (const auto& [src, port, posted, message] : order) {
    const Transfer& t = schedule.transfers[message->transfer];
    span_of.push_back(
        add_message(*message,
                    {"interfaces", fmt::format("{} port {}", name_of(network, src), port),
                     label_of(schedule, t), posted, message->sent},
                    schedule));
    records.push_back({t.src, t.dst, t.op, t.step, t.chunk, message->segment, message->bytes,
                       posted, message->arrived});
  }
  add_arrows(trace_, records, span_of);
}

void RunTimeline::add_links(const std::vector<Message>& messages, const Schedule& schedule,
                            const Topology& network) {
  std::vector<std::tuple<LinkId, std::uint64_t, const Message*>> order;
  for (const Message& message : messages) {
    for (const LinkId link : schedule.route(schedule.transfers[message.transfer])) {
      order.emplace_back(link, message.posted, &message);
    }
  }
  std::ranges::stable_sort(
      order, {}, [](const auto& o) { return std::tuple(std::get<0>(o), std::get<1>(o)); });
  for (const auto& [id, posted, message] : order) {
    const Link& link = network.link(id);
    const std::string name =
        fmt::format("{}->{}", network.node(link.src).name, network.node(link.dst).name);
    const std::string label = label_of(schedule, schedule.transfers[message->transfer]);
    add_message(*message, {"links", name, label, posted, message->arrived}, schedule);
  }
}

/// What a rank receives, and what it does with it.
void RunTimeline::add_rank_rows(const std::vector<Message>& messages,
                                const TracedIteration& iteration, const Schedule& schedule,
                                const Topology& network) {
  std::vector<std::tuple<Rank, std::uint64_t, const Message*>> order;
  for (const Message& message : messages) {
    order.emplace_back(schedule.transfers[message.transfer].dst, message.posted, &message);
  }
  std::ranges::stable_sort(
      order, {}, [](const auto& o) { return std::tuple(std::get<0>(o), std::get<1>(o)); });
  for (const auto& [dst, posted, message] : order) {
    const std::string label = label_of(schedule, schedule.transfers[message->transfer]);
    add_message(*message,
                {"ranks", name_of(network, dst) + " receives", label, posted, message->arrived},
                schedule);
  }
  for (std::uint32_t r = 0; r < iteration.events.size(); ++r) {
    for (const Event& e : iteration.events[r]) {
      if (e.kind != Event::Kind::Reduce && e.kind != Event::Kind::Copy) continue;
      add_message({e.transfer, e.segment, e.bytes},
                  {"ranks", name_of(network, Rank{r}) + " reduces", std::string(words_of(e.kind)),
                   at(e.begin_ns), at(e.end_ns)},
                  schedule);
    }
  }
}

void RunTimeline::add(const TracedIteration& iteration, const Schedule& schedule,
                      const Topology& network) {
  begin_iteration(iteration);
  std::map<std::pair<std::uint32_t, std::uint32_t>, Message> by_name;  // transfer, segment
  for (const auto& events : iteration.events) {
    for (const Event& e : events) {
      if (e.kind != Event::Kind::Send || e.transfer >= schedule.transfers.size()) continue;
      by_name[{e.transfer, e.segment}] = {e.transfer,     e.segment,    e.bytes,
                                          at(e.begin_ns), at(e.end_ns), at(e.end_ns)};
    }
  }
  for (const auto& events : iteration.events) {
    for (const Event& e : events) {
      if (e.kind != Event::Kind::Receive) continue;
      const auto sent = by_name.find({e.transfer, e.segment});
      // Where clocks are not known exactly, it may seem to have come before it was sent.
      if (sent != by_name.end()) {
        sent->second.arrived = std::max(sent->second.posted, at(e.end_ns));
      }
    }
  }
  std::vector<Message> messages;
  for (const auto& [name, message] : by_name) messages.push_back(message);
  add_sends(messages, schedule, network);
  add_links(messages, schedule, network);
  add_rank_rows(messages, iteration, schedule, network);
}

void RunTimeline::add(const TracedIteration& iteration, const Topology& network) {
  begin_iteration(iteration);
  for (std::uint32_t r = 0; r < iteration.events.size(); ++r) {
    std::vector<Event> events = iteration.events[r];
    std::ranges::stable_sort(events, {}, &Event::begin_ns);
    for (const Event& e : events) {
      const Bar bar{"ranks", name_of(network, Rank{r}), std::string(words_of(e.kind)),
                    at(e.begin_ns), at(e.end_ns)};
      trace_.add_span(track(bar), bar.label, static_cast<double>(bar.begin),
                      static_cast<double>(bar.end),
                      {{"rank", r}, {"part", e.segment}, {"bytes", e.bytes}});
    }
  }
}

}  // namespace multitree::tools
