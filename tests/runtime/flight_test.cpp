// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flight records: written by ranks, read beside them and after them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/flight/flights.hpp"
#include "runtime/flight/recorder_internal.hpp"
#include "support.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using flight::Flight;
using flight::FlightJob;
using flight::FlightRecorder;
using flight::read_flights;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// With records kept in a folder of its own.
class Flights : public ::testing::Test {
 protected:
  Flights() {
    std::filesystem::create_directories(folder_);
    ::setenv("MULTITREE_FLIGHT", folder_.c_str(), 1);
  }
  ~Flights() override {
    ::unsetenv("MULTITREE_FLIGHT");
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::vector<FlightJob> read() const { return read_flights({folder_.string()}); }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      ("flights-" + std::to_string(::getpid()) + "-" +
       ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

CommonCall call_of(std::size_t count) {
  return common_call({Collective::AllReduce, nullptr, nullptr, count, DataType::Float32}, Rank{0});
}

Whereabouts waiting_for(std::uint64_t call, std::uint32_t rank) {
  return {call, "allreduce #" + std::to_string(call), "waiting", "train.cpp:88", {Seat{rank}}};
}

TEST_F(Flights, AreMadeOnlyWhereSomebodyWantsThem) {
  const auto jobs = make_in_process_bootstraps(1);
  EXPECT_NE(FlightRecorder::open(*jobs[0]), nullptr);
  ::unsetenv("MULTITREE_FLIGHT");
  EXPECT_EQ(FlightRecorder::open(*jobs[0]), nullptr);
  ::setenv("MULTITREE_FLIGHT", (folder_ / "nowhere").c_str(), 1);
  EXPECT_EQ(FlightRecorder::open(*jobs[0]), nullptr);
}

TEST_F(Flights, AreGoneWhenAllWentWell) {
  const auto jobs = make_in_process_bootstraps(1);
  auto recorder = FlightRecorder::open(*jobs[0]);
  EXPECT_THAT(read(), SizeIs(1));
  recorder.reset();
  EXPECT_THAT(read(), IsEmpty());
}

TEST_F(Flights, HoldTheLatestCalls) {
  const auto jobs = make_in_process_bootstraps(1);
  const auto recorder = FlightRecorder::open(*jobs[0]);
  for (std::uint64_t number = 0; number < 1000; ++number) {
    recorder->begin(number, call_of(number));
    if (number != 999) recorder->end(number);
  }
  recorder->end(3);  // which is not kept any more
  const Flight flight = read().front().flights.front();
  EXPECT_EQ(flight.begun, 1000U);
  ASSERT_THAT(flight.calls, SizeIs(256));
  for (std::size_t i = 0; i < 256; ++i) {
    EXPECT_EQ(flight.calls[i].number, 744 + i);
    EXPECT_EQ(flight.calls[i].words, "allreduce of " + std::to_string(744 + i) + " float, sum");
    EXPECT_EQ(flight.calls[i].ended, i != 255);
  }
}

TEST_F(Flights, NameWhoKeepsTheOthersWaiting) {
  const auto jobs = make_in_process_bootstraps(3);
  std::vector<std::unique_ptr<FlightRecorder>> recorders;
  for (const auto& job : jobs) recorders.push_back(FlightRecorder::open(*job));
  for (auto& one : recorders) one->begin(7, call_of(1));
  EXPECT_EQ(read().front().blame, "");
  recorders[0]->waits(waiting_for(7, 1), {});
  recorders[2]->waits(waiting_for(7, 1), {});
  EXPECT_THAT(
      read().front().blame,
      HasSubstr("rank 1 does not answer: it computes or is stopped, while ranks 0, 2 wait"));
  recorders[0]->goes_on();
  recorders[2]->goes_on();
  EXPECT_EQ(read().front().blame, "");
}

/// Whoever comes when the others have given up waits in a later call, and is to blame all the same.
TEST_F(Flights, DoNotTakeWhoCameTooLateForOneWhoWaited) {
  const auto jobs = make_in_process_bootstraps(2);
  const auto first = FlightRecorder::open(*jobs[0]), late = FlightRecorder::open(*jobs[1]);
  first->waits(waiting_for(3, 1), {});
  first->fail("no progress");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  late->waits(waiting_for(4, 0), {});
  late->fail("rank 0 gave up");
  const FlightJob job = read().front();
  EXPECT_THAT(job.blame, HasSubstr("rank 1 does not answer"));
  EXPECT_EQ(job.flights[0].failure, "no progress");
}

TEST_F(Flights, AreKeptApartByCommunicator) {
  const auto some = make_in_process_bootstraps(2), others = make_in_process_bootstraps(2);
  std::vector<std::unique_ptr<FlightRecorder>> recorders;
  for (const auto& job : {some[0], some[1], others[1]}) {
    recorders.push_back(FlightRecorder::open(*job));
  }
  const auto jobs = read();
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_THAT(jobs[0].flights, SizeIs(1));
  EXPECT_THAT(jobs[1].flights, SizeIs(2));
}

TEST_F(Flights, AreReadWhileTheyAreWritten) {
  const auto jobs = make_in_process_bootstraps(1);
  const auto recorder = FlightRecorder::open(*jobs[0]);
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (std::uint64_t number = 0; !over; ++number) {
      recorder->begin(number, call_of(1));
      recorder->waits(waiting_for(number, 0), {});
      recorder->goes_on();
      recorder->end(number);
    }
  });
  for (int look = 0; look < 200; ++look) {
    const auto found = read();
    for (const Flight& flight : found.front().flights) {
      if (flight.wait) {
        EXPECT_EQ(flight.wait->where.place, "train.cpp:88");
      }
    }
  }
  over = true;
  writer.join();
}

TEST_F(Flights, RefuseWhatIsNone) {
  const auto jobs = make_in_process_bootstraps(1);
  const auto recorder = FlightRecorder::open(*jobs[0]);
  const std::string path = read().front().flights.front().path;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto refuses = [&](const std::string& text) {
    std::ofstream(folder_ / "other.flight", std::ios::binary) << text;
    try {
      static_cast<void>(read());
      return false;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("other.flight: "));
      return error.code() == ErrorCode::InvalidInput;
    }
  };
  EXPECT_FALSE(refuses(bytes));
  EXPECT_TRUE(refuses(""));
  EXPECT_TRUE(refuses(bytes.substr(0, bytes.size() - 1)));
  EXPECT_TRUE(refuses("x" + bytes.substr(1)));
  std::string damaged = bytes;
  std::fill(damaged.begin() + 8, damaged.end(), '\xff');
  EXPECT_TRUE(refuses(damaged));
}

}  // namespace
}  // namespace multitree::runtime::test
