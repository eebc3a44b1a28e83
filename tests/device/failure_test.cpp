// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whatever goes wrong: the call returns, the stream goes on, and somebody is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "device_support.hpp"
#include "fake_device.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kElements = 50'000;

/// `timeout_ms` bounds joining and barriers as well: it is not to be short where a machine is busy.
CommunicatorOptions within(std::shared_ptr<const device::Device> device, int timeout_ms) {
  CommunicatorOptions options{.transport = "loopback"};
  options.segment_bytes = options.kernel_segment_bytes = 4096;
  options.timeout = Deadline(timeout_ms);
  options.device = std::move(device);
  return options;
}

/// What a request ends with.
std::string outcome(Request& request) {
  try {
    request.wait();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class Failures : public ::testing::TestWithParam<Reach> {
 protected:
  [[nodiscard]] static std::shared_ptr<const device::Device> fake(const Bootstrap& bootstrap,
                                                                  std::uint64_t seed,
                                                                  std::uint64_t fail_after = 0) {
    FakeOptions options =
        fake_options(GetParam(), seed + index(bootstrap.seat()), bootstrap.seat());
    options.fail_after = fail_after;
    return make_fake_device(options);
  }
};

TEST_P(Failures, ADeadPeerLetsTheStreamGoOn) {
  constexpr std::uint32_t kRanks = 3;
  std::atomic<int> told{0}, started{0};
  const auto errors = try_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto device = fake(*bootstrap, 1);
    Communicator communicator(bootstrap, ring_schedules(kRanks), within(device, 20'000));
    communicator.barrier();
    if (bootstrap->seat() == Seat{1}) {
      while (started != 2) std::this_thread::yield();
      throw std::runtime_error("this rank dies");
    }
    const OwnedStream stream(*device);
    const DeviceBuffer buffer(*device, kElements * 4), after(*device, 64);
    std::vector<Request> requests;
    const auto start = [&] {
      requests.push_back(communicator.start_all_reduce(buffer.data(), buffer.data(), kElements,
                                                       DataType::Float32, ReduceOp::Sum,
                                                       Stream{stream.get()}));
    };
    start();
    ++started;
    try {
      for (int k = 0; k < 2; ++k) start();
    } catch (const Error& error) {  // the death is known already
      EXPECT_THAT(error.what(), HasSubstr("rank 1"));
    }
    device->copy(after.data(), buffer.data(), 64, stream.get());
    synchronize(*device, stream.get());  // past collectives that never happened
    for (Request& request : requests) {
      EXPECT_THAT(outcome(request), HasSubstr("rank 1"));
      EXPECT_THROW(request.test(), Error);
    }
    EXPECT_THAT(communicator.failure(), HasSubstr("rank 1"));
    EXPECT_THROW(communicator.start_all_reduce(buffer.data(), buffer.data(), 1, DataType::Float32,
                                               ReduceOp::Sum, Stream{stream.get()}),
                 Error);
    ++told;
  });
  for (const std::uint32_t r : {0U, 2U}) EXPECT_EQ(message_of(errors[r]), "");
  EXPECT_EQ(told, 2);
}

TEST_P(Failures, ASilentPeerIsNoticed) {
  run_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto device = fake(*bootstrap, 7);
    Communicator communicator(bootstrap, ring_schedules(2), within(device, 2000));
    if (bootstrap->seat() == Seat{0}) {
      const DeviceBuffer buffer(*device, kElements * 4);
      const OwnedStream stream(*device);
      Request request =
          communicator.start_all_reduce(buffer.data(), buffer.data(), kElements, DataType::Float32,
                                        ReduceOp::Sum, Stream{stream.get()});
      EXPECT_THAT(outcome(request), HasSubstr("no progress for 2000 ms while waiting to"));
      synchronize(*device, stream.get());
    } else {
      while (communicator.failure().empty() && !bootstrap->failure()) std::this_thread::yield();
    }
  });
}

