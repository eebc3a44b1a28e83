// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Levels of transfers by what waits for them, links aside.
#include "algorithms/coalesced.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <numeric>
#include <span>
#include <utility>

namespace multitree {
namespace {

constexpr std::uint32_t kLast = ~std::uint32_t{0};

/// What a rank does later with its value of a chunk: the lowest levels of it.
struct Later {
  std::uint32_t send = kLast, receive = kLast;
};

/// By small numbers, counting them: there may be a million transfers, at each of many sizes.
template <typename KeyOf>
void sort_stably(std::vector<std::uint32_t>& all, const KeyOf& key_of) {
  std::vector<std::uint32_t> next;
  for (const std::uint32_t i : all) {
    const std::size_t key = key_of(i);
    if (key + 2 > next.size()) next.resize(key + 2);
    ++next[key + 1];
  }
  for (std::size_t k = 1; k < next.size(); ++k) next[k] += next[k - 1];
  std::vector<std::uint32_t> sorted(all.size());
  for (const std::uint32_t i : all) sorted[next[key_of(i)]++] = i;
  all = std::move(sorted);
}

/// Levels from the last transfer back to the first, each as high as what comes after it allows: of
/// a chunk that goes to many, what nobody waits for goes in the last round, with the other chunks
/// that do. Chunks do not wait for each other here, so one is done after the other.
class Levels {
 public:
  explicit Levels(const Schedule& schedule)
      : schedule_(schedule), later_(schedule.ranks), levels_(schedule.transfers.size()) {
    const auto& all = schedule.transfers;
    std::vector<std::uint32_t> by_chunk(all.size());
    std::iota(by_chunk.begin(), by_chunk.end(), 0U);
    sort_stably(by_chunk, [&](std::uint32_t i) { return all[i].chunk; });
    for (std::size_t end = all.size(), begin = end; end > 0; end = begin) {
      const Transfer& last = all[by_chunk[end - 1]];
      if (end == all.size() || all[by_chunk[end]].chunk != last.chunk) {
        later_.assign(schedule.ranks, {});
      }
      const auto goes_with = [&](const Transfer& t) {
        return t.chunk == last.chunk && t.step == last.step;
      };
      while (begin > 0 && goes_with(all[by_chunk[begin - 1]])) --begin;
      add_together(std::span(by_chunk).subspan(begin, end - begin));
    }
    const std::uint32_t lowest = all.empty() ? 0 : *std::ranges::min_element(levels_);
    for (std::uint32_t& level : levels_) level -= lowest;
  }
  [[nodiscard]] std::vector<std::uint32_t> take() && { return std::move(levels_); }

 private:
  /// Transfers of one step and chunk. What a rank receives there has one level, and what it sends
  /// there, which is its value from before, has the same.
  void add_together(std::span<const std::uint32_t> transfers) {
    if (transfers.size() == 1) return settle(transfers.front(), highest(transfers.front()));
    std::vector<std::uint32_t> parts(transfers.size());
    std::map<Rank, std::uint32_t> part_of;  // of those that receive
    for (std::uint32_t k = 0; k < transfers.size(); ++k) {
      parts[k] = part_of.try_emplace(schedule_.transfers[transfers[k]].dst, k).first->second;
    }
    const auto root = [&](std::uint32_t part) {
      while (parts[part] != part) part = parts[part];
      return part;
    };
    std::vector<std::uint32_t> levels(transfers.size(), kLast);
    for (std::uint32_t k = 0; k < transfers.size(); ++k) {
      const auto receives = part_of.find(schedule_.transfers[transfers[k]].src);
      if (receives != part_of.end()) parts[root(receives->second)] = root(k);
    }
    for (std::uint32_t k = 0; k < transfers.size(); ++k) {
      levels[root(k)] = std::min(levels[root(k)], highest(transfers[k]));
    }
    for (std::uint32_t k = 0; k < transfers.size(); ++k) settle(transfers[k], levels[root(k)]);
  }

