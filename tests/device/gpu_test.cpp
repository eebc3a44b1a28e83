// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kernels and collectives on a real GPU; skipped with the reason without one. Several ranks
/// share the GPU.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <random>

#include "device_support.hpp"
#include "fake_device.hpp"
#include "reduction_model.hpp"
#include "runtime/job/launcher.hpp"
#include "runtime/kernels/reduce.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

std::shared_ptr<const device::Device> gpu(std::string& why) { return device::open_cuda(0, why); }

/// The same device, which says that it can map nobody's memory.
std::shared_ptr<const device::Device> without_mapping(
    const std::shared_ptr<const device::Device>& device) {
  device::Table table = device->table();
  table.close = nullptr;  // `device` outlives it in these tests
  table.can_map = [](void*, const device::Identity*) { return false; };
  return std::make_shared<const device::Device>(table);
}

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    device_ = gpu(why);
    if (device_ == nullptr) GTEST_SKIP() << "no GPU: " << why;
    stream_ = device_->create_stream(false);
  }
  void TearDown() override {
    if (device_ != nullptr) device_->destroy_stream(stream_);
  }
  std::shared_ptr<const device::Device> device_;
  device::Stream stream_ = nullptr;
};

/// Random elements; floats of moderate size, so that no sum overflows to infinity.
Values random_values(DataType type, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> real(-1.5, 1.5);
  std::uniform_int_distribution<int> integer(0, 255);
  Values values(type, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (size_of(type) == 1 || type == DataType::Int32 || type == DataType::Int64) {
      for (std::size_t b = 0; b < size_of(type); ++b) {
        values.at(i)[b] = static_cast<std::byte>(integer(random));
      }
    } else {
      values.set(i, real(random));
    }
  }
  return values;
}

/// One reduction on the device against the model, bit for bit. `skew`: bytes by which input k lies
/// off a multiple of 16 (times k + 1 where `uneven`).
void check_kernel(const device::Device& device, device::Stream stream, DataType type, ReduceOp op,
                  std::uint32_t inputs, std::size_t count, std::size_t skew, bool uneven) {
  const std::size_t bytes = count * size_of(type);
  std::vector<Values> host;
  std::vector<std::unique_ptr<DeviceBuffer>> memory;
  device::Reduction on_host, on_device;
  for (auto* r : {&on_host, &on_device}) {
    r->input_count = inputs;
    r->count = count;
    r->type = type;
    r->op = op;
  }
  for (std::uint32_t k = 0; k < inputs; ++k) {
    host.push_back(random_values(type, count, count * 100 + k));
    memory.push_back(std::make_unique<DeviceBuffer>(device, bytes + 256));
    std::byte* at = memory.back()->data() + (uneven ? skew * (k + 1) : skew);
    upload(device, at, host.back().data(), bytes, stream);
    on_device.inputs[k] = at;
  }
  for (std::uint32_t k = 0; k < inputs; ++k) on_host.inputs[k] = host[k].data();
  Values want(type, count), got(type, count);
  on_host.result = want.data();
  reduce_model(on_host);
  on_device.result = const_cast<void*>(on_device.inputs[0]);
  device.reduce(on_device, stream);
  download(device, got.data(), on_device.result, bytes, stream);
  ASSERT_EQ(std::memcmp(got.data(), want.data(), bytes), 0)
      << to_string(type) << ' ' << to_string(op) << " inputs " << inputs << " count " << count
      << " skew " << skew << (uneven ? " uneven" : "");
}

