// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who was there at the deadline, and what sums hold.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nic/losses.hpp"
#include "nic/program/program.hpp"

namespace multitree::nic {

/// What interfaces know of contributions that may be missing: mt_losses of the hardware, of all
/// ranks. The last job is the sum, the one before it, if there is one, the roll call.
class RollCall {
 public:
  RollCall(const Losses& losses, const Program& program);

  [[nodiscard]] std::uint32_t sum() const { return sum_; }
  [[nodiscard]] bool is_called(std::uint32_t job) const { return job < sum_; }
  /// When the rank's contribution is there, and whether it is late. Nobody is late who is not
  /// called.
  [[nodiscard]] std::uint64_t ready(std::uint32_t rank) const {
    return losses_.ready.empty() ? 0 : losses_.ready[rank];
  }
  [[nodiscard]] bool comes_late(std::uint32_t rank) const {
    return sum_ > 0 && ready(rank) > losses_.deadline;
  }
  /// The first cycle in which it can be seen that a rank is late.
  [[nodiscard]] std::uint64_t seen_late() const { return losses_.deadline + 1; }

  /// The rank's contribution is there; the deadline has passed without it. It can answer then.
  void is_there(std::uint32_t rank) { ranks_[rank].settled = true; }
  void is_late(std::uint32_t rank);
  [[nodiscard]] bool is_settled(std::uint32_t rank) const { return ranks_[rank].settled; }

  /// What a message of the piece that the rank begins holds.
  [[nodiscard]] std::uint32_t count_of(std::uint32_t rank, std::uint32_t piece) const;
  /// The first header of such a message comes to a rank.
  void came(std::uint32_t rank, std::uint32_t piece, Opcode op, std::uint32_t count);
  /// The rank learns in that cycle how many the roll call has found. \returns when it starts the
  /// sum, if it has waited for that.
  std::optional<std::uint64_t> learn(std::uint64_t cycle, std::uint32_t rank, std::uint32_t found);
  /// Whether the sum goes on without the rank's contribution.
  [[nodiscard]] bool is_absent(std::uint32_t rank) const { return ranks_[rank].absent; }
  [[nodiscard]] LossReport report() const;

 private:
  struct Of {
    bool settled = false, late = false, undecided = false, absent = false;
  };
  struct Piece {
    std::uint32_t count = 0;
    bool result = false;
  };

  const Losses& losses_;
  const Program& program_;
  std::uint32_t sum_;
  std::vector<Of> ranks_;
  std::vector<Piece> pieces_;  // [rank][piece]
};

}  // namespace multitree::nic
