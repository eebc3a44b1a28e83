// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Memories by number, and the functions that the memory model calls.
#include "rtl/sim/memory.hpp"

#include <svdpi.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace multitree::rtl {
namespace {

constexpr std::size_t kPart = Memory::kPartBytes;

std::vector<Memory*>& memories() {
  static std::vector<Memory*> all;
  return all;
}

}  // namespace

Memory::Memory(std::size_t bytes, std::uint32_t word)
    : size_(bytes),
      word_(word),
      handle_(static_cast<std::uint32_t>(memories().size())),
      buffer_(bytes + word) {
  memories().push_back(this);
}

Memory::~Memory() {
  memories()[handle_] = nullptr;
  while (!memories().empty() && memories().back() == nullptr) memories().pop_back();
}

Memory& memory_of(std::uint32_t handle) { return *memories()[handle]; }

AxiSlave& Memory::axi(std::uint32_t port) {
  while (axi_.size() <= port) {
    AxiTiming timing = timing_;
    timing.seed += axi_.size();
    axi_.push_back(std::make_unique<AxiSlave>(*this, timing));
  }
  return *axi_[port];
}

std::vector<std::byte>& Memory::space(std::uint32_t turn) {
  if (turn == 0) return buffer_;
  if (beside_.size() < turn) beside_.resize(turn);
  std::vector<std::byte>& space = beside_[turn - 1];
  if (space.empty()) space.resize(size_ + word_);
  return space;
}

void Memory::read(std::uint32_t turn, std::uint32_t address, void* part) {
  const std::vector<std::byte>& from = space(turn);
  if (address + kPart <= from.size()) {
    std::memcpy(part, from.data() + address, kPart);
  } else {
    std::memset(part, 0, kPart);
  }
}

void Memory::write(std::uint32_t turn, std::uint32_t address, std::uint32_t keep,
                   const void* part) {
  std::byte* const to = space(turn).data() + address;
  const auto* const from = static_cast<const std::byte*>(part);
  if (keep == 0xffff && address + kPart <= size_) {
    std::memcpy(to, from, kPart);
    return;
  }
  // What waits beside the buffer is written in whole words.
  const std::size_t end = turn == 0 ? size_ : size_ + word_;
  for (std::size_t b = 0; b < kPart; ++b) {
    if ((keep >> b & 1) == 0) continue;
    if (address + b >= end) {
      throw std::out_of_range("memory of " + std::to_string(size_) + " bytes: write to " +
                              std::to_string(address + b));
    }
    to[b] = from[b];
  }
}

}  // namespace multitree::rtl

extern "C" void mt_memory_read(int handle, int turn, int address, svBitVecVal* data) {
  multitree::rtl::memories()[static_cast<std::size_t>(handle)]->read(
      static_cast<std::uint32_t>(turn), static_cast<std::uint32_t>(address), data);
}

extern "C" void mt_memory_write(int handle, int turn, int address, int keep,
                                const svBitVecVal* data) {
  multitree::rtl::memories()[static_cast<std::size_t>(handle)]->write(
      static_cast<std::uint32_t>(turn), static_cast<std::uint32_t>(address),
      static_cast<std::uint32_t>(keep), data);
}
