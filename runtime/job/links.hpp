// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links between ranks, and what is said of them when they let nothing through any more.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "topologies/error.hpp"

namespace multitree::runtime {

/// The link between two ranks, both ways. a < b, in the numbers of the job it is told in.
struct DeadLink {
  std::uint32_t a = 0, b = 0;
  auto operator<=>(const DeadLink&) const = default;
};

/// Of two ranks in any order.
constexpr DeadLink link_between(std::uint32_t one, std::uint32_t other) {
  return one < other ? DeadLink{one, other} : DeadLink{other, one};
}

/// A link is dead while both of its ranks may well be alive. Thrown at every rank of the job:
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
