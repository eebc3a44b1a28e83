// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Blocks of rounded values.
#include "runtime/execution/encodings_internal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/kernels/wire.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

const float* floats(const std::byte* memory) { return reinterpret_cast<const float*>(memory); }
float* floats(std::byte* memory) { return reinterpret_cast<float*>(memory); }

}  // namespace

Encodings::~Encodings() {
  for (std::uint32_t slot = 0; slot < blocks_.size(); ++slot) drop(slot);
}

const std::byte* Encodings::of(std::uint32_t slot, const std::byte* value) {
  ScratchPool::Block& block = blocks_[slot];
  if (block.data == nullptr) {
    block = take(slot);
    encode(program_.wire, block.data.get(), floats(value), count_of(slot));
  }
  return block.data.get();
}

/// For any message of the program: a block may become that of another receive. A rank that receives
/// nothing has only its own.
ScratchPool::Block Encodings::take(std::uint32_t slot) {
  return pool_.take(
      std::max<std::size_t>(program_.scratch_bytes, wire_bytes(program_.wire, count_of(slot))));
}

void Encodings::keep(std::uint32_t slot, ScratchPool::Block& received) {
  ScratchPool::Block& block = blocks_[slot];
  if (block.data == nullptr) block = take(slot);
  std::swap(block, received);
}

void Encodings::drop(std::uint32_t slot) {
  if (!has(slot)) return;
  pool_.give(std::move(blocks_[slot]));
  blocks_[slot] = {};
}

void Encodings::decode(std::uint32_t slot, const std::byte* message, std::byte* data) const {
  runtime::decode(program_.wire, floats(data + program_.pieces[slot].begin), message,
                  count_of(slot));
}

void Encodings::reduce(std::uint32_t slot, const std::byte* message, const std::byte* first,
                       std::byte* data, ReduceOp op, const ReduceFunction* function) const {
  const std::uint64_t begin = program_.pieces[slot].begin;
  decode_and_reduce(program_.wire, floats(data + begin), floats(first + begin), message,
                    count_of(slot), op, function);
}

void check_roundable(const Schedule& schedule, WireType wire) {
  std::vector<std::vector<bool>> told(schedule.chunks.size());
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.op != Op::Reduce) continue;
    std::vector<bool>& tellers = told[transfer.chunk];
    tellers.resize(schedule.ranks);
    if (!tellers[index(transfer.src)]) {
      tellers[index(transfer.src)] = true;
      continue;
    }
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} by messages of {}: expected a schedule that sums each chunk at one "
                            "rank, found in \"{}\" that rank {} sends its part of chunk {} twice",
                            to_string(schedule.collective), to_string(wire), schedule.algorithm,
                            index(transfer.src), transfer.chunk));
  }
  // Then whoever has told nobody is the root; there is one, or all would be in a circle.
}

}  // namespace multitree::runtime
