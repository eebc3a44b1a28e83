// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the memory model of a verilated node reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rtl/sim/axi_slave.hpp"
#include "rtl/sim/flit_shape.hpp"

namespace multitree::rtl {

/// The memory of one node: a buffer, and what waits beside it, by turn. Known to the hardware by a
/// number as long as it lives. Not thread safe.
class Memory {
 public:
  /// Bytes that are read, or written, at once: a word has one such part or several.
  static constexpr std::uint32_t kPartBytes = 16;

  /// \param word its bytes, as of a flit
  explicit Memory(std::size_t bytes, std::uint32_t word = kUsualFlitBytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] std::uint32_t handle() const { return handle_; }
  /// The buffer.
  [[nodiscard]] std::span<std::byte> bytes() { return {buffer_.data(), size_}; }

  /// How it behaves behind AXI4. \pre No port of it was used.
  void set_timing(const AxiTiming& timing) { timing_ = timing; }
  /// A port of it.
  [[nodiscard]] AxiSlave& axi(std::uint32_t port);

  [[nodiscard]] std::uint32_t word_bytes() const { return word_; }

  /// A part of a word; what is behind the end is 0. \param turn 0: the buffer.
  void read(std::uint32_t turn, std::uint32_t address, void* part);
  /// Those bytes of a part that have a bit in `keep`.
  /// \throws std::out_of_range if one is behind the end of the buffer.
  void write(std::uint32_t turn, std::uint32_t address, std::uint32_t keep, const void* part);

 private:
  std::vector<std::byte>& space(std::uint32_t turn);

  std::size_t size_;
  std::uint32_t word_, handle_;
  std::vector<std::byte> buffer_;               // and a word more
  std::vector<std::vector<std::byte>> beside_;  // [turn - 1], as large, once used
  AxiTiming timing_;
  std::vector<std::unique_ptr<AxiSlave>> axi_;  // [port], once used
};

/// The memory of that number.
Memory& memory_of(std::uint32_t handle);

}  // namespace multitree::rtl
