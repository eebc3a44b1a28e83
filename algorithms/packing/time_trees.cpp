// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// List scheduling of trees step by step: every link serves, of the transfers that wait for it, the
/// most urgent ones.
#include "algorithms/packing/time_trees.hpp"

#include <algorithm>
#include <compare>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "algorithms/packing/chunking_internal.hpp"

namespace multitree {
namespace {

/// A tree, with what each rank has to send and how urgent that is. Arcs: reductions, then copies.
struct TreePlan {
  std::vector<TreeArc> arcs;
  std::uint32_t reductions = 0;
  std::vector<std::uint32_t> children;     // by rank: reductions that it waits for
  std::vector<std::uint32_t> reduction;    // by rank: its own one; kNone at the root
  std::vector<std::uint32_t> copy_begin;   // by rank, into `copies`
  std::vector<std::uint32_t> copies;       // arcs
  std::vector<std::uint32_t> hops_to_end;  // by arc, itself included, to the last leaf
};

constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// Longest chains of transfers from each arc on. Copies are listed parents first, reductions
/// children first.
void measure(TreePlan& plan, Rank root) {
  plan.hops_to_end.assign(plan.arcs.size(), 1);
  std::vector<std::uint32_t> below(plan.children.size(), 0);  // hops that follow a copy to a rank
  for (std::uint32_t a = static_cast<std::uint32_t>(plan.arcs.size()); a-- > plan.reductions;) {
    const TreeArc& arc = plan.arcs[a];
    plan.hops_to_end[a] = below[index(arc.dst)] + 1;
    below[index(arc.src)] = std::max(below[index(arc.src)], plan.hops_to_end[a]);
  }
  std::vector<std::uint32_t> above(plan.children.size(), 0);
  above[index(root)] = below[index(root)];
  for (std::uint32_t a = plan.reductions; a-- > 0;) {
    const TreeArc& arc = plan.arcs[a];
    plan.hops_to_end[a] = above[index(arc.dst)] + 1;
    above[index(arc.src)] = plan.hops_to_end[a];
  }
}

TreePlan plan_tree(const PackedTree& tree, std::uint32_t ranks) {
  TreePlan plan;
  plan.arcs = tree.reduce;
  plan.arcs.insert(plan.arcs.end(), tree.gather.begin(), tree.gather.end());
  plan.reductions = static_cast<std::uint32_t>(tree.reduce.size());
  plan.children.assign(ranks, 0);
  plan.reduction.assign(ranks, kNone);
  plan.copy_begin.assign(ranks + 1, 0);
  for (std::uint32_t a = 0; a < plan.arcs.size(); ++a) {
    const TreeArc& arc = plan.arcs[a];
    if (a < plan.reductions) {
      ++plan.children[index(arc.dst)];
      plan.reduction[index(arc.src)] = a;
    } else {
      ++plan.copy_begin[index(arc.src) + 1];
    }
  }
  std::partial_sum(plan.copy_begin.begin(), plan.copy_begin.end(), plan.copy_begin.begin());
  plan.copies.resize(plan.arcs.size() - plan.reductions);
  std::vector<std::uint32_t> next(plan.copy_begin.begin(), plan.copy_begin.end() - 1);
  for (std::uint32_t a = plan.reductions; a < plan.arcs.size(); ++a) {
    plan.copies[next[index(plan.arcs[a].src)]++] = a;
  }
  measure(plan, tree.root);
  return plan;
}

/// A transfer that has its data and waits for a link.
struct Ready {
  std::int64_t urgency = 0;  // least first
  std::uint32_t chunk = 0, arc = 0;
  auto operator<=>(const Ready&) const = default;
};

class ListScheduler {
 public:
  ListScheduler(const TreePacking& packing, const Topology& topology, const TimingOptions& options)
      : packing_(packing),
        topology_(topology),
        chunking_(cut_into_chunks(packing, options.segments)),
        arrivals_(options.lag + 1),
        queues_(topology.num_links()),
        used_(topology.num_links(), 0) {
    for (const PackedTree& tree : packing.trees) {
      plans_.push_back(plan_tree(tree, packing.ranks));
      for (const TreeArc& arc : plans_.back().arcs) one_link_ &= arc.route_size <= 1;
    }
    steps_ = least_steps();
    hop_ = std::int64_t{options.lag} + 1;
    missing_.reserve(chunking_.chunks.size() * packing.ranks);
    for (const Chunk& chunk : chunking_.chunks) {
      const auto& children = plans_[chunk.tree].children;
      missing_.insert(missing_.end(), children.begin(), children.end());
      waiting_ += plans_[chunk.tree].arcs.size();
    }
  }

