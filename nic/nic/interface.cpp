// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The state of an interface.
#include "nic/nic/interface.hpp"

#include <algorithm>

namespace multitree::nic {

Interface::Interface(const Program& program, Rank rank, std::span<const std::uint32_t> port_of_link,
                     std::uint32_t ports, const Parameters& parameters)
    : program_(program),
      parameters_(parameters),
      entries_(program.tables.of_rank[index(rank)]),
      queues_(ports),
      next_(ports, 0),
      pieces_(program.pieces),
      unsent_(static_cast<std::uint32_t>(entries_.size())) {
  for (std::uint32_t e = 0; e < entries_.size(); ++e) {
    queues_[port_of_link[entries_[e].port]].push_back(e);
  }
}

std::uint32_t Interface::head(std::uint32_t port) const {
  return next_[port] == queues_[port].size() ? kNone : queues_[port][next_[port]];
}

std::uint32_t Interface::issuable(std::uint32_t port) const {
  const std::uint32_t number = head(port);
  if (number == kNone) return kNone;
  const Entry& entry = entries_[number];
  if (parameters_.issue == Issue::Lockstep && entry.step > step_) return kNone;
  return taken_of(entry) >= entry.wait ? number : kNone;
}

void Interface::sent(std::uint32_t port) {
  ++pieces_[program_.piece_of(entries_[head(port)])].sent;
  ++next_[port];
  --unsent_;
}

bool Interface::is_open(const Entry& entry) const {
  const Piece& piece = pieces_[program_.piece_of(entry)];
  return piece.taken == entry.turn && piece.sent >= entry.after && piece.adding == 0;
}

void Interface::arrived(EntryRef message, const Entry& entry) {
  parked_.push_back({message, &entry});
}

bool Interface::take(EntryRef& message) {
  const auto found =
      std::ranges::find_if(parked_, [&](const Parked& p) { return is_open(*p.entry); });
  if (found == parked_.end()) return false;
  message = found->message;
  pieces_[program_.piece_of(*found->entry)].adding = 1;
  parked_.erase(found);
  return true;
}

void Interface::taken(const Entry& entry) {
  Piece& piece = pieces_[program_.piece_of(entry)];
  piece.adding = 0;
  ++piece.taken;
}

bool Interface::step_is_done() const {
  for (std::uint32_t p = 0; p < ports(); ++p) {
    const std::uint32_t number = head(p);
    if (number != kNone && entries_[number].step <= step_) return false;
  }
  return true;
}

std::vector<std::uint64_t> estimate_steps(const Program& program, const Parameters& parameters) {
  std::vector<std::uint64_t> cycles(program.tables.steps, 0);
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
