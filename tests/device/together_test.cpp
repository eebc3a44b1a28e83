// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Device memory together with what else a communicator does: prepared calls, checksums, shrinking,
/// and shared memory of one host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "device_support.hpp"
#include "fake_device.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kCount = 3000;

std::shared_ptr<const device::Device> fake_of(const Bootstrap& bootstrap, bool mappable) {
  FakeOptions options{.seed = index(bootstrap.seat()) + 1U};
  options.mappable = mappable;
  return make_fake_device(options);
}

CommunicatorOptions on(std::shared_ptr<const device::Device> device) {
  CommunicatorOptions options{.transport = "loopback"};
  options.segment_bytes = options.kernel_segment_bytes = 1024;
  options.timeout = Deadline(20'000);
  options.device = std::move(device);
  return options;
}

/// Nobody looks whether this machine has a GPU.
CommunicatorOptions on_host() {
  CommunicatorOptions options = on(nullptr);
  options.devices = false;
  return options;
}

/// Rings that were chosen by prediction, so that HostPath::Auto may go without them.
PlansBySize replaceable_rings(std::uint32_t ranks) {
  std::vector<SizedSchedules> plans;
  for (Schedule& schedule : ring_schedules(ranks)) {
    plans.push_back(for_all_sizes(std::move(schedule)));
  }
  return PlansBySize(std::move(plans), true);
}

void check_all(Communicator& communicator, const device::Device& device) {
  const OwnedStream stream(device);
  for (const Collective collective : all_collectives()) {
    check_on_device(communicator, device, stream.get(), collective, Rank{0}, kCount,
                    DataType::Int32, ReduceOp::Sum, false);
    check_on_device(communicator, device, nullptr, collective, Rank{0}, 7, DataType::Float16,
                    ReduceOp::Avg, true, true);
  }
}

/// "" if it is not refused; other errors come through.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Unsupported) throw;
    return error.what();
  }
  return "";
}

class Together : public ::testing::TestWithParam<bool> {};

TEST_P(Together, PreparedCallsTakeDeviceMemory) {
  constexpr std::uint32_t kRanks = 3;
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto fake = fake_of(*bootstrap, GetParam());
    Communicator communicator(bootstrap, ring_schedules(kRanks), on(fake));
    const DeviceBuffer buffer(*fake, kCount * 8);
    std::vector<std::int64_t> host(kCount, 1), on_host(kCount, 1);
    upload(*fake, buffer.data(), host.data(), kCount * 8, nullptr);
    const auto prepare = [&](void* data) {
      return communicator.prepare({Collective::AllReduce, data, data, kCount, DataType::Int64});
    };
    const Prepared prepared = prepare(buffer.data()), beside = prepare(on_host.data());
    for (int round = 0; round < 4; ++round) {
      Request device = communicator.start(prepared), other = communicator.start(beside);
      device.wait();
      other.wait();
    }
    download(*fake, host.data(), buffer.data(), kCount * 8, nullptr);
    EXPECT_EQ(host, std::vector<std::int64_t>(kCount, 81));
    EXPECT_EQ(on_host, host);
    EXPECT_THAT(
        [&] {
          communicator.prepare(
              {Collective::AllReduce, buffer.data(), host.data(), 9, DataType::Int64});
        },
        ::testing::ThrowsMessage<Error>(HasSubstr("both be device memory")));
  });
}

TEST_P(Together, ChecksumsAreOfWhatIsStaged) {
  constexpr std::uint32_t kRanks = 3;
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto fake = fake_of(*bootstrap, GetParam());
    CommunicatorOptions options = on(fake);
    options.checksums = true;
    Communicator communicator(bootstrap, ring_schedules(kRanks), options);
    EXPECT_THAT(communicator.describe(), HasSubstr("with checksums"));
    EXPECT_THAT(communicator.describe(), HasSubstr(GetParam() ? "mapped" : "staged"));
    check_all(communicator, *fake);
  });
}

