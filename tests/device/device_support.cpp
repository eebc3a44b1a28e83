// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives on device memory against reference results.
#include "device_support.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "fake_device.hpp"

namespace multitree::runtime::test {
namespace {

/// Pinned memory, freed at the end.
class Pinned {
 public:
  Pinned(const device::Device& device, std::size_t bytes)
      : device_(device), memory_(static_cast<std::byte*>(device.allocate_pinned(bytes + 1))) {}
  ~Pinned() { device_.free_pinned(memory_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  [[nodiscard]] std::byte* data() const { return memory_; }

 private:
  const device::Device& device_;
  std::byte* memory_;
};

/// The reference of one element of what a rank receives.
double wanted(Collective collective, DataType type, ReduceOp op, std::uint32_t rank,
              std::uint32_t ranks, Rank root, std::size_t count, std::size_t i) {
  const std::size_t first = receives_shard(collective) ? rank * count : 0;
  if (reduces(collective)) return expected(type, op, ranks, first + i);
  Values stored(type, 1);
  const auto source = sends_shard(collective) ? static_cast<std::uint32_t>(i / count) : index(root);
  stored.set(0, input(op, source, sends_shard(collective) ? i % count : first + i));
  return stored.get(0);
}

}  // namespace

FakeOptions fake_options(Reach reach, std::uint64_t seed, Seat seat) {
  FakeOptions options{.seed = seed};
  options.mappable = reach != Reach::Staged;
  if (reach == Reach::Walked) options.unit = std::to_string(index(seat));
  return options;
}

std::shared_ptr<const device::Device> walking_fake(const Bootstrap& bootstrap, std::uint64_t seed,
                                                   std::uint32_t blocks) {
  FakeOptions options =
      fake_options(Reach::Walked, seed * 100 + index(bootstrap.seat()), bootstrap.seat());
  options.walk_blocks = blocks;
  return make_fake_device(options);
}

CommunicatorOptions walking(std::shared_ptr<const device::Device> fake, std::size_t segment) {
  CommunicatorOptions options{.transport = "loopback"};
  options.segment_bytes = options.kernel_segment_bytes = segment;
  options.timeout = Deadline(20'000);
  options.device = std::move(fake);
  return options;
}

Request start_on(Communicator& c, Collective collective, const void* send, void* recv,
                 std::size_t count, DataType type, ReduceOp op, device::Stream stream) {
  return c.start({collective, send, recv, count, type, op}, Stream{stream});
}

void check_on_device(Communicator& communicator, const device::Device& device,
                     device::Stream stream, Collective collective, Rank root, std::size_t count,
                     DataType type, ReduceOp op, bool in_place, bool blocking) {
  const std::uint32_t rank = index(communicator.rank()), n = communicator.size();
  const bool scatter = receives_shard(collective);
  const bool gather = sends_shard(collective);
  const std::size_t sent = shards_sent(collective, n) * count;
  const std::size_t received = shards_received(collective, n) * count;
  const std::size_t element = size_of(type), whole = count * n * element;
  const std::size_t shard = rank * count * element;

  DeviceBuffer send_memory(device, whole), recv_memory(device, whole);
  std::byte* const from = send_memory.data() + (in_place && gather ? shard : 0);
  std::byte* const to = in_place ? send_memory.data() + (scatter ? shard : 0) : recv_memory.data();
  Pinned before(device, sent * element), after(device, received * element),
      send_after(device, sent * element);
  Values values(type, sent);
  for (std::size_t i = 0; i < sent; ++i) values.set(i, input(op, rank, i));
  std::memcpy(before.data(), values.data(), sent * element);

  // Ranks may be threads that share a GPU, where allocating and freeing may wait until it is idle:
  // nobody does that while a stream is held for a collective that needs this rank.
  communicator.barrier();
  const device::Stream side = blocking ? nullptr : stream;
  device.copy(from, before.data(), sent * element, side);
  Request request;
  if (blocking) {
    request = communicator.start({collective, from, to, count, type, op});
    request.wait();
  } else {
    request = start_on(communicator, collective, from, to, count, type, op, stream);
  }
  device.copy(after.data(), to, received * element, side);
  if (!in_place) device.copy(send_after.data(), from, sent * element, side);
  synchronize(device, side);
  request.wait();
  communicator.barrier();

  const auto fail = [&](const std::string& what) {
    throw std::runtime_error(fmt::format("{} {} {} count {} rank {} of {}{}: {}",
                                         to_string(collective), to_string(type), to_string(op),
                                         count, rank, n, in_place ? " in place" : "", what));
  };
  if (!in_place && std::memcmp(send_after.data(), before.data(), sent * element) != 0) {
    fail("send was changed");
  }
  if (!receives(collective, Rank{rank}, root)) return;
  Values result(type, received);
  std::memcpy(result.data(), after.data(), received * element);
  for (std::size_t i = 0; i < received; ++i) {
    const double want = wanted(collective, type, op, rank, n, root, count, i);
    if (result.get(i) != want) {
      fail(fmt::format("element {} is {}, not {}", i, result.get(i), want));
    }
  }
}

void hold_stream(const device::Device& device, device::Stream stream, std::uint32_t* flag) {
  device.wait_value(stream, flag, 1);
}

void synchronize(const device::Device& device, device::Stream stream) {
  const device::Event event = device.create_event();
  device.record(event, stream);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!device.query(event)) {
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error("stream stands still");
    std::this_thread::yield();
  }
  device.destroy_event(event);
}

void upload(const device::Device& device, void* to, const void* from, std::size_t bytes,
            device::Stream stream) {
  if (bytes == 0) return;
  void* pinned = device.allocate_pinned(bytes);
  std::memcpy(pinned, from, bytes);
  device.copy(to, pinned, bytes, stream);
  synchronize(device, stream);
  device.free_pinned(pinned);
}

void download(const device::Device& device, void* to, const void* from, std::size_t bytes,
              device::Stream stream) {
  if (bytes == 0) return;
  void* pinned = device.allocate_pinned(bytes);
  device.copy(pinned, from, bytes, stream);
  synchronize(device, stream);
  std::memcpy(to, pinned, bytes);
  device.free_pinned(pinned);
}

}  // namespace multitree::runtime::test
