// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Status values become exceptions.
#include "runtime/device/device.hpp"

#include <fmt/format.h>

#include "topologies/error.hpp"

namespace multitree::runtime::device {

Device::~Device() {
  if (table_.close != nullptr) table_.close(table_.self);
}

void Device::check(Status status, const char* what) const {
  if (status == nullptr) return;
  throw Error(ErrorCode::Cuda,
              fmt::format("{} ({}): {}: {}", table_.name, table_.description, what, status));
}

Location Device::locate(const void* pointer) const {
  Location location;
  check(table_.locate(table_.self, pointer, &location), "asking what a pointer points to");
  return location;
}

void* Device::allocate(std::size_t bytes) const {
  void* memory = nullptr;
  check(table_.allocate(table_.self, bytes, &memory), "allocating device memory");
  return memory;
}

void* Device::allocate_pinned(std::size_t bytes) const {
  void* memory = nullptr;
  check(table_.allocate_pinned(table_.self, bytes, &memory), "allocating pinned host memory");
  return memory;
}

Stream Device::create_stream(bool urgent) const {
  Stream stream = nullptr;
  check(table_.create_stream(table_.self, urgent, &stream), "creating a stream");
  return stream;
}

Event Device::create_event() const {
  Event event = nullptr;
  check(table_.create_event(table_.self, &event), "creating an event");
  return event;
}

void Device::record(Event event, Stream stream) const {
  check(table_.record(table_.self, event, stream), "recording an event");
}

bool Device::query(Event event) const {
  bool done = false;
  check(table_.query(table_.self, event, &done), "asking for an event");
  return done;
}

void Device::wait_event(Stream stream, Event event) const {
  check(table_.wait_event(table_.self, stream, event), "making a stream wait for an event");
}

void Device::wait_value(Stream stream, const std::uint32_t* flag, std::uint32_t value) const {
  check(table_.wait_value(table_.self, stream, flag, value), "making a stream wait for a value");
}

bool Device::can_hold(Stream stream) const {
  bool can = false;
  check(table_.can_hold(table_.self, stream, &can), "asking whether a stream can wait");
  return can;
}

bool Device::capturing(Stream stream) const {
  bool result = false;
  check(table_.capturing(table_.self, stream, &result), "asking whether a graph is captured");
  return result;
}

void Device::copy(void* to, const void* from, std::size_t bytes, Stream stream) const {
  if (bytes == 0 || to == from) return;
  check(table_.copy(table_.self, to, from, bytes, stream), "copying");
}

void Device::reduce(const Reduction& reduction, Stream stream) const {
  if (reduction.count == 0) return;
  check(table_.reduce(table_.self, &reduction, stream), "reducing");
}

void Device::divide(void* data, std::size_t count, DataType type, std::uint32_t ranks,
                    Stream stream) const {
  if (count == 0) return;
  check(table_.divide(table_.self, data, count, type, ranks, stream), "dividing");
}

void Device::walk(const Walk& walk, DataType type, ReduceOp op, Stream stream) const {
  check(table_.walk(table_.self, &walk, type, op, stream), "starting a collective's kernel");
}

Handle Device::share(void* memory) const {
  Handle handle;
  check(table_.share(table_.self, memory, &handle), "making a handle of device memory");
  return handle;
}

void* Device::map(const Handle& handle) const {
  void* memory = nullptr;
  check(table_.map(table_.self, &handle, &memory), "mapping a peer's device memory");
  return memory;
}

}  // namespace multitree::runtime::device
