// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages between ranks of one host that come in parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/host/inbox_internal.hpp"

namespace multitree::runtime::host {

/// Where a message is to go.
struct Posted {
  std::byte* data;
  std::size_t bytes;
  Completion* completion;
  Note* note;  ///< the one expected, then the one that came; null: any
};

/// Parts of a message come in order, the first with the letter that opens it. Those that come
/// before anybody wants it are kept.
class InParts {
 public:
  /// Parts of the message that this letter tells of go there from now on, with those that were
  /// kept. \pre it fits
  void expect(const Letter& letter, const Posted& posted) {
    Arrival& arrival = arrivals_[key_of(letter)];
    arrival.bytes = letter.bytes;
    if (arrival.come != 0) std::memcpy(posted.data, arrival.early.data(), arrival.come);
    arrival.early.clear();
    arrival.posted = posted;
    finish(letter, arrival);
  }
  /// Nobody wants it yet.
  void keep(const Letter& letter) {
    Arrival& arrival = arrivals_[key_of(letter)];
    arrival.bytes = letter.bytes;
    arrival.early.resize(letter.bytes);
  }
  /// Who wanted it no longer does: what has come is kept again. \pre it has not all come
  void withdraw(const Letter& letter) {
    Arrival& arrival = arrivals_.at(key_of(letter));
    arrival.early.resize(arrival.bytes);
    if (arrival.come != 0) std::memcpy(arrival.early.data(), arrival.posted->data, arrival.come);
    arrival.posted.reset();
  }
  /// Nobody will: what comes of it is dropped.
  void drop(const Letter& letter) { arrivals_.erase(key_of(letter)); }

  /// The part that comes with an opening letter.
  void put_first(Letter opening, const std::byte* data) {
    opening.bytes = std::min<std::uint64_t>(opening.bytes, Inbox::kRoom);
    opening.offset = 0;
    put(opening, data);
  }
  void put(const Letter& part, const std::byte* data) {
    const auto found = arrivals_.find(key_of(part));
    if (found == arrivals_.end()) return;
    Arrival& arrival = found->second;
    std::byte* const to = arrival.posted ? arrival.posted->data : arrival.early.data();
    std::memcpy(to + part.offset, data, part.bytes);
    arrival.come += part.bytes;
    finish(part, arrival);
  }
  void clear() { arrivals_.clear(); }

 private:
  struct Arrival {
    std::optional<Posted> posted;
    std::vector<std::byte> early;
    std::uint64_t bytes = 0, come = 0;
  };

  /// Of its sender, as that counts.
  static std::uint64_t key_of(const Letter& letter) {
    return std::uint64_t{letter.from} << 32 | letter.number;
  }
  void finish(const Letter& letter, const Arrival& arrival) {
    if (!arrival.posted || arrival.come < arrival.bytes) return;
    Completion& completion = *arrival.posted->completion;
    const std::uint64_t bytes = arrival.bytes;
    arrivals_.erase(key_of(letter));
    completion.complete(bytes);
  }

  std::unordered_map<std::uint64_t, Arrival> arrivals_;
};

}  // namespace multitree::runtime::host
