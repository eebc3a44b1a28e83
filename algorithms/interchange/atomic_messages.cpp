// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// List scheduling of messages under exact read and write orders.
#include "algorithms/interchange/atomic_messages_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/strong_components.hpp>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "algorithms/generators/link_calendar_internal.hpp"
#include "algorithms/routing.hpp"

namespace multitree::interchange {
namespace {

/// step(to) >= step(from) + gap.
struct Order {
  std::uint32_t from = 0, to = 0, gap = 0;
};

bool is_message(std::uint32_t value) { return value < AtomicMessage::kNothing; }

/// All orders between messages; see Schedule for the meaning of a step.
std::vector<Order> orders(std::span<const AtomicMessage> messages) {
  std::vector<Order> result;
  std::vector<std::vector<std::uint32_t>> readers(messages.size());
  std::map<std::pair<Rank, std::uint32_t>, std::vector<std::uint32_t>> input_readers;
  for (std::uint32_t m = 0; m < messages.size(); ++m) {
    const AtomicMessage& message = messages[m];
    if (is_message(message.reads)) {
      result.push_back({message.reads, m, 1});
      readers[message.reads].push_back(m);
    } else {
      input_readers[{message.src, message.chunk}].push_back(m);
    }
    if (is_message(message.after)) {
      const AtomicMessage& before = messages[message.after];
      const bool in_order =
          std::tuple(before.chunk, before.op) < std::tuple(message.chunk, message.op);
      result.push_back({message.after, m, in_order ? 0U : 1U});
    }
  }
  for (std::uint32_t m = 0; m < messages.size(); ++m) {
    const AtomicMessage& message = messages[m];
    if (message.overwrites == AtomicMessage::kNothing) continue;
    const bool input = message.overwrites == AtomicMessage::kInitial;
    const auto& before =
        input ? input_readers[{message.dst, message.chunk}] : readers[message.overwrites];
    for (const std::uint32_t reader : before) {
      if (reader != m) result.push_back({reader, m, 0});
    }
    if (input) continue;
    // Reductions of one step are done in the order of their sources.
    const AtomicMessage& writer = messages[message.overwrites];
    const bool together =
        message.op == Op::Reduce && writer.op == Op::Reduce && writer.src < message.src;
    result.push_back({message.overwrites, m, together ? 0U : 1U});
  }
  return result;
}

using Graph = boost::compressed_sparse_row_graph<boost::directedS>;

/// The messages that must be in one step, as a swap's two: strong components of the orders.
std::vector<std::uint32_t> groups(std::size_t messages, const std::vector<Order>& all) {
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  edges.reserve(all.size());
  for (const Order& order : all) edges.emplace_back(order.from, order.to);
  const Graph graph(boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), messages);
  std::vector<std::uint32_t> component(messages, 0);
  boost::strong_components(
      graph, boost::make_iterator_property_map(component.begin(), get(boost::vertex_index, graph)));
  return component;
}

class Scheduler {
 public:
  Scheduler(Schedule header, std::span<const AtomicMessage> messages, const Topology& topology,
            const std::function<void(std::uint32_t, const std::string&)>& fail)
      : schedule_(std::move(header)),
        messages_(messages),
        topology_(topology),
        fail_(fail),
        router_(topology),
        calendar_(topology) {}

  Schedule run() {
    const std::vector<Order> all = orders(messages_);
    group_of_ = groups(messages_.size(), all);
    collect(all);
    // By (earliest step, first message).
    using Entry = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (std::uint32_t g = 0; g < members_.size(); ++g) {
      if (waits_[g] == 0) ready.emplace(0, members_[g].front(), g);
    }
    while (!ready.empty()) {
      const std::uint32_t group = std::get<2>(ready.top());
      ready.pop();
      const std::uint32_t step = place(group);
      for (const auto& [to, gap] : next_[group]) {
        earliest_[to] = std::max(earliest_[to], step + gap);
        if (--waits_[to] == 0) ready.emplace(earliest_[to], members_[to].front(), to);
      }
    }
    schedule_.canonicalize();
    return std::move(schedule_);
  }

 private:
  void collect(const std::vector<Order>& all) {
    const std::size_t count =
        group_of_.empty() ? 0 : std::size_t{*std::ranges::max_element(group_of_)} + 1;
    members_.resize(count);
    next_.resize(count);
    waits_.assign(count, 0);
    earliest_.assign(count, 0);
    for (std::uint32_t m = 0; m < messages_.size(); ++m) members_[group_of_[m]].push_back(m);
    for (const Order& order : all) {
      const std::uint32_t from = group_of_[order.from], to = group_of_[order.to];
      if (from != to) {
        next_[from].emplace_back(to, order.gap);
        ++waits_[to];
      } else if (order.gap > 0) {
        fail_(order.to,
              "no order of steps has this message both before and after others, as sends "
              "of values that are overwritten before they are received need");
      }
    }
  }

  /// The first step from the group's earliest on that has routes for all of it.
  std::uint32_t place(std::uint32_t group) {
    for (std::uint32_t step = earliest_[group];; ++step) {
      if (route_all(members_[group], step)) {
        for (std::size_t i = 0; i < members_[group].size(); ++i) {
          const AtomicMessage& m = messages_[members_[group][i]];
          calendar_.take(routes_[i], step);
          schedule_.add(step, m.op, m.chunk, m.src, m.dst, routes_[i]);
        }
        horizon_ = std::max(horizon_, step + 1);
        return step;
      }
      if (step >= horizon_) {
        fail_(
            members_[group].front(),
            fmt::format("this message and {} others must go at once, and {} has no routes for all "
                        "of them",
                        members_[group].size() - 1, topology_.name()));
      }
    }
  }

  bool route_all(const std::vector<std::uint32_t>& members, std::uint32_t step) {
    routes_.resize(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      const AtomicMessage& m = messages_[members[i]];
      const auto usable = [&](LinkId link) {
        std::uint32_t taken = 0;
        for (std::size_t j = 0; j < i; ++j) {
          taken += static_cast<std::uint32_t>(std::ranges::count(routes_[j], link));
        }
        return calendar_.room(link, step) > taken;
      };
      if (!router_.find(topology_.node_of(m.src), topology_.node_of(m.dst), usable, routes_[i])) {
        return false;
      }
    }
    return true;
  }

  Schedule schedule_;
  std::span<const AtomicMessage> messages_;
  const Topology& topology_;
  const std::function<void(std::uint32_t, const std::string&)>& fail_;
  Router router_;
  LinkCalendar calendar_;
  std::uint32_t horizon_ = 0;  // one past the last step that is used
  std::vector<std::uint32_t> group_of_;
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> next_;  // group, gap
  std::vector<std::uint32_t> waits_, earliest_;
  std::vector<std::vector<LinkId>> routes_;
};

}  // namespace

Schedule schedule_messages(Schedule header, std::span<const AtomicMessage> messages,
                           const Topology& topology,
                           const std::function<void(std::uint32_t, const std::string&)>& fail) {
  return Scheduler(std::move(header), messages, topology, fail).run();
}

}  // namespace multitree::interchange
