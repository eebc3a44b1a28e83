// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A device that was found, and its functions with exceptions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device/table.hpp"

namespace multitree::runtime::device {

/// Owns a table. Everything throws Error(Cuda) with the device's own words if the device fails.
class Device {
 public:
  explicit Device(const Table& table) : table_(table) {}
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] const Table& table() const { return table_; }

  [[nodiscard]] Location locate(const void* pointer) const;
  [[nodiscard]] void* allocate(std::size_t bytes) const;
  [[nodiscard]] void* allocate_pinned(std::size_t bytes) const;
  [[nodiscard]] Stream create_stream(bool urgent) const;
  [[nodiscard]] Event create_event() const;
  void record(Event event, Stream stream) const;
  [[nodiscard]] bool query(Event event) const;
  void wait_event(Stream stream, Event event) const;
  void wait_value(Stream stream, const std::uint32_t* flag, std::uint32_t value) const;
  [[nodiscard]] bool can_hold(Stream stream) const;
  [[nodiscard]] bool capturing(Stream stream) const;
  void copy(void* to, const void* from, std::size_t bytes, Stream stream) const;
  void reduce(const Reduction& reduction, Stream stream) const;
  void divide(void* data, std::size_t count, DataType type, std::uint32_t ranks,
              Stream stream) const;
  void walk(const Walk& walk, DataType type, ReduceOp op, Stream stream) const;
  [[nodiscard]] Handle share(void* memory) const;
  [[nodiscard]] void* map(const Handle& handle) const;

  // At the end of something's life: what fails there has failed before, and said so.
  void free(void* memory) const noexcept { table_.free(table_.self, memory); }
  void free_pinned(void* memory) const noexcept { table_.free_pinned(table_.self, memory); }
  void destroy_stream(Stream stream) const noexcept { table_.destroy_stream(table_.self, stream); }
  void destroy_event(Event event) const noexcept { table_.destroy_event(table_.self, event); }
  void unmap(const Handle& handle, void* memory) const noexcept {
    table_.unmap(table_.self, &handle, memory);
  }

 private:
  void check(Status status, const char* what) const;

  Table table_;
};

/// Opens the CUDA device that is current in this thread, or the `ordinal`-th. Nothing needs to be
/// there: this program neither links CUDA nor requires a driver. The library
/// libmultitree_cuda.so is looked for at $MULTITREE_CUDA_LIBRARY, beside this program or library,
/// in
/// ../lib from there, and where the loader looks.
/// \returns null, and says in `why` what is missing.
std::shared_ptr<const Device> open_cuda(std::int32_t ordinal, std::string& why);

/// Descriptions of the devices of this host, in the order of their numbers, each once; none: `why`
/// says what is missing.
std::vector<std::string> cuda_devices(std::string& why);

/// Whether this process has the CUDA driver loaded, without which no pointer is a device pointer;
/// or whoever started it named a library, and so wants it to be used.
bool cuda_is_loaded();

}  // namespace multitree::runtime::device