  Schedule run() && {
    schedule_.collective = packing_.collective;
    schedule_.root = packing_.root;
    schedule_.ranks = packing_.ranks;
    schedule_.chunks = chunking_.chunks;
    schedule_.transfers.reserve(waiting_);
    schedule_.routes.reserve(waiting_);
    for (std::uint32_t chunk = 0; chunk < schedule_.chunks.size(); ++chunk) start(chunk);
    std::ranges::swap(arrivals_.front(), arrivals_.back());  // the first ones wait for nothing
    for (std::uint32_t step = 0; waiting_ > 0;) {
      flush_arrivals();
      one_link_ ? serve_links() : serve_by_urgency();
      const bool nothing_comes =
          std::ranges::all_of(arrivals_, [](const auto& list) { return list.empty(); });
      if (sent_.empty() && nothing_comes) {
        throw std::logic_error("time_trees: arcs that are not a tree");
      }
      if (!sent_.empty()) emit(step++);
    }
    return std::move(schedule_);
  }

 private:
  [[nodiscard]] const TreePlan& plan_of(std::uint32_t chunk) const {
    return plans_[schedule_.chunks[chunk].tree];
  }

  /// Steps that the busiest link needs.
  [[nodiscard]] std::int64_t least_steps() const {
    std::vector<std::uint64_t> uses(topology_.num_links(), 0);
    std::uint64_t busiest = 1;
    for (std::uint32_t t = 0; t < plans_.size(); ++t) {
      const std::uint64_t chunks = chunking_.first[t + 1] - chunking_.first[t];
      for (const TreeArc& arc : plans_[t].arcs) {
        for (const LinkId link : packing_.route(arc)) {
          uses[index(link)] += chunks;
          busiest = std::max(busiest, uses[index(link)] / topology_.slots(link));
        }
      }
    }
    return static_cast<std::int64_t>(busiest);
  }

  /// Latest start of a transfer if the segments of each tree were to end at equal intervals.
  [[nodiscard]] Ready ready(std::uint32_t chunk, std::uint32_t arc) const {
    const std::uint32_t tree = schedule_.chunks[chunk].tree;
    const std::int64_t segment = chunk - chunking_.first[tree];
    const std::int64_t segments = chunking_.first[tree + 1] - chunking_.first[tree];
    return {steps_ * segment / segments - hop_ * plans_[tree].hops_to_end[arc], chunk, arc};
  }

  void start(std::uint32_t chunk) {
    const TreePlan& plan = plan_of(chunk);
    for (std::uint32_t r = 0; r < packing_.ranks; ++r) {
      if (plan.children[r] == 0 && plan.reduction[r] != kNone) {
        arrivals_.back().push_back(ready(chunk, plan.reduction[r]));
      }
    }
    if (plan.reductions == 0) start_copies(chunk, schedule_.chunks[chunk].owner);
  }

  void start_copies(std::uint32_t chunk, Rank from) {
    const TreePlan& plan = plan_of(chunk);
    for (std::uint32_t i = plan.copy_begin[index(from)]; i < plan.copy_begin[index(from) + 1];
         ++i) {
      arrivals_.back().push_back(ready(chunk, plan.copies[i]));
    }
  }

  /// A transfer of this step was received: what it made possible may run in the next.
  void finish(const Ready& done) {
    const TreePlan& plan = plan_of(done.chunk);
    const TreeArc& arc = plan.arcs[done.arc];
    if (done.arc >= plan.reductions) return start_copies(done.chunk, arc.dst);
    if (--missing_[std::size_t{done.chunk} * packing_.ranks + index(arc.dst)] > 0) return;
    const std::uint32_t next = plan.reduction[index(arc.dst)];
    if (next == kNone) return start_copies(done.chunk, arc.dst);
    arrivals_.back().push_back(ready(done.chunk, next));
  }

  void enqueue(const Ready& transfer, LinkId at) {
    auto& queue = queues_[index(at)];
    queue.push_back(transfer);
    std::ranges::push_heap(queue, std::greater{});
  }

