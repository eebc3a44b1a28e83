// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives on device memory against reference results.
#include "device_support.hpp"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

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
  Values stored(type, 1);
  switch (collective) {
    case Collective::AllReduce:
    case Collective::Reduce:
      return expected(type, op, ranks, i);
    case Collective::ReduceScatter:
      return expected(type, op, ranks, rank * count + i);
    case Collective::AllGather:
      stored.set(0, input(op, static_cast<std::uint32_t>(i / count), i % count));
      return stored.get(0);
    case Collective::Broadcast:
      break;
  }
  stored.set(0, input(op, index(root), i));
  return stored.get(0);
}

Request start_without_stream(Communicator& c, Collective collective, const void* send, void* recv,
                             std::size_t count, DataType type, ReduceOp op) {
  switch (collective) {
    case Collective::AllReduce:
      return c.start_all_reduce(send, recv, count, type, op);
    case Collective::ReduceScatter:
      return c.start_reduce_scatter(send, recv, count, type, op);
    case Collective::AllGather:
      return c.start_all_gather(send, recv, count, type);
    case Collective::Broadcast:
      return c.start_broadcast(send, recv, count, type);
    case Collective::Reduce:
      break;
  }
  return c.start_reduce(send, recv, count, type, op);
}

}  // namespace

Request start_on(Communicator& c, Collective collective, const void* send, void* recv,
                 std::size_t count, DataType type, ReduceOp op, device::Stream stream) {
  switch (collective) {
    case Collective::AllReduce:
      return c.start_all_reduce(send, recv, count, type, op, {stream});
    case Collective::ReduceScatter:
      return c.start_reduce_scatter(send, recv, count, type, op, {stream});
    case Collective::AllGather:
      return c.start_all_gather(send, recv, count, type, {stream});
    case Collective::Broadcast:
      return c.start_broadcast(send, recv, count, type, {stream});
    case Collective::Reduce:
      break;
  }
  return c.start_reduce(send, recv, count, type, op, {stream});
}

void check_on_device(Communicator& communicator, const device::Device& device,
                     device::Stream stream, Collective collective, Rank root, std::size_t count,
                     DataType type, ReduceOp op, bool in_place, bool blocking) {
  const std::uint32_t rank = communicator.rank(), n = communicator.size();
  const bool scatter = collective == Collective::ReduceScatter;
  const bool gather = collective == Collective::AllGather;
  const std::size_t sent = scatter ? count * n : count, received = gather ? count * n : count;
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
    request = start_without_stream(communicator, collective, from, to, count, type, op);
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
  if (collective == Collective::Reduce && rank != index(root)) return;
  Values result(type, received);
  std::memcpy(result.data(), after.data(), received * element);
  for (std::size_t i = 0; i < received; ++i) {
    const double want = wanted(collective, type, op, rank, n, root, count, i);
    if (result.get(i) != want) {
      fail(fmt::format("element {} is {}, not {}", i, result.get(i), want));
    }
  }
}

}  // namespace multitree::runtime::test
