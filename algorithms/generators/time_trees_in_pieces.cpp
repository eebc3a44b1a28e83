// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Halves the number of pieces as long as that pays.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/generators/pieces_internal.hpp"
#include "algorithms/packing/steps/periodic_trees.hpp"

namespace multitree {
namespace {

/// What a packing's data keeps the busiest link.
double link_seconds(const TreePacking& packing, const Topology& topology, std::uint64_t bytes) {
  return load(packing, topology).convert_to<double>() * static_cast<double>(bytes) / packing.ranks /
         static_cast<double>(topology.unit_bandwidth().bytes_per_second);
}

/// So many pieces that messages keep senders busy at most twice as long as data keeps links: more
/// cannot be the best, and many times more would take long to time.
std::uint32_t most_segments(const TreePacking& packing, const Topology& topology,
                            std::uint64_t bytes, Time message) {
  double messages = 0;  // that a rank sends for one segment, on average
  for (const PackedTree& tree : packing.trees) {
    messages += static_cast<double>(tree.gather.size() + tree.reduce.size());
  }
  messages /= packing.ranks;
  const double links = link_seconds(packing, topology, bytes);
  const double most = std::ceil(2 * links / (std::max(messages, 1.0) * message.seconds()));
  return static_cast<std::uint32_t>(std::clamp(most, 1.0, 1e9));
}

/// Transfers up to which numbers of pieces between powers of two are tried.
constexpr std::uint64_t kMostNear = 1U << 14;

std::uint64_t arcs_of(const TreePacking& packing) {
  std::uint64_t arcs = 0;
  for (const PackedTree& tree : packing.trees) arcs += tree.gather.size() + tree.reduce.size();
  return arcs;
}

/// For the number of pieces that is fastest.
class PiecesSearch {
 public:
  using Make = std::function<SharedSchedule(std::uint32_t segments)>;
  PiecesSearch(Make make, std::uint64_t bytes, Time message)
      : make_(std::move(make)), bytes_(bytes), message_(message) {}

  void start(std::uint32_t segments) {
    best_ = make_(segments);
    segments_ = finest_ = segments;
  }
  /// As long as that is not slower.
  void halve() {
    while (segments_ > 1 && consider((segments_ + 1) / 2)) {
    }
  }
  /// What lies between the best and the powers of two beside it.
  void look_near(std::uint32_t most) {
    const std::uint32_t middle = segments_;
    const std::uint32_t fewer = middle - middle / 4, more = middle + (middle + 1) / 2;
    if (fewer != middle && consider(fewer)) return;
    if (more <= most) consider(more);
  }
  /// Whether it is not slower than the best, whose place it then takes.
  bool consider(std::uint32_t segments) {
    SharedSchedule schedule = make_(segments);
    if (schedule->time(bytes_, message_) > best_->time(bytes_, message_)) return false;
    best_ = std::move(schedule);
    segments_ = segments;
    return true;
  }
  [[nodiscard]] bool is_finest_best() const { return segments_ == finest_; }
  [[nodiscard]] std::uint32_t segments() const { return segments_; }
  [[nodiscard]] const SharedSchedule& best() const { return best_; }

