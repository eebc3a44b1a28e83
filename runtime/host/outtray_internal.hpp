// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Letters of a rank on their way into the inboxes of others.
#pragma once

#include <cstddef>
#include <deque>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "runtime/host/group_internal.hpp"
#include "runtime/host/inbox_internal.hpp"

namespace multitree::runtime::host {

/// Letters for a rank leave in the order in which they were written. What finds no room waits here,
/// copied.
class Outtray {
 public:
  explicit Outtray(const Group& group) : group_(group) {}

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  /// Whether letters for a rank wait.
  [[nodiscard]] bool holds(Seat peer) const { return waiting_.contains(peer); }

  /// False if there is no room for it.
  bool put(Seat peer, const Letter& letter, const void* data, std::size_t bytes) {
    const bool fits = group_.inbox(peer).put(letter, data, bytes);
    if (fits) group_.ring(peer);
    return fits;
  }

  void write(Seat peer, Letter letter, const void* data, std::size_t bytes) {
    letter.from = index(group_.self());
    if (!holds(peer) && put(peer, letter, data, bytes)) return;
    const auto* const begin = static_cast<const std::byte*>(data);
    waiting_[peer].push_back({letter, std::vector<std::byte>(begin, begin + bytes), {}});
  }

  /// What there is room for now; whether anything was.
  bool write_waiting() {
    bool moved = false;
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      auto& [peer, letters] = *it;
      while (!letters.empty()) {
        Waiting& first = letters.front();
        if (!put(peer, first.letter, first.data.data(), first.data.size())) break;
        for (Completion* const completion : first.written) completion->complete();
        letters.pop_front();
        moved = true;
      }
      it = letters.empty() ? waiting_.erase(it) : std::next(it);
    }
    return moved;
  }

  /// Completes when all letters for a rank so far have left.
  void flush(Seat peer, Completion& completion) {
    completion.state = Completion::State::Pending;
    const auto waiting = waiting_.find(peer);
    if (waiting == waiting_.end()) return completion.complete();
    waiting->second.back().written.push_back(&completion);
  }
  void clear() { waiting_.clear(); }

 private:
  struct Waiting {
    Letter letter;
    std::vector<std::byte> data;
    std::vector<Completion*> written;  ///< told once it is
  };

  const Group& group_;
  std::unordered_map<Seat, std::deque<Waiting>> waiting_;
};

}  // namespace multitree::runtime::host