  [[nodiscard]] std::uint32_t highest(std::uint32_t transfer) {
    const Transfer& t = schedule_.transfers[transfer];
    const Later& at_target = later_[index(t.dst)];
    return std::min({at_target.send - 1, at_target.receive - 1, later_[index(t.src)].receive});
  }

  void settle(std::uint32_t transfer, std::uint32_t level) {
    const Transfer& t = schedule_.transfers[transfer];
    levels_[transfer] = level;
    later_[index(t.src)].send = std::min(later_[index(t.src)].send, level);
    later_[index(t.dst)].receive = std::min(later_[index(t.dst)].receive, level);
  }

  const Schedule& schedule_;
  std::vector<Later> later_;  ///< by rank: of the chunk whose turn it is
  std::vector<std::uint32_t> levels_;
};

Rounds in_order(const Schedule& schedule, std::vector<std::uint32_t> levels) {
  const auto& transfers = schedule.transfers;
  Rounds rounds{std::move(levels), std::vector<std::uint32_t>(transfers.size())};
  std::iota(rounds.order.begin(), rounds.order.end(), 0U);
  sort_stably(rounds.order, [&](std::uint32_t i) { return index(transfers[i].dst); });
  sort_stably(rounds.order, [&](std::uint32_t i) { return index(transfers[i].src); });
  sort_stably(rounds.order, [&](std::uint32_t i) { return rounds.levels[i]; });
  return rounds;
}

std::size_t count_messages(const Schedule& schedule, const Rounds& rounds) {
  std::size_t messages = rounds.order.empty() ? 0 : 1;
  for (std::size_t k = 1; k < rounds.order.size(); ++k) {
    const std::uint32_t before = rounds.order[k - 1], now = rounds.order[k];
    const Transfer &a = schedule.transfers[before], &b = schedule.transfers[now];
    const bool same =
        rounds.levels[before] == rounds.levels[now] && a.src == b.src && a.dst == b.dst;
    messages += same ? 0 : 1;
  }
  return messages;
}

/// As few levels of whole steps as allow that what is received in one is used in later ones only.
std::vector<std::uint32_t> levels_of_steps(const Schedule& schedule) {
  const auto& all = schedule.transfers;
  const std::size_t chunks = schedule.chunks.size();
  std::vector<std::uint32_t> levels(all.size()), received(schedule.ranks * chunks, kLast);
  std::uint32_t level = 0;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].step == all[begin].step) ++end;
    const std::span step = std::span(all).subspan(begin, end - begin);
    const bool is_next = std::ranges::any_of(step, [&](const Transfer& t) {
      return received[index(t.src) * chunks + t.chunk] == level ||
             received[index(t.dst) * chunks + t.chunk] == level;
    });
    level += is_next ? 1 : 0;
    for (const Transfer& t : step) received[index(t.dst) * chunks + t.chunk] = level;
    std::fill(levels.begin() + static_cast<std::ptrdiff_t>(begin),
              levels.begin() + static_cast<std::ptrdiff_t>(end), level);
  }
  return levels;
}

}  // namespace

std::vector<std::uint32_t> levels_of(const Schedule& schedule) {
  return rounds_of(schedule).levels;
}

std::uint64_t most_together(const Topology& topology) {
  constexpr double kSeconds = 8e-6;
  constexpr std::uint64_t kLeast = 128 << 10, kMost = 1 << 20;
  double fastest = 0;
  for (const Link& link : topology.links()) {
    fastest = std::max(fastest, static_cast<double>(link.bandwidth.bytes_per_second));
  }
  const double bytes = std::min(fastest * kSeconds, static_cast<double>(kMost));
  return std::max(std::bit_floor(static_cast<std::uint64_t>(bytes)), kLeast);
}

Rounds rounds_of(const Schedule& schedule) {
  Rounds latest = in_order(schedule, Levels(schedule).take());
  Rounds of_steps = in_order(schedule, levels_of_steps(schedule));
  const bool fewer = count_messages(schedule, of_steps) < count_messages(schedule, latest);
  return fewer ? of_steps : latest;
}

}  // namespace multitree
