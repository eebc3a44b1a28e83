// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// List scheduling of trees in exact time: whenever a link is free it serves, of the transfers that
/// wait for it, the most urgent one.
#include "algorithms/packing/steps/time_trees.hpp"

#include <algorithm>
#include <compare>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "algorithms/packing/steps/tree_plan_internal.hpp"

namespace multitree {
namespace {

/// A transfer that has its data and waits for a link.
struct Ready {
  Ticks urgency = 0;  // least first
  std::uint32_t chunk = 0, arc = 0;
  auto operator<=>(const Ready&) const = default;
};

/// Where transfers wait: for the first link of their route to be free, or for one further on, which
/// may take them earlier (slack_of()); or for their sender to have sent another message. Two gates
/// a link, and behind those one a rank.
using Gate = std::uint32_t;
constexpr Gate start_gate(LinkId link) { return 2 * index(link); }
constexpr Gate passing_gate(LinkId link) { return 2 * index(link) + 1; }
constexpr Gate kOpen = ~Gate{0};

/// What happens at one time.
struct Events {
  std::vector<Turn> received;
  std::vector<Gate> opened;
};

/// By link: how much longer than a transfer's first link it may be busy with others, chunks waiting
/// in front of it meanwhile. It is what the slowest chunk on routes over it takes longer than the
/// fastest one: a fast link fills the queue of a slow one, and catches up with a slow one. And so
/// many `queues` of the slowest chunk more.
std::vector<Ticks> slack_of_links(const PackingPlan& plan, std::uint32_t queues) {
  struct Range {
    Ticks least = std::numeric_limits<Ticks>::max(), most = 0;
  };
  std::vector<Range> ranges(plan.topology.num_links());
  for (std::uint32_t t = 0; t < plan.trees.size(); ++t) {
    const std::uint64_t weight = plan.chunking.chunks[plan.chunking.first[t]].weight;
    for (const ArcGroup& arc : plan.trees[t].arcs) {
      Range range;
      for (const LinkId link : arc.links) {
        const Ticks time = plan.clock.time(weight, link);
        range = {std::min(range.least, time), std::max(range.most, time)};
      }
      for (const LinkId link : arc.links) {
        Range& whole = ranges[index(link)];
        whole = {std::min(whole.least, range.least), std::max(whole.most, range.most)};
      }
    }
  }
  std::vector<Ticks> slack;
  for (const Range& range : ranges) {
    slack.push_back(std::max<Ticks>(0, range.most - range.least) + queues * range.most);
  }
  return slack;
}

/// Time of the busiest link.
Ticks busiest_time(const PackingPlan& plan) {
  std::vector<Ticks> busy(plan.topology.num_links(), 0);
  Ticks busiest = 1;
  for (std::uint32_t t = 0; t < plan.trees.size(); ++t) {
    const std::uint32_t first = plan.chunking.first[t];
    const Ticks chunks = plan.chunking.first[t + 1] - first;
    for (const ArcGroup& arc : plan.trees[t].arcs) {
      for (const LinkId link : arc.links) {
        busy[index(link)] += chunks * plan.clock.time(plan.chunking.chunks[first].weight, link);
        busiest = std::max(busiest, busy[index(link)]);
      }
    }
  }
  return busiest;
}

class ListScheduler {
 public:
  ListScheduler(const PackingPlan& plan, std::uint32_t queues)
      : plan_(plan),
        slack_(slack_of_links(plan, queues)),
        busiest_(busiest_time(plan)),
        free_(plan.topology.num_links(), 0),
        senders_(plan.packing.ranks, 0),
        queues_(2 * std::size_t{plan.topology.num_links()} + plan.packing.ranks),
        is_due_(queues_.size(), false),
        is_touched_(queues_.size(), false) {
    missing_.reserve(plan.chunking.chunks.size() * plan.packing.ranks);
    for (std::uint32_t chunk = 0; chunk < plan.chunking.chunks.size(); ++chunk) {
      const TreePlan& tree = plan.tree_of(chunk);
      missing_.insert(missing_.end(), tree.children.begin(), tree.children.end());
      waiting_ += tree.arcs.size();
    }
    turns_.reserve(waiting_);
    progress_.resize(missing_.size());
  }

  /// All transfers in the order in which they start.
  std::vector<Turn> run() && {
    for (std::uint32_t chunk = 0; chunk < plan_.chunking.chunks.size(); ++chunk) start(chunk);
    serve();
    while (!agenda_.empty()) {
      const auto next = agenda_.extract(agenda_.begin());
      now_ = next.key();
      for (const Turn& turn : next.mapped().received) finish(turn);
      for (const Gate gate : next.mapped().opened) {
        is_due_[gate] = false;
        touch(gate);
      }
      serve();
    }
    if (waiting_ > 0) throw std::logic_error("time_trees: arcs that are not a tree");
    return std::move(turns_);
  }