  Ready dequeue(std::vector<Ready>& queue) {
    std::ranges::pop_heap(queue, std::greater{});
    const Ready next = queue.back();
    queue.pop_back();
    return next;
  }

  void flush_arrivals() {
    for (const Ready& transfer : arrivals_.front()) {
      enqueue(transfer, packing_.route(plan_of(transfer.chunk).arcs[transfer.arc]).front());
    }
    for (const auto& [transfer, link] : blocked_) enqueue(transfer, link);
    arrivals_.front().clear();
    std::ranges::rotate(arrivals_, arrivals_.begin() + 1);
    blocked_.clear();
    std::ranges::fill(used_, 0U);
  }

  void serve_links() {
    for (std::uint32_t l = 0; l < queues_.size(); ++l) {
      const std::uint32_t slots = topology_.slots(LinkId{l});
      for (std::uint32_t i = 0; i < slots && !queues_[l].empty(); ++i) {
        sent_.push_back(dequeue(queues_[l]));
        --waiting_;
      }
    }
  }

  /// Routes of several links: the most urgent transfer first, wherever it waits. One that finds a
  /// link of its route full waits at that link from now on.
  void serve_by_urgency() {
    std::vector<std::pair<Ready, std::uint32_t>> heads;
    for (std::uint32_t l = 0; l < queues_.size(); ++l) {
      if (!queues_[l].empty()) heads.emplace_back(queues_[l].front(), l);
    }
    std::ranges::make_heap(heads, std::greater{});
    while (!heads.empty()) {
      std::ranges::pop_heap(heads, std::greater{});
      const std::uint32_t l = heads.back().second;
      heads.pop_back();
      if (is_full(LinkId{l})) continue;
      try_to_send(dequeue(queues_[l]));
      if (!queues_[l].empty()) {
        heads.emplace_back(queues_[l].front(), l);
        std::ranges::push_heap(heads, std::greater{});
      }
    }
  }

  [[nodiscard]] bool is_full(LinkId link) const {
    return used_[index(link)] == topology_.slots(link);
  }

  void try_to_send(const Ready& transfer) {
    const auto route = packing_.route(plan_of(transfer.chunk).arcs[transfer.arc]);
    const auto full = std::ranges::find_if(route, [&](LinkId link) { return is_full(link); });
    if (full != route.end()) {
      blocked_.emplace_back(transfer, *full);
      return;
    }
    for (const LinkId link : route) ++used_[index(link)];
    sent_.push_back(transfer);
    --waiting_;
  }

  /// Writes the step down in canonical order, and follows up on it.
  void emit(std::uint32_t step) {
    const auto key = [&](const Ready& t) {
      const TreePlan& plan = plan_of(t.chunk);
      return std::tuple(t.arc >= plan.reductions, t.chunk, plan.arcs[t.arc].dst,
                        plan.arcs[t.arc].src);
    };
    std::ranges::sort(sent_, {}, key);
    for (const Ready& t : sent_) {
      const TreePlan& plan = plan_of(t.chunk);
      const TreeArc& arc = plan.arcs[t.arc];
      const Op op = t.arc < plan.reductions ? Op::Reduce : Op::Copy;
      schedule_.add(step, op, t.chunk, arc.src, arc.dst, packing_.route(arc));
      finish(t);
    }
    sent_.clear();
  }

  const TreePacking& packing_;
  const Topology& topology_;
  Chunking chunking_;
  std::vector<TreePlan> plans_;
  bool one_link_ = true;
  std::int64_t steps_ = 1, hop_ = 1;  // of all; of a hop
  Schedule schedule_;
  std::size_t waiting_ = 0;                   // transfers without a step
  std::vector<std::uint32_t> missing_;        // by chunk and rank: reductions still to come
  std::vector<std::vector<Ready>> arrivals_;  // ready from the next step on, the one after, ...
  std::vector<Ready> sent_;                   // in this step
  std::vector<std::pair<Ready, LinkId>> blocked_;
  std::vector<std::vector<Ready>> queues_;  // by link: heaps
  std::vector<std::uint32_t> used_;         // by link: slots taken in this step
};

}  // namespace

Schedule time_trees(const TreePacking& packing, const Topology& topology,
                    const TimingOptions& options) {
  return ListScheduler(packing, topology, options).run();
}

}  // namespace multitree
