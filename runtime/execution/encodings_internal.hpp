// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What values travel as, where that is not what they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/schedule.hpp"
#include "runtime/execution/program_internal.hpp"
#include "runtime/execution/scratch_pool_internal.hpp"
#include "runtime/kernels/data_type.hpp"

namespace multitree::runtime {

/// Rounded values of slots of one execution, made once for all they are sent to, and passed on as
/// they came: so every rank gets the bytes of the root.
class Encodings {
 public:
  /// Both outlive it. \pre program.wire != WireType::AsIs
  Encodings(const Program& program, ScratchPool& pool)
      : program_(program), pool_(pool), blocks_(program.pieces.size()) {}
  ~Encodings();
  Encodings(const Encodings&) = delete;
  Encodings& operator=(const Encodings&) = delete;

  [[nodiscard]] bool has(std::uint32_t slot) const { return blocks_[slot].data != nullptr; }
  /// Of a slot whose value lies at `value`; makes it unless there is one.
  const std::byte* of(std::uint32_t slot, const std::byte* value);
  /// A slot's value is what was received; the block is exchanged for another as large.
  void keep(std::uint32_t slot, ScratchPool::Block& received);
  /// A slot's value changes, or nobody needs it any more.
  void drop(std::uint32_t slot);

  /// Into the slot's place in `data`.
  void decode(std::uint32_t slot, const std::byte* message, std::byte* data) const;
  /// The same, behind the operator's first operand, which lies in `first` as it does in `data`.
  void reduce(std::uint32_t slot, const std::byte* message, const std::byte* first, std::byte* data,
              ReduceOp op, const ReduceFunction* function) const;

 private:
  ScratchPool::Block take(std::uint32_t slot);
  [[nodiscard]] std::size_t count_of(std::uint32_t slot) const {
    return program_.pieces[slot].bytes / sizeof(float);
  }

  const Program& program_;
  ScratchPool& pool_;
  std::vector<ScratchPool::Block> blocks_;  ///< by slot; empty: none
};

/// \throws Error(Unsupported) unless what travels may be rounded: where inputs are reduced, every
/// chunk is summed at one rank, as two that round different parts would get different bits.
void check_roundable(const Schedule& schedule, WireType wire);

}  // namespace multitree::runtime