TEST_P(Together, ShrunkCommunicatorsKeepTheDevice) {
  constexpr std::uint32_t kRanks = 4;
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto fake = fake_of(*bootstrap, GetParam());
    const OwnedStream stream(*fake);
    const DeviceBuffer buffer(*fake, kCount * 4);
    auto communicator = std::make_unique<Communicator>(bootstrap, ring_schedules(kRanks), on(fake));
    const auto start = [&] {
      return communicator->start_all_reduce(buffer.data(), buffer.data(), kCount, DataType::Int32,
                                            ReduceOp::Max, Stream{stream.get()});
    };
    const auto rings = [](std::span<const Seat> survivors) {
      return replaceable_rings(static_cast<std::uint32_t>(survivors.size()));
    };
    // Without a failure what is outstanding ends well.
    Request request = start();
    auto next = communicator->shrink(rings, Deadline(10'000));
    request.wait();
    EXPECT_THAT(communicator->failure(), HasSubstr("it was shrunk to another"));
    communicator = std::move(next);
    check_all(*communicator, *fake);
    // The last rank leaves; the streams of the others go on.
    if (index(communicator->rank()) == kRanks - 1) {
      communicator->abort("enough");
      return;
    }
    EXPECT_THAT([&] { start().wait(); },
                ::testing::ThrowsMessage<Error>(HasSubstr("rank 3 gave up: enough")));
    synchronize(*fake, stream.get());
    communicator = communicator->shrink(rings, Deadline(10'000));
    EXPECT_EQ(communicator->size(), kRanks - 1);
    EXPECT_FALSE(communicator->on_one_host());
    check_all(*communicator, *fake);
  });
}

INSTANTIATE_TEST_SUITE_P(StagedAndMapped, Together, ::testing::Bool(),
                         [](const auto& made) { return made.param ? "Mapped" : "Staged"; });

/// One device in the job is enough for all to use messages, which reach it.
TEST(OneHost, IsLeftToMessagesIfARankHasADevice) {
  if (device::cuda_is_loaded()) return;  // by a test before this one: all ranks would have its GPU
  constexpr std::uint32_t kRanks = 3;
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const bool with = bootstrap->seat() == Seat{1};
    const auto fake = with ? fake_of(*bootstrap, false) : nullptr;
    Communicator communicator(bootstrap, replaceable_rings(kRanks), on(fake));
    EXPECT_FALSE(communicator.on_one_host());
    for (const Collective collective : all_collectives()) {
      if (with) {
        check_on_device(communicator, *fake, nullptr, collective, Rank{0}, kCount,
                        DataType::Float32, ReduceOp::Sum, false);
        continue;
      }
      communicator.barrier();  // as check_on_device()
      check_collective(communicator, collective, Rank{0}, kCount, DataType::Float32, ReduceOp::Sum,
                       false);
      communicator.barrier();
    }
  });
}

TEST(OneHost, IsUsedWhereNobodyHasADevice) {
  run_ranks(3, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, replaceable_rings(3), on_host());
    EXPECT_TRUE(communicator.on_one_host());
  });
}

TEST(OneHost, RefusesDeviceMemoryWhereItIsRequired) {
  run_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto fake = fake_of(*bootstrap, true);
    CommunicatorOptions options = on(fake);
    options.host_path = HostPath::Required;
    Communicator communicator(bootstrap, std::vector<Schedule>{}, options);
    EXPECT_TRUE(communicator.on_one_host());
    const DeviceBuffer buffer(*fake, 64);
    std::byte* const data = buffer.data();
    const auto type = DataType::Float32;
    EXPECT_THAT(refusal([&] { communicator.all_reduce(data, data, 16, type, ReduceOp::Sum); }),
                HasSubstr("allreduce: device memory"));
    EXPECT_THAT(refusal([&] { communicator.start_broadcast(data, data, 16, type); }),
                HasSubstr("broadcast: device memory"));
    EXPECT_THAT(refusal([&] {
                  communicator.prepare({Collective::AllReduce, data, data, 16, type});
                }),
                HasSubstr("goes without messages"));
    EXPECT_THAT(refusal([&] { communicator.start_broadcast(data, data, 16, type, Stream{}); }),
                HasSubstr("a stream, but the communicator goes without messages"));
    check_collective(communicator, Collective::AllReduce, Rank{0}, kCount, type, ReduceOp::Sum,
                     false);
  });
}

}  // namespace
}  // namespace multitree::runtime::test
