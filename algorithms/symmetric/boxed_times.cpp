// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One line of boxes for all: the rounds of an exchange replayed as cost.cpp would.
#include <algorithm>
#include <bit>
#include <vector>

#include "algorithms/cost_links_internal.hpp"
#include "algorithms/symmetric/alike_times.hpp"
#include "algorithms/symmetric/boxed_schedule.hpp"

namespace multitree {
namespace {

/// Ranks whose coordinates are equal modulo the distance of a round send in the same step, over all
/// links of the line. So on every link a step follows the one before when that has passed, and what
/// is known of one link is known of all.
Picoseconds along_line(const BoxDimension& d, const LinkOrbits::Orbit& link, double bytes,
                       Picoseconds overhead) {
  const Picoseconds busy = serialisation(bytes, link.bandwidth);
  const auto latency = static_cast<Picoseconds>(link.latency.picoseconds);
  std::vector<Picoseconds> ready = {0}, next;  // by coordinate modulo their number
  Picoseconds free = 0;
  for (std::uint32_t distance = d.box; distance < d.size; distance *= 2) {
    next.clear();
    for (std::uint32_t k = 0; k < distance; ++k) {
      free = std::max(ready[k % ready.size()] + overhead, free) + busy;
      next.push_back(free + distance * latency);
    }
    ready.swap(next);
  }
  return std::ranges::max(ready);
}

/// Boxes that exchange in pairs over ways of their own; of a way over switches the first half is
/// the sender's, the second the receiver's.
class Pairs {
 public:
  Pairs(const BoxDimension& d, const LinkOrbits& links, double bytes, Picoseconds overhead)
      : overhead_(overhead), ready_(d.boxes(), 0), read_(d.boxes(), 0), sender_free_(d.boxes(), 0) {
    for (const std::uint32_t orbit : links.way(d.generators.front())) {
      busy_.push_back(serialisation(bytes, links.orbits[orbit].bandwidth));
      latency_ += static_cast<Picoseconds>(links.orbits[orbit].latency.picoseconds);
    }
    shared_ = busy_.size() > 1;
    if (shared_) until_.assign(busy_.size(), std::vector<Picoseconds>(d.boxes(), 0));
  }

  Picoseconds run() {
    const auto boxes = static_cast<std::uint32_t>(ready_.size());
    const std::uint32_t core = std::bit_floor(boxes);
    for (std::uint32_t i = core; i < boxes; ++i) plan(i, i - core);
    apply();
    for (std::uint32_t bit = 1; bit < core; bit *= 2) {
      for (std::uint32_t i = 0; i < core; ++i) plan(i, i ^ bit);
      apply();
    }
    for (std::uint32_t i = core; i < boxes; ++i) plan(i - core, i);
    apply();
    return std::ranges::max(ready_);
  }

 private:
  struct Message {
    std::uint32_t from, to;
    Picoseconds sent = 0;
  };

  /// A message of the step, from what is there before it.
  void plan(std::uint32_t from, std::uint32_t to) {
    Picoseconds start = ready_[from];
    if (overhead_ > 0) {
      start = std::max(start, sender_free_[from]) + overhead_;
      sender_free_[from] = start;
    }
    Picoseconds sent = start;
    for (std::size_t i = 0; i < busy_.size(); ++i) {
      if (shared_) {
        Picoseconds& until = until_[i][i < busy_.size() / 2 ? from : to];
        start = std::max(start, until);
        until = start + busy_[i];
      }
      sent = std::max(sent, start + busy_[i]);
    }
    messages_.push_back({from, to, sent});
  }

  void apply() {
    // What is written waits until what was there has been sent.
    for (const Message& m : messages_) read_[m.from] = std::max(read_[m.from], m.sent);
    for (const Message& m : messages_) {
      ready_[m.to] = std::max({ready_[m.to], read_[m.to], m.sent + latency_});
    }
    messages_.clear();
  }

  Picoseconds overhead_, latency_ = 0;
  bool shared_ = false;
  std::vector<Picoseconds> busy_, ready_, read_, sender_free_;
  std::vector<std::vector<Picoseconds>> until_;  // of each link of a way, of each box
  std::vector<Message> messages_;
};

}  // namespace

/// Ranks that differ in a coordinate alone begin its rounds together, later by what those of the
/// coordinates before have taken; so what takes longest of each adds up.
Time predict_time(const BoxedSchedule& schedule, std::uint64_t bytes, Time message_overhead) {
  const AlikeRanks& ranks = schedule.ranks();
  const double share = static_cast<double>(bytes) / schedule.chunks();
  const auto overhead = static_cast<Picoseconds>(message_overhead.picoseconds);
  Picoseconds time = 0;
  for (const BoxDimension& d : schedule.boxes()) {
    if (d.boxes() == 1) continue;
    const LinkOrbits& links = ranks.links;
    const bool line = d.reach == BoxDimension::Reach::Line;
    time +=
        line ? along_line(d, links.orbits[links.way(d.generators.front()).front()], share, overhead)
             : Pairs(d, links, share, overhead).run();
  }
  const Time trees = schedule.trees() ? predict_time(*schedule.trees(), Collective::AllReduce,
                                                     bytes, message_overhead)
                                      : Time{};
  return to_time(static_cast<Picoseconds>(trees.picoseconds) + time, bytes);
}

}  // namespace multitree