 private:
  enum class Progress : std::uint8_t { Waiting, Held, Sent };

  /// Latest start of a transfer if the segments of each tree were to end at equal intervals.
  [[nodiscard]] Ready ready(std::uint32_t chunk, std::uint32_t arc) const {
    const std::uint32_t tree = plan_.chunking.chunks[chunk].tree;
    const Ticks segment = chunk - plan_.chunking.first[tree];
    const Ticks segments = plan_.chunking.first[tree + 1] - plan_.chunking.first[tree];
    const Ticks end = busiest_ / segments * segment + busiest_ % segments * segment / segments;
    return {end - plan_.trees[tree].to_end[arc], chunk, arc};
  }

  void start(std::uint32_t chunk) {
    const TreePlan& tree = plan_.tree_of(chunk);
    for (std::uint32_t r = 0; r < plan_.packing.ranks; ++r) {
      if (tree.children[r] == 0 && tree.reduction[r] != kNoArc) reduce(chunk, tree.reduction[r]);
    }
    if (tree.reductions == 0) start_copies(chunk, plan_.chunking.chunks[chunk].root());
  }

  void start_copies(std::uint32_t chunk, Rank from) {
    const TreePlan& tree = plan_.tree_of(chunk);
    for (std::uint32_t i = tree.copy_begin[index(from)]; i < tree.copy_begin[index(from) + 1];
         ++i) {
      add(chunk, tree.copies[i]);
    }
  }

  /// A transfer was received: what it made possible may start now.
  void finish(const Turn& done) {
    const TreePlan& tree = plan_.tree_of(done.chunk);
    const Rank at = tree.arcs[done.arc].arcs.front().dst;
    if (done.arc >= tree.reductions) return start_copies(done.chunk, at);
    if (--missing_[plan_.value_index(done.chunk, at)] > 0) return;
    const std::uint32_t next = tree.reduction[index(at)];
    if (next == kNoArc) return start_copies(done.chunk, at);
    reduce(done.chunk, next);
  }

  /// A reduction has its data: it starts once the one before it has.
  void reduce(std::uint32_t chunk, std::uint32_t arc) {
    const TreePlan& tree = plan_.tree_of(chunk);
    const std::uint32_t before = tree.before[arc];
    const auto at = [&](std::uint32_t a) {
      return plan_.value_index(chunk, tree.arcs[a].arcs.front().src);
    };
    if (before != kNoArc && progress_[at(before)] != Progress::Sent) {
      progress_[at(arc)] = Progress::Held;
    } else {
      add(chunk, arc);
    }
  }

  /// A transfer has started. If it is a reduction, the one after it may, too: returns where it
  /// waits if it has its data.
  std::optional<Gate> release(std::uint32_t chunk, std::uint32_t arc) {
    const TreePlan& tree = plan_.tree_of(chunk);
    if (arc >= tree.reductions) return std::nullopt;
    const auto at = [&](std::uint32_t a) {
      return plan_.value_index(chunk, tree.arcs[a].arcs.front().src);
    };
    progress_[at(arc)] = Progress::Sent;
    const std::uint32_t next = tree.after[arc];
    if (next == kNoArc || progress_[at(next)] != Progress::Held) return std::nullopt;
    add(chunk, next);
    return start_gate(plan_.route(chunk, next).front());
  }

  void add(std::uint32_t chunk, std::uint32_t arc) {
    const auto route = plan_.route(chunk, arc);
    enqueue(ready(chunk, arc), start_gate(route.front()));
  }

  void enqueue(const Ready& transfer, Gate gate) {
    auto& queue = queues_[gate];
    queue.push_back(transfer);
    std::ranges::push_heap(queue, std::greater{});
    touch(gate);
  }

  Ready dequeue(Gate gate) {
    auto& queue = queues_[gate];
    std::ranges::pop_heap(queue, std::greater{});
    const Ready next = queue.back();
    queue.pop_back();
    return next;
  }

  /// A gate at which something changed now.
  void touch(Gate gate) {
    if (is_touched_[gate]) return;
    is_touched_[gate] = true;
    touched_.push_back(gate);
  }

