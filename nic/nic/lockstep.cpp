// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Steps that begin together: Issue::Lockstep.
#include <algorithm>

#include "nic/nic/endpoints.hpp"

namespace multitree::nic {

bool Endpoints::step_is_done(std::uint32_t rank) const {
  if (shared_) {
    const std::uint32_t step = shared_->step(rank);
    return step == kNone || step > step_of_[rank];
  }
  for (std::uint32_t p = first_port_[rank]; p < first_port_[rank + 1]; ++p) {
    const Port& port = ports_[p];
    if (port.sending != kNone) return false;
    if (port.piece != kNone && port.step <= step_of_[rank]) return false;
  }
  return true;
}

/// Goes on to the next step once all of this one was sent and its time has passed.
void Endpoints::check_step(std::uint32_t rank) {
  while (step_of_[rank] < steps_.size() && step_is_done(rank) && now_ >= step_ends_[rank]) {
    if (++step_of_[rank] == steps_.size()) break;
    enter_step(rank);
  }
  wake_ports(rank);
}

/// A step begins, and is not over before its estimated time has passed.
void Endpoints::enter_step(std::uint32_t rank) {
  const std::uint32_t step = step_of_[rank];
  if (observer_ != nullptr && step > 0) observer_->step(now_, rank, step);
  step_ends_[rank] = now_ + steps_[step];
  events_.push(step_ends_[rank], {Kind::Step, rank});
}

std::vector<std::uint64_t> estimate_steps(const Program& program, const Parameters& parameters) {
  std::vector<std::uint64_t> cycles(program.tables.steps, 1);
  for (const auto& entries : program.tables.of_rank) {
    for (const Entry& entry : entries) {
      const std::uint64_t payload = payload_flits(entry.size, parameters);
      const std::uint64_t flits = payload + header_flits(payload, parameters);
      const std::uint64_t packets =
          (entry.size * parameters.element_bytes + parameters.packet_bytes - 1) /
          parameters.packet_bytes;
      const std::uint64_t estimate =
          std::max(packets, flits - std::min<std::uint64_t>(flits, parameters.step_discount));
      cycles[entry.step] = std::max(cycles[entry.step], estimate);
    }
  }
  return cycles;
}

}  // namespace multitree::nic
