// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks of one host that sleep, and who wakes them.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "host_calls.hpp"
#include "support.hpp"

namespace multitree::runtime::test {
namespace {

using namespace std::chrono_literals;

/// Sleeps until the request is complete. A ring that comes in the very moment may be lost, which
/// costs the rest of the nap: that is rare.
class Sleeper {
 public:
  explicit Sleeper(Communicator& communicator) : communicator_(communicator) {}
  void await(Request& request) {
    while (!request.test()) {
      const auto begin = std::chrono::steady_clock::now();
      if (const auto nap = communicator_.poll_or_nap()) nap(kLimit);
      if (std::chrono::steady_clock::now() - begin >= kLimit) ++lost_;
    }
    ASSERT_LE(lost_, 1) << "nobody rang";
  }

 private:
  static constexpr auto kLimit = 2s;
  Communicator& communicator_;
  int lost_ = 0;
};

CommunicatorOptions without_thread() {
  CommunicatorOptions options = in_shared_memory(Deadline(60'000));
  options.progress = "off";
  return options;
}

/// Blocking calls, which no engine sees, ring for those who sleep.
TEST(HostSleep, SmallCallsWakeTheirReaders) {
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, without_thread());
    Sleeper sleeper(communicator);
    for (int call = 0; call < 20; ++call) {
      Numbers data(1 + 9 * static_cast<std::size_t>(call % 3), call);
      if (rank_of(communicator) == 0) {
        std::this_thread::sleep_for(5ms);
        run_rooted(communicator, Collective::Broadcast, 0, data);
      } else {
        data.assign(data.size(), -1);
        Request request =
            communicator.start_broadcast(data.data(), data.data(), data.size(), DataType::Int32);
        ASSERT_NO_FATAL_FAILURE(sleeper.await(request));
      }
      ASSERT_EQ(data, Numbers(data.size(), call));
    }
  });
}

/// A root whose cards are all used sleeps until they have been read.
TEST(HostSleep, ReadersWakeARootThatIsTooFarAhead) {
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, without_thread());
    Sleeper sleeper(communicator);
    if (rank_of(communicator) != 0) std::this_thread::sleep_for(50ms);
    for (int call = 0; call < 1000; ++call) {
      std::int32_t number = rank_of(communicator) == 0 ? call : -1;
      if (rank_of(communicator) == 0) {
        Request request = communicator.start_broadcast(&number, &number, 1, DataType::Int32);
        ASSERT_NO_FATAL_FAILURE(sleeper.await(request));
      } else {
        communicator.broadcast(&number, &number, 1, DataType::Int32);
      }
      ASSERT_EQ(number, call);
    }
  });
}

/// A full inbox that is read letter by letter.
TEST(HostSleep, ReceiversWakeASenderWithoutRoom) {
  constexpr int kMessages = 100;
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, without_thread());
    Sleeper sleeper(communicator);
    if (rank_of(communicator) == 0) {
      Numbers numbers(kMessages);
      std::iota(numbers.begin(), numbers.end(), 0);
      std::vector<Request> requests;
      for (std::int32_t& number : numbers) {
        requests.push_back(communicator.start({.exchange = Exchange::Send,
                                               .send = &number,
                                               .type = DataType::Int32,
                                               .peer = Rank{1},
                                               .count = 1}));
      }
      for (Request& request : requests) ASSERT_NO_FATAL_FAILURE(sleeper.await(request));
      return;
    }
    std::this_thread::sleep_for(50ms);
    for (int i = 0; i < kMessages; ++i) {
      std::int32_t number = -1;
      communicator.run({.exchange = Exchange::Receive,
                        .recv = &number,
                        .type = DataType::Int32,
                        .peer = Rank{0},
                        .count = 1});
      ASSERT_EQ(number, i);
    }
  });
}

}  // namespace
}  // namespace multitree::runtime::test
