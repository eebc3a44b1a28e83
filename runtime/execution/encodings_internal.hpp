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
#include "runtime/kernels/lossless.hpp"

namespace multitree::runtime {

/// Rounded or packed values of slots of one execution, made once for all they are sent to, and
/// passed on as they came: so every rank gets the bytes of the root.
class Encodings {
 public:
  /// What travels.
  struct Message {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
  };

  /// Both outlive it. \pre program.wire != WireType::AsIs
  Encodings(const Program& program, DataType type, ScratchPool& pool)
      : program_(program),
        type_(type),
        pool_(pool),
        blocks_(program.pieces.size()),
        bytes_(program.pieces.size()) {}
  ~Encodings();
  Encodings(const Encodings&) = delete;
  Encodings& operator=(const Encodings&) = delete;

  [[nodiscard]] bool has(std::uint32_t slot) const { return blocks_[slot].data != nullptr; }
  /// Of a slot whose value lies at `value`; makes it unless there is one.
  Message of(std::uint32_t slot, const std::byte* value);
  /// A slot's value is what was received, of so many bytes; the block is exchanged for another as
  /// large.
  void keep(std::uint32_t slot, ScratchPool::Block& received, std::size_t bytes);
  /// A slot's value changes, or nobody needs it any more.
  void drop(std::uint32_t slot);

  /// Into the slot's place in `data`. \throws Error(Transport) if it is no such message
  void decode(std::uint32_t slot, const Message& message, std::byte* data);
  /// The same, behind the operator's first operand, which lies in `first` as it does in `data`.
  void reduce(std::uint32_t slot, const Message& message, const std::byte* first, std::byte* data,
              ReduceOp op, const ReduceFunction* function);

 private:
  ScratchPool::Block take(std::uint32_t slot);
  [[nodiscard]] std::size_t count_of(std::uint32_t slot) const {
    return program_.pieces[slot].bytes / size_of(type_);
  }

  const Program& program_;
  DataType type_;
  ScratchPool& pool_;
  std::vector<ScratchPool::Block> blocks_;  ///< by slot; empty: none
  std::vector<std::size_t> bytes_;          ///< of messages, by slot
  LosslessCodec lossless_;
  std::vector<std::byte> unpacked_;  ///< of one slot, before it is reduced
};

/// \throws Error(Unsupported) unless what travels may be rounded: where inputs are reduced, every
/// chunk is summed at one rank, as two that round different parts would get different bits.
void check_roundable(const Schedule& schedule, WireType wire);

}  // namespace multitree::runtime
