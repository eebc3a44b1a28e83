// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A rank that ends as soon as a call is over for it, and others that hear of that before they have
/// seen that the call is over.
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <utility>

#include "foretold.hpp"
#include "host_calls.hpp"
#include "support.hpp"

namespace multitree::runtime::test {
namespace {

/// Rank 1 waits in a barrier when it hears that rank 0 has died, which has come to it (and gone on)
/// or has not.
void expect_last_words(const CommunicatorOptions& options, bool come) {
  std::promise<void> waits, gone;
  auto is_gone = gone.get_future().share();
  const auto body = [&](const std::shared_ptr<Bootstrap>& job) {
    const bool dies = job->seat() == 0_seat;
    bool told = false, in_barrier = false;
    const auto foretold = [&]() -> std::optional<std::string> {
      if (dies || !in_barrier) return std::nullopt;
      if (!std::exchange(told, true)) {
        waits.set_value();
        is_gone.wait();
      }
      return "rank 0 died";
    };
    Communicator communicator(std::make_shared<Foretold>(job, foretold), ring_schedules(2),
                              options);
    if (dies) {
      waits.get_future().wait();
      if (come) communicator.barrier();
      gone.set_value();
      if (!come) throw std::runtime_error("dies");
    } else {
      in_barrier = true;
      communicator.barrier();
      in_barrier = false;
    }
  };
  const auto errors = try_ranks(2, body);
  EXPECT_EQ(message_of(errors[0]), come ? "" : "dies");
  const std::string why = message_of(errors[1]);
  EXPECT_EQ(why.find("rank 0 died") != std::string::npos, !come) << why;
}

TEST(LastWords, OfARankThatSharesMemoryCount) { expect_last_words(in_shared_memory(), true); }

TEST(LastWords, OfARankThatHasNotComeAreNone) { expect_last_words(in_shared_memory(), false); }

/// Rank 1 hears that rank 0 has died before it has taken in what that one has sent, which it cannot
/// do at once.
void expect_last_message(bool encrypted) {
  CommunicatorOptions options;
  options.transport = "tcp";
  options.host_path = HostPath::Off;
  options.encrypt = encrypted;
  std::promise<void> waits, gone, over;
  auto is_gone = gone.get_future().share();
  const auto body = [&](const std::shared_ptr<Bootstrap>& job) {
    const bool dies = job->seat() == 0_seat;
    bool told = false, in_call = false;
    const auto foretold = [&]() -> std::optional<std::string> {
      if (dies || !in_call) return std::nullopt;
      if (!std::exchange(told, true)) {
        waits.set_value();
        is_gone.wait();
      }
      return "rank 0 died";
    };
    Communicator communicator(std::make_shared<Foretold>(job, foretold), ring_schedules(2),
                              options);
    Numbers data(100'000, dies ? 7 : 0);
    communicator.barrier();
    in_call = true;
    if (dies) waits.get_future().wait();
    try {
      run_rooted(communicator, Collective::Broadcast, 0, data);
    } catch (...) {
      (dies ? gone : over).set_value();
      throw;
    }
    (dies ? gone : over).set_value();
    if (dies) over.get_future().wait();
    in_call = false;
    EXPECT_EQ(data, Numbers(data.size(), 7));
  };
  for (const auto& error : try_ranks(2, body)) EXPECT_EQ(message_of(error), "");
}

TEST(LastWords, OfARankThatSendsCount) { expect_last_message(false); }

TEST(LastWords, OfARankThatEncryptsCount) { expect_last_message(true); }

}  // namespace
}  // namespace multitree::runtime::test
