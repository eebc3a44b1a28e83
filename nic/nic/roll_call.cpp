// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Counts of contributions.
#include "nic/nic/roll_call.hpp"

#include <algorithm>

namespace multitree::nic {

RollCall::RollCall(const Losses& losses, const Program& program)
    : losses_(losses),
      program_(program),
      sum_(static_cast<std::uint32_t>(program.jobs.size()) - 1),
      ranks_(program.tables.ranks),
      pieces_(std::size_t{program.tables.ranks} * program.pieces) {}

void RollCall::is_late(std::uint32_t rank) {
  ranks_[rank] = {.settled = true, .late = true, .undecided = true};
}

std::uint32_t RollCall::count_of(std::uint32_t rank, std::uint32_t piece) const {
  const Piece& p = pieces_[std::size_t{rank} * program_.pieces + piece];
  const bool lacks_own =
      is_called(program_.job_of_piece[piece]) ? ranks_[rank].late : ranks_[rank].absent;
  return p.count + (p.result || lacks_own ? 0 : 1);
}

void RollCall::came(std::uint32_t rank, std::uint32_t piece, Opcode op, std::uint32_t count) {
  Piece& p = pieces_[std::size_t{rank} * program_.pieces + piece];
  p.result = op == Opcode::Gather;
  p.count = count + (p.result ? 0 : p.count);
}

std::optional<std::uint64_t> RollCall::learn(std::uint64_t cycle, std::uint32_t rank,
                                             std::uint32_t found) {
  Of& of = ranks_[rank];
  if (!of.undecided) return std::nullopt;
  of.undecided = false;
  of.absent = found + losses_.budget >= program_.tables.ranks;
  return of.absent ? cycle + 1 : std::max(cycle + 1, ready(rank));
}

LossReport RollCall::report() const {
  LossReport report{.contributions = program_.tables.ranks};
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r].late) report.late.push_back(r);
    if (!ranks_[r].absent) continue;
    report.absent.push_back(r);
    --report.contributions;
  }
  return report;
}

}  // namespace multitree::nic
