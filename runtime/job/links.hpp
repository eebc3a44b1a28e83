// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links between ranks, and what is said of them when they let nothing through any more.
#pragma once

#include <cstdint>
#include <string>

#include "topologies/error.hpp"
#include "topologies/remaining_network.hpp"

namespace multitree::runtime {

/// In the numbers of the job that it is told in.
using multitree::DeadLink;
using multitree::link_between;

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
