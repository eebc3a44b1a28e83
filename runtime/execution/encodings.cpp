// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Blocks of rounded and packed values.
#include "runtime/execution/encodings_internal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/kernels/reduce.hpp"
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

Encodings::Message Encodings::of(std::uint32_t slot, const std::byte* value) {
  ScratchPool::Block& block = blocks_[slot];
  if (block.data == nullptr) {
    block = take(slot);
    const std::size_t count = count_of(slot);
    if (program_.wire == WireType::Lossless) {
      bytes_[slot] = lossless_.encode(block.data.get(), value, count, size_of(type_));
    } else {
      encode(program_.wire, block.data.get(), floats(value), count);
      bytes_[slot] = wire_bytes(program_.wire, count);
    }
  }
  return {block.data.get(), bytes_[slot]};
}

/// For any message of the program: a block may become that of another receive. A rank that receives
/// nothing has only its own.
ScratchPool::Block Encodings::take(std::uint32_t slot) {
  const std::size_t most = program_.wire == WireType::Lossless
                               ? program_.pieces[slot].bytes
                               : wire_bytes(program_.wire, count_of(slot));
  return pool_.take(std::max<std::size_t>(program_.scratch_bytes, most));
}

void Encodings::keep(std::uint32_t slot, ScratchPool::Block& received, std::size_t bytes) {
  ScratchPool::Block& block = blocks_[slot];
  if (block.data == nullptr) block = take(slot);
  std::swap(block, received);
  bytes_[slot] = bytes;
}

void Encodings::drop(std::uint32_t slot) {
  if (!has(slot)) return;
  pool_.give(std::move(blocks_[slot]));
  blocks_[slot] = {};
}

void Encodings::decode(std::uint32_t slot, const Message& message, std::byte* data) {
  std::byte* const to = data + program_.pieces[slot].begin;
  if (program_.wire == WireType::Lossless) {
    lossless_.decode(to, count_of(slot), size_of(type_), message.data, message.bytes);
  } else {
    runtime::decode(program_.wire, floats(to), message.data, count_of(slot));
  }
}

void Encodings::reduce(std::uint32_t slot, const Message& message, const std::byte* first,
                       std::byte* data, ReduceOp op, const ReduceFunction* function) {
  const auto [begin, bytes] = program_.pieces[slot];
  if (program_.wire != WireType::Lossless) {
    return decode_and_reduce(program_.wire, floats(data + begin), floats(first + begin),
                             message.data, count_of(slot), op, function);
  }
  const std::byte* second = message.data;
  if (message.bytes != bytes) {
    unpacked_.resize(std::max<std::size_t>(unpacked_.size(), bytes));
    lossless_.decode(unpacked_.data(), count_of(slot), size_of(type_), message.data, message.bytes);
    second = unpacked_.data();
  }
  runtime::reduce(data + begin, first + begin, second, count_of(slot), type_, op, function);
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
