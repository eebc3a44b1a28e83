// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What ranks say to all, which the coordinator passes on in one order.
#include <utility>

#include "runtime/job/tcp_job_internal.hpp"

namespace multitree::runtime {

void Tcp::say(const std::string& words) { channel_.send(FrameType::Say, words); }

void Tcp::hear_with(Listener listener) { hearing_.set(std::move(listener)); }

void Tcp::hear(const std::string& payload) {
  Reader reader(payload);
  const auto from = reader.number();
  auto words = reader.text();
  if (!from || *from >= options_.size || !words) {
    return fail_with("invalid message from " + options_.coordinator_name);
  }
  hearing_.hear(Seat{*from}, std::move(*words));
}

}  // namespace multitree::runtime
