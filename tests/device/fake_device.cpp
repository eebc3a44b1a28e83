// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The functions of the fake's table; its memory is in fake_memory.cpp.
#include "fake_device.hpp"

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>

#include "cpu_cuda/kernels.hpp"
#include "fake_memory.hpp"
#include "fake_state.hpp"
#include "fake_walk.hpp"

namespace multitree::runtime::test {
namespace {

using device::Event;
using device::Status;
using device::Stream;

Fake& fake(void* self) { return *static_cast<Fake*>(self); }

/// A function of the table: locks, and is refused once the device has failed.
template <typename F>
Status locked(void* self, F f) {
  Fake& device = fake(self);
  const std::scoped_lock lock(device.mutex());
  if (device.failed() != nullptr) return device.failed();
  return f(device);
}

Status allocate(void* self, std::size_t bytes, void** memory) {
  return locked(self, [&](Fake& d) -> Status {
    d.counts().allocated_bytes += bytes;
    *memory = d.memory().allocate(bytes);
    return *memory == nullptr ? "out of memory" : nullptr;
  });
}

Status free_memory(void* self, void* memory) {
  const std::scoped_lock lock(fake(self).mutex());
  return fake(self).memory().free(memory) ? nullptr : fake(self).fail("free of what is no memory");
}

Status locate(void* self, const void* pointer, device::Location* location) {
  location->device = -1;
  if (behind(pointer) != nullptr) {
    *location = {device::Place::Device, fake(self).memory().owns(pointer) ? 0 : 1};
  } else {
    location->place = is_pinned(pointer, 1) ? device::Place::Pinned : device::Place::Pageable;
  }
  return nullptr;
}

Status record(void* self, Event event, Stream stream) {
  return locked(self, [&](Fake& d) {
    const std::shared_ptr<FakeEvent> recorded = d.event(event);
    const std::uint64_t number = ++recorded->recorded;
    ++d.counts().records;
    return d.put(stream, {{}, [recorded, number] { recorded->reached = number; }});
  });
}

Status query(void* self, Event event, bool* done) {
  return locked(self, [&](Fake& d) {
    d.turn();
    *done = d.event(event)->reached == d.event(event)->recorded;
    return d.failed();
  });
}

Status wait_event(void* self, Stream stream, Event event) {
  return locked(self, [&](Fake& d) {
    const std::shared_ptr<FakeEvent> awaited = d.event(event);
    const std::uint64_t number = awaited->recorded;
    ++d.counts().event_waits;
    return d.put(stream, {[awaited, number] { return awaited->reached >= number; }, {}});
  });
}

Status wait_value(void* self, Stream stream, const std::uint32_t* flag, std::uint32_t value) {
  return locked(self, [&](Fake& d) -> Status {
    if (!d.options().waits_for_values) return "cannot wait for values";
    if (!is_pinned(flag, sizeof *flag)) return d.fail("wait for a value in pageable memory");
    return d.put(
        stream,
        {[flag, value] {
           const auto now =
               std::atomic_ref(*const_cast<std::uint32_t*>(flag)).load(std::memory_order_acquire);
           return static_cast<std::int32_t>(now - value) >= 0;
         },
         {}});
  });
}

/// Where the fake itself finds a piece of memory; null where it may not be.
std::byte* reach(const void* pointer, std::size_t bytes) {
  if (is_pinned(pointer, bytes)) {
    return static_cast<std::byte*>(const_cast<void*>(pointer));
  }
  return allocated(pointer, bytes) ? behind(pointer) : nullptr;
}

/// In two halves; memory is looked up when they run, as what was freed meanwhile must show.
Status copy(void* self, void* to, const void* from, std::size_t bytes, Stream stream) {
  return locked(self, [&](Fake& d) {
    const std::size_t half = bytes / 2;
    ++d.counts().copies;
    d.counts().copied_bytes += bytes;
    for (const auto& [begin, size] :
         {std::pair{std::size_t{0}, half}, std::pair{half, bytes - half}}) {
      if (size == 0) continue;
      d.put(stream, {{}, [&d, to, from, begin, size] {
                       std::byte* target = reach(static_cast<std::byte*>(to) + begin, size);
                       const std::byte* source =
                           reach(static_cast<const std::byte*>(from) + begin, size);
                       if (target == nullptr || source == nullptr) {
                         d.fail("copy outside of allocated memory");
                         return;
                       }
                       std::memmove(target, source, size);
                     }});
    }
    return d.failed();
  });
}

void reduce_part(Fake& d, device::Reduction r, std::size_t begin, std::size_t count) {
  const std::size_t skip = begin * size_of(r.type), bytes = count * size_of(r.type);
  const auto part = [&](const void* all) {
    return reach(static_cast<const std::byte*>(all) + skip, bytes);
  };
  bool good = (r.result = part(r.result)) != nullptr;
  for (std::uint32_t k = 0; k < r.input_count; ++k) {
    good = (r.inputs[k] = part(r.inputs[k])) != nullptr && good;
  }
  r.count = count;
  if (good) {
    cpu_reduce(r);
  } else {
    d.fail("reduction outside of allocated memory");
  }
}

Status reduce_inputs(void* self, const device::Reduction* reduction, Stream stream) {
  return locked(self, [&](Fake& d) {
    const device::Reduction r = *reduction;
    if (r.input_count < 2 || r.input_count > device::kMaxInputs) return d.fail("number of inputs");
    const std::size_t half = r.count / 2;
    ++d.counts().kernels;
    d.put(stream, {{}, [&d, r, half] { reduce_part(d, r, 0, half); }});
    return d.put(stream, {{}, [&d, r, half] { reduce_part(d, r, half, r.count - half); }});
  });
}

Status divide(void* self, void* data, std::size_t count, DataType type, std::uint32_t ranks,
              Stream stream) {
  return locked(self, [&](Fake& d) {
    ++d.counts().kernels;
    return d.put(stream, {{}, [&d, data, count, type, ranks] {
                            std::byte* memory = reach(data, count * size_of(type));
                            if (memory == nullptr) {
                              d.fail("division outside of allocated memory");
                              return;
                            }
                            cpu_divide(memory, count, type, ranks);
                          }});
  });
}

/// Runs beside the streams, as its blocks wait for those of other devices.
Status walk(void* self, const device::Walk* walk, DataType type, ReduceOp op, Stream stream) {
  return locked(self, [&](Fake& d) {
    ++d.counts().kernels;
    // Made when it runs, as a graph runs it again and again.
    auto running = std::make_shared<std::unique_ptr<FakeWalk>>();
    d.put(stream, {{}, [&d, running, call = *walk, type, op] {
                     *running = std::make_unique<FakeWalk>(call, type, op);
                     if (!(*running)->start()) d.fail("walk outside of allocated memory");
                     d.counts().sent_bytes += (*running)->sent_bytes();
                   }});
    return d.put(stream, {[running] { return (*running)->over(); }, {}});
  });
}

bool can_map(void* self, const device::Identity* other) {
  return fake(self).options().mappable && other->process == static_cast<std::uint64_t>(::getpid());
}

void set_memory(device::Table& t) {
  t.allocate = allocate;
  t.free = free_memory;
  t.allocate_pinned = [](void*, std::size_t bytes, void** memory) -> Status {
    *memory = allocate_pinned(bytes);
    return nullptr;
  };
  t.free_pinned = [](void*, void* memory) -> Status {
    free_pinned(memory);
    return nullptr;
  };
  t.locate = locate;
  t.share = [](void* self, void* memory, device::Handle* handle) -> Status {
    if (fake(self).options().fails_to_share) return "injected failure of a handle";
    handle->address = reinterpret_cast<std::uint64_t>(memory);
    handle->process = static_cast<std::uint64_t>(::getpid());
    return nullptr;
  };
  t.can_map = can_map;
  t.map = [](void* self, const device::Handle* handle, void** memory) -> Status {
    if (!fake(self).may_map()) return "injected failure of a mapping";
    *memory = reinterpret_cast<void*>(handle->address);
    return allocated(*memory, 1) ? nullptr : "mapping of what is not allocated";
  };
  t.unmap = [](void*, const device::Handle*, void*) -> Status { return nullptr; };
}

void set_streams(device::Table& t) {
  t.create_stream = [](void* self, bool, Stream* stream) {
    return locked(self, [&](Fake& d) -> Status {
      *stream = d.add_stream();
      return nullptr;
    });
  };
  t.destroy_stream = [](void* self, Stream stream) -> Status {
    const std::scoped_lock lock(fake(self).mutex());
    fake(self).remove_stream(stream);
    return nullptr;
  };
  t.create_event = [](void* self, Event* event) {
    return locked(self, [&](Fake& d) -> Status {
      *event = d.add_event();
      return nullptr;
    });
  };
  t.destroy_event = [](void* self, Event event) -> Status {
    const std::scoped_lock lock(fake(self).mutex());
    fake(self).remove_event(event);
    return nullptr;
  };
  t.record = record;
  t.query = query;
  t.wait_event = wait_event;
  t.wait_value = wait_value;
  t.can_hold = [](void* self, Stream, bool* can) -> Status {
    *can = fake(self).options().waits_for_values;
    return nullptr;
  };
  t.capturing = [](void* self, Stream stream, bool* capturing) {
    return locked(self, [&](Fake& d) {
      *capturing = d.stream_of(stream).graph != nullptr;
      return d.failed();
    });
  };
  t.copy = copy;
  t.reduce = reduce_inputs;
  t.divide = divide;
  t.walk = walk;
}

device::Table functions() {
  device::Table t;
  t.name = "fake";
  t.description = "fake device";
  t.close = [](void* self) { delete static_cast<Fake*>(self); };
  set_memory(t);
  set_streams(t);
  return t;
}

}  // namespace

std::shared_ptr<const device::Device> make_fake_device(const FakeOptions& options) {
  device::Table table = functions();
  table.self = new Fake(options);
  table.walk_blocks = options.walk_blocks;
  table.identity.process = static_cast<std::uint64_t>(::getpid());
  std::strncpy(table.identity.host.data(), "fake", table.identity.host.size() - 1);
  std::strncpy(table.identity.unit.data(), options.unit.c_str(), table.identity.unit.size() - 1);
  return std::make_shared<const device::Device>(table);
}

void begin_capture(const device::Device& device, Stream stream) {
  Fake& d = fake(device.table().self);
  const std::scoped_lock lock(d.mutex());
  d.stream_of(stream).graph = std::make_shared<FakeGraph>();
}

std::shared_ptr<FakeGraph> end_capture(const device::Device& device, Stream stream) {
  Fake& d = fake(device.table().self);
  const std::scoped_lock lock(d.mutex());
  std::shared_ptr<FakeGraph> graph = std::move(d.stream_of(stream).graph);
  return graph;
}

std::size_t items_of(const FakeGraph& graph) { return graph.items.size(); }

void launch(const device::Device& device, const FakeGraph& graph, Stream stream) {
  Fake& d = fake(device.table().self);
  const std::scoped_lock lock(d.mutex());
  for (const FakeItem& item : graph.items) d.put(stream, item);
}

FakeCounts counts_of(const device::Device& device) {
  Fake& d = fake(device.table().self);
  const std::scoped_lock lock(d.mutex());
  return d.counts();
}

}  // namespace multitree::runtime::test
