// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Counting contributions instead of replaying them.
#include "algorithms/verify_counting_internal.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

namespace multitree {
namespace {

template <typename Word>
class Counting {
 public:
  static constexpr Word kSpent = Word{1} << (std::numeric_limits<Word>::digits - 1);

  explicit Counting(const Schedule& schedule)
      : schedule_(schedule), values_(schedule.chunks.size() * std::size_t{schedule.ranks}, 0) {
    std::uint32_t starters = 0;
    for (std::uint32_t c = 0; c < schedule.chunks.size(); ++c) {
      starters = 0;
      for (std::uint32_t r = 0; r < schedule.ranks; ++r) {
        if (!starts_with(schedule, Rank{r}, c)) continue;
        value(c, Rank{r}) = 1;
        ++starters;
      }
    }
    complete_ = static_cast<Word>(starters);
  }

  bool run() {
    const std::span<const Transfer> all = schedule_.transfers;
    for (std::size_t begin = 0; begin < all.size();) {
      std::size_t end = begin;
      while (end < all.size() && all[end].step == all[begin].step) ++end;
      const auto step = all.subspan(begin, end - begin);
      // Sums are added before copies overwrite what was sent.
      if (!std::ranges::is_sorted(step, {}, &Transfer::op)) return false;
      if (!send(step) || !receive(step)) return false;
      begin = end;
    }
    return ends_well();
  }

 private:
  Word& value(std::uint32_t chunk, Rank rank) {
    return values_[chunk * std::size_t{schedule_.ranks} + index(rank)];
  }

  /// A partial sum that may be sent, and added to.
  [[nodiscard]] bool is_partial(Word value) const {
    return value != 0 && value != complete_ && (value & kSpent) == 0;
  }

  /// Checks values as they are before the step.
  bool send(std::span<const Transfer> step) {
    for (const Transfer& t : step) {
      Word& from = value(t.chunk, t.src);
      if (t.op == Op::Copy) {
        if (from != complete_) return false;
        continue;
      }
      if (!is_partial(from)) return false;
      from |= kSpent;
    }
    return true;
  }

  bool receive(std::span<const Transfer> step) {
    for (const Transfer& t : step) {
      Word& to = value(t.chunk, t.dst);
      if (t.op == Op::Copy) {
        // The target may only hold nothing or a spent sum: a partial or complete value may have
        // been reached by a reduction or a copy of this step.
        if (to != 0 && (to & kSpent) == 0) return false;
        to = complete_;
        continue;
      }
      if (!is_partial(to)) return false;
      to = static_cast<Word>(to + (value(t.chunk, t.src) & ~kSpent));
    }
    return true;
  }

  bool ends_well() {
    for (std::uint32_t c = 0; c < schedule_.chunks.size(); ++c) {
      for (std::uint32_t r = 0; r < schedule_.ranks; ++r) {
        if (ends_with(schedule_, Rank{r}, c) && value(c, Rank{r}) != complete_) return false;
      }
    }
    return true;
  }

  const Schedule& schedule_;
  // Of a chunk at a rank: 0 if there is none, the number of contributions, or that and kSpent.
  std::vector<Word> values_;
  Word complete_ = 0;  // a value with all contributions
};

}  // namespace

bool proven_by_counting(const Schedule& schedule) {
  // Where everybody is at one end, every chunk is sent ranks - 1 times at least: less is wrong, and
  // not worth the memory.
  const auto& [collective, name, start, end] = facts(schedule.collective);
  const bool has_trees = start == Holder::Everyone || end == Holder::Everyone;
  const std::size_t least = schedule.chunks.size() * (schedule.ranks - std::size_t{1});
  if (has_trees && schedule.transfers.size() < least) return false;
  if (schedule.ranks < Counting<std::uint16_t>::kSpent) {
    return Counting<std::uint16_t>(schedule).run();
  }
  return Counting<std::uint32_t>(schedule).run();
}

}  // namespace multitree