/// Before the stream has come to a collective no deadline of ours runs, as it may have much to do.
TEST_P(Failures, ABusyStreamIsNoFailure) {
  run_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto device = fake(*bootstrap, 20);
    Communicator communicator(bootstrap, ring_schedules(2), within(device, 2000));
    const OwnedStream stream(*device);
    auto* flag = static_cast<std::uint32_t*>(device->allocate_pinned(4));
    *flag = 0;
    hold_stream(*device, stream.get(), flag);
    const DeviceBuffer buffer(*device, kElements * 4);
    Request request =
        communicator.start_all_reduce(buffer.data(), buffer.data(), kElements, DataType::Float32,
                                      ReduceOp::Max, Stream{stream.get()});
    EXPECT_FALSE(request.test());  // the call has returned with its stream still held
    EXPECT_THAT(outcome(request), HasSubstr("the stream has not come to it within 2000 ms"));
    EXPECT_EQ(communicator.failure(), "");
    communicator.barrier();
    std::atomic_ref(*flag).store(1);
    EXPECT_EQ(outcome(request), "");
    synchronize(*device, stream.get());
    device->free_pinned(flag);
  });
}

TEST_P(Failures, AbortEndsWhatIsOutstanding) {
  run_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto device = fake(*bootstrap, 40);
    Communicator communicator(bootstrap, ring_schedules(2), within(device, 20'000));
    if (bootstrap->seat() == Seat{1}) {
      while (!bootstrap->failure()) std::this_thread::yield();
      return;
    }
    const OwnedStream stream(*device);
    const DeviceBuffer buffer(*device, kElements * 4);
    Request request =
        communicator.start_all_reduce(buffer.data(), buffer.data(), kElements, DataType::Float32,
                                      ReduceOp::Sum, Stream{stream.get()});
    std::thread([&] { communicator.abort("enough"); }).join();
    EXPECT_THAT(outcome(request), HasSubstr("enough"));
    EXPECT_EQ(communicator.failure(), "enough");
    synchronize(*device, stream.get());
  });
}

/// The device fails at any point of a collective: nobody hangs, here or at the peer.
TEST_P(Failures, AFailingDeviceIsReported) {
  for (const std::uint64_t after : {1U, 2U, 3U, 8U, 20U, 60U, 150U, 400U}) {
    const auto errors = try_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      const auto device = fake(*bootstrap, after, bootstrap->seat() == Seat{0} ? after : 0);
      Communicator communicator(bootstrap, ring_schedules(2), within(device, 20'000));
      const DeviceBuffer buffer(*device, kElements * 4);
      while (true) {
        communicator.all_reduce(buffer.data(), buffer.data(), kElements, DataType::Float32,
                                ReduceOp::Sum);
      }
    });
    EXPECT_THAT(message_of(errors[0]), HasSubstr("injected failure")) << after;
    EXPECT_THAT(message_of(errors[1]), HasSubstr("rank 0")) << after;
  }
}

/// Dropped communicators finish what was put on streams.
TEST_P(Failures, TheDestructorFinishesStreams) {
  run_ranks(3, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto device = fake(*bootstrap, 60);
    const OwnedStream stream(*device);
    const DeviceBuffer buffer(*device, kElements * 4);
    std::vector<float> values(kElements, 1.0F);
    upload(*device, buffer.data(), values.data(), kElements * 4, stream.get());
    {
      Communicator communicator(bootstrap, ring_schedules(3), within(device, 20'000));
      for (int k = 0; k < 4; ++k) {
        communicator.start_all_reduce(buffer.data(), buffer.data(), kElements, DataType::Float32,
                                      ReduceOp::Sum, Stream{stream.get()});
      }
    }
    download(*device, values.data(), buffer.data(), kElements * 4, stream.get());
    EXPECT_EQ(values, std::vector<float>(kElements, 81.0F));
  });
}

INSTANTIATE_TEST_SUITE_P(All, Failures, ::testing::ValuesIn(kReaches),
                         [](const auto& made) { return name_of(made.param); });

}  // namespace
}  // namespace multitree::runtime::test