 private:
  Make make_;
  std::uint64_t bytes_;
  Time message_;
  SharedSchedule best_;
  std::uint32_t segments_ = 0, finest_ = 0;
};

std::string name_of(const std::optional<MessageCosts>& costs) {
  if (!costs) return "";
  return fmt::format(", {} bytes, message {} ps{}", costs->bytes, costs->message.picoseconds,
                     costs->within_steps ? ", within steps" : "");
}

}  // namespace

Keep keep_for(const Topology& topology) {
  return [&topology](const std::string& name, const std::function<Schedule()>& make) {
    return ScheduleStore::get(topology, name, make);
  };
}

Time least_time(const TreePacking& packing, const Topology& topology, std::uint64_t bytes,
                Time message) {
  constexpr double kRounding = 0.999;  // links' times are rounded, transfer by transfer
  std::vector<std::int64_t> sent(packing.ranks, 0);
  std::int64_t most = 0;
  for (const PackedTree& tree : packing.trees) {
    for (const auto* arcs : {&tree.reduce, &tree.gather}) {
      for (const TreeArc& arc : *arcs) most = std::max(most, ++sent[index(arc.src)]);
    }
  }
  const double seconds = kRounding * link_seconds(packing, topology, bytes);
  return std::max(Time{most * message.picoseconds},
                  Time{static_cast<decltype(Time::picoseconds)>(seconds * 1e12)});
}

SharedSchedule time_trees_in_pieces(const std::string& name, const TreePacking& packing,
                                    const Topology& topology, const TimingOptions& most,
                                    std::uint64_t bytes, Time message, const Keep& keep) {
  TimingOptions timing = most;
  const auto make = [&](std::uint32_t segments) {
    timing.segments = segments;
    timing.same_order = most.same_order && segments > 1;
    const std::string pieces =
        fmt::format("{} in {}, lag {}/{}, same order {}, queues {}{}", name, segments, timing.lag,
                    timing.lag_parts, timing.same_order, timing.queues, name_of(timing.costs));
    return keep(pieces, [&] { return time_trees(packing, topology, timing); });
  };
  if (message == Time{} || most.segments == 1) return make(most.segments);
  const std::uint32_t busy = most_segments(packing, topology, bytes, message);
  PiecesSearch search(make, bytes, message);
  // Where messages are the limit, the most pieces are seldom the best, and take longest to time.
  search.start(busy < most.segments ? (busy + 1) / 2 : most.segments);
  search.halve();
  if (search.is_finest_best() && busy < most.segments) search.consider(busy);
  if (arcs_of(packing) * search.segments() <= kMostNear) search.look_near(busy);
  return search.best();
}

bool has_long_routes(const TreePacking& packing) {
  const auto is_long = [&](const TreeArc& arc) { return packing.route(arc).size() > 1; };
  return std::ranges::any_of(packing.trees, [&](const PackedTree& tree) {
    return std::ranges::any_of(tree.gather, is_long) || std::ranges::any_of(tree.reduce, is_long);
  });
}

bool serves_periods(const TreePacking& packing, const Topology& topology) {
  std::optional<Bandwidth> rate;
  for (const PackedTree& tree : packing.trees) {
    for (const auto* arcs : {&tree.reduce, &tree.gather}) {
      for (const TreeArc& arc : *arcs) {
        for (const LinkId link : packing.route(arc)) {
          if (!rate) rate = topology.link(link).bandwidth;
          if (topology.link(link).bandwidth != *rate) return false;
        }
      }
    }
  }
  return has_long_routes(packing);
}

SharedSchedule time_trees_in_periods(const std::string& name, const TreePacking& packing,
                                     const Topology& topology, std::uint64_t bytes, Time message,
                                     const Keep& keep) {
  constexpr std::uint64_t kMostTransfers = std::uint64_t{1} << 18;
  const std::uint64_t arcs = arcs_of_period(packing);
  if (arcs == 0) return nullptr;
  SharedPeriod period;
  const auto make = [&](std::uint32_t periods) {
    return keep(fmt::format("{} in {} periods", name, periods), [&] {
      if (!period) {
        period =
            ScheduleStore::period(topology, name, [&] { return find_period(packing, topology); });
      }
      return periodic_trees(packing, topology, *period, periods);
    });
  };
  // Messages keep senders busy at most as long as data keeps links.
  const double links = link_seconds(packing, topology, bytes);
  const double messages = static_cast<double>(arcs) / packing.ranks * message.seconds();
  double most = static_cast<double>(kMostTransfers) / static_cast<double>(arcs);
  if (messages > 0) most = std::min(most, links / messages);
  if (most < 1) return nullptr;
  std::uint32_t periods = std::bit_floor(static_cast<std::uint32_t>(most));
  SharedSchedule best = make(periods);
  while (periods > 1) {
    periods /= 2;
    SharedSchedule fewer = make(periods);
    if (fewer->time(bytes, message) >= best->time(bytes, message)) break;
    best = std::move(fewer);
  }
  return best;
}

}  // namespace multitree
