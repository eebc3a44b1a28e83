// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whether ranks are to lend each other their memory, by trying both ways.
#include "runtime/host/lending_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/job/log_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::host {
namespace {

using Clock = std::chrono::steady_clock;

/// What is copied: fits the first areas of any number of ranks, and the second caches.
constexpr std::uint64_t kProbeBytes = 64 * 1024;
/// The first only brings memory to where it stays.
constexpr int kRounds = 4;

template <typename Work>
Clock::duration time_of(const Work& work) {
  const Clock::time_point before = Clock::now();
  work();
  return Clock::now() - before;
}

/// A neighbour's data as a rank gets them either way, again and again.
class Trial {
 public:
  Trial(Group& group, Bootstrap& bootstrap, Deadline deadline)
      : group_(group),
        bootstrap_(bootstrap),
        until_(Clock::now() + deadline),
        from_{(index(group.self()) + 1) % group.size()},
        own_(kProbeBytes),
        got_(kProbeBytes) {}

  /// Collective. How much longer than lending it takes this rank to copy its data to an area and
  /// the neighbour's out of one; the best of some rounds, as strangers may take the processor.
  Clock::duration loss_by_areas() {
    Clock::duration by_areas = Clock::duration::max(), by_lending = by_areas;
    for (int round = 0; round < kRounds; ++round) {
      std::memset(own_.data(), round, own_.size());
      const Clock::duration in = time_of([&] {
        std::memcpy(group_.input(group_.self(), group_.published() + 1), own_.data(), own_.size());
      });
      show(own_.data());
      const Clock::duration out = time_of(
          [&] { std::memcpy(got_.data(), group_.input(from_, group_.published()), got_.size()); });
      const auto address = seen<std::uint64_t>(from_);
      const Clock::duration read =
          time_of([&] { group_.peers().read(from_, got_.data(), address, got_.size()); });
      by_areas = std::min(by_areas, in + out);
      by_lending = std::min(by_lending, read);
    }
    return by_areas - by_lending;
  }

  /// Collective: the sum of what the ranks say.
  Clock::duration sum(Clock::duration mine) {
    show(mine);
    Clock::duration sum{0};
    for (const Seat seat : Seats(group_.size())) sum += seen<Clock::duration>(seat);
    return sum;
  }

 private:
  /// On this rank's next card, and waits for everybody's.
  template <typename Value>
  void show(Value value) {
    static_assert(sizeof value <= sizeof(Card::near));
    std::memcpy(group_.card(group_.self(), group_.published() + 1).near, &value, sizeof value);
    group_.publish();
    Patience& patience = group_.patience();
    patience.renew();
    while (const auto missing = group_.missing(group_.published())) {
      if (!patience.lasts()) look_after(*missing);
    }
  }

  template <typename Value>
  [[nodiscard]] Value seen(Seat seat) const {
    Value value;
    std::memcpy(&value, group_.card(seat, group_.published()).near, sizeof value);
    return value;
  }

  void look_after(Seat missing) {
    if (const auto failure = bootstrap_.failure()) throw Error(ErrorCode::Transport, *failure);
    if (Clock::now() > until_) {
      throw Error(ErrorCode::Timeout,
                  fmt::format("rank {} did not come to measure the memory of this host", missing));
    }
    std::this_thread::sleep_for(std::chrono::microseconds{50});
    group_.patience().renew();
  }

  Group& group_;
  Bootstrap& bootstrap_;
  Clock::time_point until_;
  Seat from_;
  std::vector<std::byte> own_, got_;
};

}  // namespace

bool is_lending_faster(Group& group, Bootstrap& bootstrap, Deadline deadline) {
  if (group.size() == 1) return true;
  Trial trial(group, bootstrap, deadline);
  const Clock::duration loss = trial.loss_by_areas();
  const bool faster = trial.sum(loss) > Clock::duration::zero();
  using Microseconds = std::chrono::duration<double, std::micro>;
  logger().info("{} KiB of a neighbour take {:.1f} us {} by shared areas than by direct access: {}",
                kProbeBytes / 1024, Microseconds(loss < loss.zero() ? -loss : loss).count(),
                loss < loss.zero() ? "less" : "more",
                faster ? "direct access for collectives" : "shared areas for collectives");
  return faster;
}

}  // namespace multitree::runtime::host
