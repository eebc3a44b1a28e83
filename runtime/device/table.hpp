// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the runtime needs of an accelerator, as a table of functions. CUDA is one (a library that
/// is loaded at run time), the tests bring another on host memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/device/walk.hpp"
#include "runtime/kernels/data_type.hpp"

namespace multitree::runtime::device {

/// Raised whenever the table changes: a library of another version is refused.
inline constexpr std::uint32_t kTableVersion = 3;

using Stream = void*;  ///< a cudaStream_t; null is the legacy default stream
using Event = void*;
/// Null if it worked, else why not, in words that live for ever.
using Status = const char*;

/// What a pointer points to.
enum class Place : std::uint8_t { Pageable, Pinned, Device, Managed };
struct Location {
  Place place = Place::Pageable;
  std::int32_t device = -1;  ///< the one that it lies on; -1 for host memory
};

/// Who a rank's device is, for others to find out whether they can map its memory.
struct Identity {
  std::array<char, 64> host{};  ///< of this boot of this host; empty: never maps anything
  std::array<char, 32> unit{};  ///< PCI address, or what tells one device of a host from another
  std::uint64_t process = 0;
};

/// Device memory, told to another process.
struct Handle {
  std::array<std::uint8_t, 64> bytes{};
  std::uint64_t address = 0;  ///< in the owner
  std::uint64_t process = 0;  ///< the owner; there `address` is good as it is
};

/// The first so many DataTypes and ReduceOps have kernels.
inline constexpr std::size_t kTypes = 8, kOps = 5;
/// Inputs that one pass can read; more take several passes.
inline constexpr std::uint32_t kMaxInputs = 9;

/// result[i] = inputs[0][i] op inputs[1][i] op ..., in that order. 16-bit floats are computed in
/// float and rounded to nearest even once, at the end: with two inputs that is what the host's
/// reduce() does, with more it is more exact. `result` may be inputs[0]. Avg adds.
struct Reduction {
  void* result = nullptr;
  std::array<const void*, kMaxInputs> inputs{};
  std::uint32_t input_count = 0;  ///< 2 .. kMaxInputs
  std::size_t count = 0;          ///< elements
  DataType type{};
  ReduceOp op{};
};

/// Functions may be called from any thread, and by several at once on different streams. None waits
/// for the device, except those that allocate, free, create, destroy and close.
struct Table {
  std::uint32_t version = kTableVersion;
  const char* name = "";         ///< "cuda"
  const char* description = "";  ///< "NVIDIA H200 0000:1b:00.0"
  std::int32_t ordinal = 0;      ///< as Location::device counts
  Identity identity;
  void* self = nullptr;
  void (*close)(void* self) = nullptr;

  Status (*allocate)(void* self, std::size_t bytes, void** memory) = nullptr;
  Status (*free)(void* self, void* memory) = nullptr;
  /// Host memory that the device can read and write, at the same address.
  Status (*allocate_pinned)(void* self, std::size_t bytes, void** memory) = nullptr;
  Status (*free_pinned)(void* self, void* memory) = nullptr;
  Status (*locate)(void* self, const void* pointer, Location* location) = nullptr;

  /// A stream that does not synchronise with the default stream; `urgent`: of the highest priority,
  /// so that it shares no hardware queue with others, which may be held until it gets on.
  Status (*create_stream)(void* self, bool urgent, Stream* stream) = nullptr;
  Status (*destroy_stream)(void* self, Stream stream) = nullptr;
  Status (*create_event)(void* self, Event* event) = nullptr;
  Status (*destroy_event)(void* self, Event event) = nullptr;
  Status (*record)(void* self, Event event, Stream stream) = nullptr;
  /// \p done: whether all before the last record() has ended.
  Status (*query)(void* self, Event event, bool* done) = nullptr;
  Status (*wait_event)(void* self, Stream stream, Event event) = nullptr;
  /// Holds the stream until *flag, in pinned memory, is at least `value` (cyclically).
  Status (*wait_value)(void* self, Stream stream, const std::uint32_t* flag,
                       std::uint32_t value) = nullptr;
  /// Whether wait_value() works on the stream and can hold no urgent stream of ours with it.
  Status (*can_hold)(void* self, Stream stream, bool* can) = nullptr;
  /// Whether a graph is being captured from the stream.
  Status (*capturing)(void* self, Stream stream, bool* capturing) = nullptr;

  /// Between any two places that locate() calls Pinned, Device or Managed, and mapped memory.
  Status (*copy)(void* self, void* to, const void* from, std::size_t bytes,
                 Stream stream) = nullptr;
  Status (*reduce)(void* self, const Reduction* reduction, Stream stream) = nullptr;
  /// data[i] = data[i] / ranks; integers truncate.
  Status (*divide)(void* self, void* data, std::size_t count, DataType type, std::uint32_t ranks,
                   Stream stream) = nullptr;

  /// Blocks that a walk has; all of them run at the same time. 0: the device cannot walk.
  std::uint32_t walk_blocks = 0;
  /// A whole collective as one kernel, also into a graph that is captured from the stream. Pointers
  /// but `steps` and `lanes` may be mapped memory.
  Status (*walk)(void* self, const Walk* walk, DataType type, ReduceOp op, Stream stream) = nullptr;

  /// \pre `memory` is from allocate()
  Status (*share)(void* self, void* memory, Handle* handle) = nullptr;
  bool (*can_map)(void* self, const Identity* other) = nullptr;
  Status (*map)(void* self, const Handle* handle, void** memory) = nullptr;
  Status (*unmap)(void* self, const Handle* handle, void* memory) = nullptr;
};

/// What libmultitree_cuda.so exports as "multitree_device_open": fills `table` for a device (-1:
/// the caller's current one). `version`: the caller's kTableVersion.
using OpenFunction = Status (*)(std::uint32_t version, std::int32_t ordinal, Table* table);

}  // namespace multitree::runtime::device
