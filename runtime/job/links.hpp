// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The processes of a job, as against the endpoints of a network; links between them, and what is
/// said of these when they let nothing through any more.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "topologies/error.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// What fmt prints.
[[nodiscard]] constexpr std::uint32_t format_as(Rank rank) { return index(rank); }

}  // namespace multitree

namespace multitree::runtime {

/// A process of a job: 0 .. Bootstrap::size()-1. A job that shrinks numbers those who stay anew, in
/// the order that they had.
enum class Seat : std::uint32_t {};

[[nodiscard]] constexpr std::uint32_t index(Seat seat) { return static_cast<std::uint32_t>(seat); }
/// What fmt prints.
[[nodiscard]] constexpr std::uint32_t format_as(Seat seat) { return index(seat); }

/// All of a job of so many, one after the other.
class Seats {
 public:
  explicit constexpr Seats(std::uint32_t size) : size_(size) {}

  struct Iterator {
    Seat seat{};
    constexpr Seat operator*() const { return seat; }
    constexpr Iterator& operator++() {
      seat = Seat{index(seat) + 1};
      return *this;
    }
    bool operator==(const Iterator&) const = default;
  };
  [[nodiscard]] constexpr Iterator begin() const { return {Seat{0}}; }
  [[nodiscard]] constexpr Iterator end() const { return {Seat{size_}}; }

 private:
  std::uint32_t size_;
};

/// The ranks of a network, and so of the schedules made for it, take the seats of the job that runs
/// them in their order. These two are the only places where one becomes the other.
[[nodiscard]] constexpr Seat seat_of(Rank rank) { return Seat{index(rank)}; }
[[nodiscard]] constexpr Rank rank_at(Seat seat) { return Rank{index(seat)}; }

/// What happens when nothing, or less, passes over a link than did.
enum class OnLinkFailure : std::uint8_t {
  Stop,      ///< calls under way end in a LinkError, at all ranks
  Continue,  ///< messages take another way between its ends if there is one, and calls go on
  /// The same, and later calls run schedules that do without it, or with less of a link that has
  /// become slow, until it is back.
  Adapt,
};

/// The link between two processes, both ways, through which nothing passes. a < b.
template <typename Number>
struct LinkBetween {
  Number a{}, b{};
  auto operator<=>(const LinkBetween&) const = default;
};
/// Of two in any order.
template <typename Number>
constexpr LinkBetween<Number> link_between(Number one, Number other) {
  return one < other ? LinkBetween<Number>{one, other} : LinkBetween<Number>{other, one};
}
using DeadLink = LinkBetween<Seat>;

/// A link of a process that brings less than it did.
struct ImpairedLink {
  Seat peer{};                ///< at its other end
  std::uint32_t percent = 0;  ///< of its rate, that is left; 0: it is silent
  bool operator==(const ImpairedLink&) const = default;
};

/// A link is dead while both of its ends may well be alive. Thrown at every rank of the job:
/// Communicator::shrink() goes on without the link.
class LinkError : public Error {
 public:
  LinkError(DeadLink link, const std::string& message)
      : Error(ErrorCode::Transport, message), link_(link) {}
  [[nodiscard]] DeadLink link() const { return link_; }

 private:
  DeadLink link_;
};

}  // namespace multitree::runtime