TEST_F(Gpu, KernelsAreTheModelBitForBit) {
  for (const DataType type : all_data_types().first(device::kTypes)) {
    for (const ReduceOp op : all_reduce_ops()) {
      for (std::uint32_t inputs = 2; inputs <= device::kMaxInputs; ++inputs) {
        check_kernel(*device_, stream_, type, op, inputs, 10'007, 0, false);
      }
    }
    for (const std::size_t count : {1UL, 3UL, 15UL, 16UL, 17UL, 4096UL, 300'001UL}) {
      for (const std::size_t skew : {std::size_t{0}, size_of(type)}) {
        check_kernel(*device_, stream_, type, ReduceOp::Sum, 3, count, skew, false);
        check_kernel(*device_, stream_, type, ReduceOp::Sum, 4, count, skew, true);
      }
    }
  }
}

TEST_F(Gpu, DivisionIsTheHosts) {
  for (const DataType type : all_data_types().first(device::kTypes)) {
    constexpr std::size_t kCount = 5003;
    Values values = random_values(type, kCount, 9), got(type, kCount);
    const DeviceBuffer memory(*device_, kCount * 8);
    upload(*device_, memory.data(), values.data(), kCount * size_of(type), stream_);
    device_->divide(memory.data(), kCount, type, 7, stream_);
    download(*device_, got.data(), memory.data(), kCount * size_of(type), stream_);
    finish_reduction(values.data(), kCount, type, ReduceOp::Avg, 7);
    EXPECT_EQ(got, values) << to_string(type);
  }
}

/// Every collective, type and operator, with ranks that are threads of this process.
void check_all(const std::shared_ptr<const device::Device>& device, std::uint32_t ranks) {
  run_ranks(ranks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    CommunicatorOptions options{.transport = "loopback"};
    options.segment_bytes = options.kernel_segment_bytes = 64 * 1024;
    options.device = device;
    const Rank root{ranks - 1};
    Communicator communicator(bootstrap, ring_schedules(ranks, root), options);
    const OwnedStream stream(*device);
    // Ranks that share a GPU set memory aside before any of them holds a stream: allocating waits
    // until the GPU is idle (check_on_device()).
    for (const Collective collective : all_collectives()) {
      for (const bool in_place : {false, true}) {
        check_on_device(communicator, *device, nullptr, collective, root, 1'000'003,
                        DataType::Float64, ReduceOp::Sum, in_place, true);
      }
    }
    for (const Collective collective : all_collectives()) {
      const auto ops = all_reduce_ops().first(reduces(collective) ? all_reduce_ops().size() : 1);
      for (const DataType type : all_data_types().first(device::kTypes)) {
        for (const ReduceOp op : ops) {
          check_on_device(communicator, *device, stream.get(), collective, root, 5003, type, op,
                          op == ReduceOp::Max);
        }
      }
      for (const std::size_t count : {0UL, 1UL, 1'000'003UL}) {
        check_on_device(communicator, *device, stream.get(), collective, root, count,
                        DataType::Float32, ReduceOp::Sum, false);
        check_on_device(communicator, *device, nullptr, collective, root, count, DataType::Float32,
                        ReduceOp::Sum, true, true);
      }
    }
  });
}

TEST_F(Gpu, CollectivesOfRanksThatMapEachOther) {
  for (const std::uint32_t ranks : {1U, 2U, 4U}) check_all(device_, ranks);
}

TEST_F(Gpu, CollectivesThroughPinnedMemory) {
  for (const std::uint32_t ranks : {1U, 2U, 4U}) check_all(without_mapping(device_), ranks);
}

TEST_F(Gpu, StreamsAreHeldAndReleased) {
  bool can = false;
  ASSERT_NO_THROW(can = device_->can_hold(stream_));
  RecordProperty("holds_streams", can ? "yes" : "no");
  if (!can) return;  // in this environment calls wait instead (docs/runtime.md, "Streams")
  auto* flag = static_cast<std::uint32_t*>(device_->allocate_pinned(4));
  *flag = 0;
  hold_stream(*device_, stream_, flag);
  const device::Event event = device_->create_event();
  device_->record(event, stream_);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  while (std::chrono::steady_clock::now() < until) EXPECT_FALSE(device_->query(event));
  std::atomic_ref(*flag).store(1, std::memory_order_release);
  synchronize(*device_, stream_);
  EXPECT_TRUE(device_->query(event));
  device_->destroy_event(event);
  device_->free_pinned(flag);
}

/// A rank that gives up lets the streams of all go on.
TEST_F(Gpu, AbortReleasesStreams) {
  run_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    CommunicatorOptions options{.transport = "loopback"};
    options.device = device_;
    Communicator communicator(bootstrap, ring_schedules(2), options);
    if (bootstrap->seat() == Seat{1}) {
      communicator.abort("on purpose");
      return;
    }
    const OwnedStream stream(*device_);
    const DeviceBuffer buffer(*device_, 1 << 20);
    const auto run = [&] {  // where streams cannot be held, the first of these throws
      Request request =
          communicator.start_all_reduce(buffer.data(), buffer.data(), 1 << 18, DataType::Float32,
                                        ReduceOp::Sum, Stream{stream.get()});
      synchronize(*device_, stream.get());
      request.wait();
    };
    EXPECT_THROW(run(), Error);
    synchronize(*device_, stream.get());
  });
}

/// Over UCX, with CUDA IPC.
TEST_F(Gpu, CollectivesOfProcesses) {
  LaunchOptions options;
  options.program = MULTITREE_DEVICE_RANK_PROGRAM;
  options.grace = Deadline(10'000);
  for (const std::uint32_t ranks : {1U, 2U, 4U}) {
    EXPECT_EQ(launch_local(ranks, {"device_rank_program", "cuda"}, options), 0) << ranks;
  }
}

/// Of a host with several GPUs: one kernel a collective, where they map each other.
TEST_F(Gpu, CollectivesOfProcessesOnGpusOfTheirOwn) {
  std::uint32_t devices = 1;
  for (std::string why;; ++devices) {
    const auto next = device::open_cuda(static_cast<std::int32_t>(devices), why);
    if (next == nullptr || next->table().identity.unit == device_->table().identity.unit) break;
  }
  if (devices == 1) return;  // the test before this one has shown all that one can
  LaunchOptions options;
  options.program = MULTITREE_DEVICE_RANK_PROGRAM;
  options.grace = Deadline(10'000);
  EXPECT_EQ(launch_local(devices, {"device_rank_program", "each"}, options), 0) << devices;
}

/// The same kernel, on one GPU: two ranks that say that each has a device of its own. A few blocks
/// of each, so that they run at the same time.
TEST_F(Gpu, OneKernelOnOneGpu) {
  run_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    device::Table table = device_->table();
    table.close = nullptr;  // device_ outlives it
    table.walk_blocks = 4;
    std::strncpy(table.identity.unit.data(), bootstrap->seat() == Seat{0} ? "first" : "second",
                 table.identity.unit.size() - 1);
    table.can_map = [](void*, const device::Identity*) { return true; };
    const auto device = std::make_shared<const device::Device>(table);
    CommunicatorOptions options = walking(device, 64 * 1024);
    Communicator communicator(bootstrap, ring_schedules(2), options);
    EXPECT_NE(communicator.describe().find("one kernel"), std::string::npos);
    const OwnedStream stream(*device);
    for (const Collective collective : all_collectives()) {
      const auto ops = all_reduce_ops().first(reduces(collective) ? all_reduce_ops().size() : 1);
      for (const DataType type : all_data_types().first(device::kTypes)) {
        for (const ReduceOp op : ops) {
          for (const std::size_t count : {1UL, 5003UL, 300'000UL}) {
            check_on_device(communicator, *device, stream.get(), collective, Rank{0}, count, type,
                            op, count == 5003);
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace multitree::runtime::test