  [[nodiscard]] Rank sender(const Ready& transfer) const {
    return plan_.tree_of(transfer.chunk).arcs[transfer.arc].arcs.front().src;
  }
  [[nodiscard]] Gate sender_gate(Rank rank) const {
    return static_cast<Gate>(2 * free_.size()) + index(rank);
  }

  /// When the link or the sender of a gate takes the next transfer.
  [[nodiscard]] Ticks opening(Gate gate) const {
    if (gate >= 2 * free_.size()) return senders_[gate - 2 * free_.size()];
    return free_[gate / 2] - (gate % 2 == 0 ? 0 : slack_[gate / 2]);
  }

  /// Starts what can start now, the most urgent transfer first, wherever it waits. One that finds a
  /// gate of its route closed waits there from now on.
  void serve() {
    std::vector<std::pair<Ready, Gate>> heads;
    const auto offer = [&](Gate gate) {
      if (queues_[gate].empty() || opening(gate) > now_) return;
      heads.emplace_back(queues_[gate].front(), gate);
      std::ranges::push_heap(heads, std::greater{});
    };
    for (const Gate gate : touched_) offer(gate);
    while (!heads.empty()) {
      std::ranges::pop_heap(heads, std::greater{});
      const Gate gate = heads.back().second;
      heads.pop_back();
      if (queues_[gate].empty() || opening(gate) > now_) continue;
      const Ready transfer = dequeue(gate);
      const Gate closed = first_closed(transfer);
      if (closed == kOpen) {
        send(transfer);
        if (const auto released = release(transfer.chunk, transfer.arc)) offer(*released);
      } else {
        enqueue(transfer, closed);
      }
      offer(gate);
    }
    for (const Gate gate : touched_) {
      is_touched_[gate] = false;
      if (queues_[gate].empty() || is_due_[gate]) continue;
      is_due_[gate] = true;
      agenda_[opening(gate)].opened.push_back(gate);
    }
    touched_.clear();
  }

  [[nodiscard]] Gate first_closed(const Ready& transfer) const {
    const auto route = plan_.route(transfer.chunk, transfer.arc);
    if (const Gate gate = sender_gate(sender(transfer)); opening(gate) > now_) return gate;
    if (const Gate gate = start_gate(route.front()); opening(gate) > now_) return gate;
    for (const LinkId link : route.subspan(1)) {
      if (const Gate gate = passing_gate(link); opening(gate) > now_) return gate;
    }
    return kOpen;
  }

  /// As predict_time() does: a link starts when it is free and the one before it has started. The
  /// next message may have been made ready while the links were busy with others.
  void send(const Ready& transfer) {
    Ticks start = now_, end = now_;
    for (const LinkId link : plan_.route(transfer.chunk, transfer.arc)) {
      Ticks& free = free_[index(link)];
      start = std::max(start, free);
      free = start + plan_.clock.time(plan_.chunking.chunks[transfer.chunk].weight, link);
      end = std::max(end, free);
    }
    Ticks& next = senders_[index(sender(transfer))];
    next = std::max(next + plan_.message, now_);
    turns_.push_back({transfer.chunk, transfer.arc});
    const Ticks lag = plan_.tree_of(transfer.chunk).lags[transfer.arc];
    agenda_[end + lag].received.push_back(turns_.back());
    --waiting_;
  }

  const PackingPlan& plan_;
  std::vector<Ticks> slack_;  // by link
  Ticks busiest_ = 1;
  Ticks now_ = 0;
  std::vector<Turn> turns_;
  std::size_t waiting_ = 0;             // transfers that have not started
  std::vector<std::uint32_t> missing_;  // by chunk and rank: reductions still to come
  std::vector<Progress> progress_;      // by chunk and rank: of its own reduction
  std::map<Ticks, Events> agenda_;
  std::vector<Ticks> free_;                 // by link: when it has sent all that has started
  std::vector<Ticks> senders_;              // by rank: when it may start another message
  std::vector<std::vector<Ready>> queues_;  // by gate: heaps
  std::vector<bool> is_due_;                // by gate: its opening is on the agenda
  std::vector<bool> is_touched_;            // by gate
  std::vector<Gate> touched_;
};

RankOrder order_of(const TimingOptions& options) {
  if (options.costs && options.costs->within_steps) return RankOrder::WithinSteps;
  return options.costs || options.queues > 0 ? RankOrder::OfSteps : RankOrder::None;
}

}  // namespace

Schedule time_trees(const TreePacking& packing, const Topology& topology,
                    const TimingOptions& options) {
  const PackingPlan plan = plan_packing(packing, topology, options);
  return number_steps(plan, ListScheduler(plan, options.queues).run(), order_of(options));
}

}  // namespace multitree
