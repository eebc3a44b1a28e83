// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives that move while their callers are away, and how the thread that moves them ends.
#include "runtime/execution/progress_internal.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "runtime/execution/recorder.hpp"
#include "support.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kCount = 200'000;  // above what loopback copies at once

struct Case {
  const char* name;
  HostPath path;
  std::string progress;
};

class ProgressTest : public ::testing::TestWithParam<Case> {
 protected:
  static std::unique_ptr<Communicator> make(const std::shared_ptr<Bootstrap>& job,
                                            std::shared_ptr<Recorder> recorder = nullptr) {
    CommunicatorOptions options;
    options.transport = "loopback";
    options.timeout = Deadline(20'000);
    options.host_path = GetParam().path;
    options.progress = GetParam().progress;
    options.recorder = std::move(recorder);
    std::vector<Schedule> schedules;
    if (GetParam().path == HostPath::Off) schedules = ring_schedules(job->size());
    return std::make_unique<Communicator>(job, std::move(schedules), options);
  }
};

Request start_sum(Communicator& communicator, std::vector<float>& data) {
  return communicator.start_all_reduce(data.data(), data.data(), data.size(), DataType::Float32,
                                       ReduceOp::Sum);
}

/// Rank 0 starts and calls nothing more before the others have got their results.
TEST_P(ProgressTest, OthersFinishWhileACallerIsAway) {
  std::promise<void> others_are_done;
  const auto done = others_are_done.get_future().share();
  std::atomic<int> left{2};
  run_ranks(3, [&](const std::shared_ptr<Bootstrap>& job) {
    const auto recorder = std::make_shared<Recorder>(100'000);
    const auto communicator = make(job, recorder);
    if (GetParam().path == HostPath::Off) {
      recorder->start(Recorder::Mode::Events,
                      ring_schedule(Collective::AllReduce, 3).transfers.size());
    }
    std::vector<float> data(kCount, 1.0F);
    Request request = start_sum(*communicator, data);
    const std::int64_t went = Recorder::now();
    if (job->seat() == 0_seat) {
      ASSERT_EQ(done.wait_for(20s), std::future_status::ready) << "nothing moved meanwhile";
    } else {
      request.wait();
      if (--left == 0) others_are_done.set_value();
    }
    const std::int64_t came = Recorder::now();
    request.wait();
    EXPECT_EQ(data, std::vector<float>(kCount, 3.0F));
    recorder->stop();
    if (job->seat() != 0_seat || GetParam().path != HostPath::Off) return;
    const auto moved = std::ranges::count_if(recorder->events(), [&](const Event& event) {
      return event.kind == Event::Kind::Receive && event.end_ns > went && event.end_ns < came;
    });
    EXPECT_GT(moved, 0) << "no message came while the caller was away";
  });
}

TEST_P(ProgressTest, ManyAreFinishedInAnyOrder) {
  run_ranks(3, [](const std::shared_ptr<Bootstrap>& job) {
    const auto communicator = make(job);
    for (int round = 0; round < 5; ++round) {
      std::vector<std::vector<float>> data;
      std::vector<Request> requests;
      for (std::size_t i = 0; i < 8; ++i) data.emplace_back(i % 2 == 0 ? kCount : 10, 1.0F);
      for (auto& one : data) requests.push_back(start_sum(*communicator, one));
      std::vector<float> blocking(100, 2.0F);
      communicator->all_reduce(blocking.data(), blocking.data(), blocking.size(), DataType::Float32,
                               ReduceOp::Sum);
      EXPECT_EQ(blocking, std::vector<float>(100, 6.0F));
      for (std::size_t i = requests.size(); i-- > 0;) {
        if (i % 3 == 0) {
          while (!requests[i].test()) std::this_thread::yield();
        }
        requests[i].wait();
        EXPECT_EQ(data[i], std::vector<float>(data[i].size(), 3.0F));
      }
      communicator->barrier();
    }
  });
}

/// The words are those of the failure, not that there was one earlier.
TEST_P(ProgressTest, WhatGoesWrongMeanwhileIsToldByTheNextCall) {
  const auto errors = try_ranks(2, [](const std::shared_ptr<Bootstrap>& job) {
    const auto communicator = make(job);
    if (job->seat() == 1_seat) {
      communicator->abort("had enough");
      return;
    }
    std::vector<float> data(kCount, 1.0F);
    Request request = start_sum(*communicator, data);
    const auto until = std::chrono::steady_clock::now() + 10s;
    while (communicator->failure().empty() && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_NE(communicator->failure(), "") << "nobody noticed";
    request.wait();
  });
  EXPECT_EQ(message_of(errors[1]), "");
  EXPECT_NE(message_of(errors[0]).find("had enough"), std::string::npos) << message_of(errors[0]);
  EXPECT_EQ(message_of(errors[0]).find("failed earlier"), std::string::npos)
      << message_of(errors[0]);
}

TEST_P(ProgressTest, AbortFromAnotherThreadEndsIt) {
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& job) {
    const auto communicator = make(job);
    std::vector<float> data(kCount, 1.0F);
    if (job->seat() == 1_seat) {
      const auto until = std::chrono::steady_clock::now() + 10s;
      while (!job->failure() && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(1ms);
      }
      return communicator->abort("it is over");
    }
    Request request = start_sum(*communicator, data);
    std::thread([&] { communicator->abort("stop it"); }).join();
    EXPECT_EQ(communicator->failure(), "stop it");
    EXPECT_THROW(request.wait(), Error);
  });
}

TEST_P(ProgressTest, AForkedChildIsRefusedAndEnds) {
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& job) {
    auto communicator = make(job);
    std::vector<float> data(kCount, 1.0F);
    Request request = start_sum(*communicator, data);
    if (job->seat() == 0_seat) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::alarm(20);
        int code = 0;
        std::vector<float> other(10);
        for (const auto& call : std::vector<std::function<void()>>{
                 [&] { communicator->barrier(); },
                 [&] { static_cast<void>(start_sum(*communicator, other)); },
                 [&] {
                   const ReplanAround none = [](const Shrunk&) {
                     return PlansBySize(std::vector<SizedSchedules>());
                   };
                   static_cast<void>(communicator->shrink(none, Deadline(1000)));
                 },
                 [&] {
                   communicator->abort("not mine");
                   communicator->barrier();
                 }}) {
          try {
            call();
            code |= 1;
          } catch (const Error& error) {
            if (std::string(error.what()).find("forked") == std::string::npos) code |= 2;
          }
        }
        try {
          request.wait();  // which may have been complete
        } catch (const Error&) {
        }
        communicator.reset();
        ::_exit(code);
      }
      int status = -1;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    request.wait();
    EXPECT_EQ(data, std::vector<float>(kCount, 2.0F));
  });
}

/// Rank 0 waits in a call on one communicator, and calls nothing on the other.
TEST_P(ProgressTest, ACallerThatWaitsHoldsUpItsOwnCommunicatorAlone) {
  std::promise<void> other_is_done;
  const auto done = other_is_done.get_future().share();
  run_ranks(2, [&](const std::shared_ptr<Bootstrap>& job) {
    const auto waiting = make(job);
    const auto other = make(job);
    std::vector<float> first(kCount, 1.0F), second(kCount, 1.0F);
    if (job->seat() == 1_seat) {
      start_sum(*other, second).wait();
      other_is_done.set_value();
      start_sum(*waiting, first).wait();
      return;
    }
    Request of_waiting = start_sum(*waiting, first);
    std::thread waits([&] { of_waiting.wait(); });
    std::this_thread::sleep_for(20ms);  // most likely it is in there by now
    Request of_other = start_sum(*other, second);
    EXPECT_EQ(done.wait_for(15s), std::future_status::ready) << "nothing moved meanwhile";
    waits.join();
    of_other.wait();
    EXPECT_EQ(first, std::vector<float>(kCount, 2.0F));
    EXPECT_EQ(second, std::vector<float>(kCount, 2.0F));
  });
}

TEST_P(ProgressTest, WhatIsLeftWhenAWaitReturnsGoesOn) {
  std::promise<void> second_is_done;
  const auto done = second_is_done.get_future().share();
  run_ranks(2, [&](const std::shared_ptr<Bootstrap>& job) {
    const auto communicator = make(job);
    std::vector<float> first(10, 1.0F), second(kCount, 1.0F);
    Request one = start_sum(*communicator, first);
    if (job->seat() == 0_seat) {
      Request two = start_sum(*communicator, second);
      one.wait();
      EXPECT_EQ(done.wait_for(15s), std::future_status::ready) << "nothing moved meanwhile";
      return two.wait();
    }
    one.wait();
    start_sum(*communicator, second).wait();
    second_is_done.set_value();
  });
}

/// Threads of this process with the name of those that move collectives.
std::size_t progress_threads() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, name);
    if (name == "multitree") ++count;
  }
  return count;
}

TEST_P(ProgressTest, CommunicatorsOfAProcessShareAThread) {
  std::barrier all(3);
  EXPECT_EQ(progress_threads(), 0);
  run_ranks(3, [&](const std::shared_ptr<Bootstrap>& job) {
    std::vector<std::unique_ptr<Communicator>> communicators;
    for (int i = 0; i < 20; ++i) communicators.push_back(make(job));
    std::vector<std::vector<float>> data(communicators.size(), std::vector<float>(1000, 1.0F));
    std::vector<Request> requests;
    for (std::size_t i = 0; i < data.size(); ++i) {
      requests.push_back(start_sum(*communicators[i], data[i]));
    }
    all.arrive_and_wait();
    EXPECT_EQ(progress_threads(), 1);
    all.arrive_and_wait();
    // In any order, half of them gone before the others are waited for.
    for (std::size_t i = 0; i < data.size(); i += 2) requests[i].wait();
    for (std::size_t i = 0; i < data.size(); i += 2) {
      requests[i] = Request();
      communicators[i].reset();
    }
    for (std::size_t i = 1; i < data.size(); i += 2) requests[i].wait();
    for (const auto& one : data) EXPECT_EQ(one, std::vector<float>(1000, 3.0F));
  });
  EXPECT_EQ(progress_threads(), 0);
}

TEST_P(ProgressTest, AForkedChildHasAThreadOfItsOwn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer ends children that start threads";
#endif
  run_ranks(1, [](const std::shared_ptr<Bootstrap>& job) {
    const auto communicator = make(job);
    std::vector<float> data(10, 1.0F);
    start_sum(*communicator, data).wait();
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      std::atomic<bool> good{true};
      run_ranks(2, [&](const std::shared_ptr<Bootstrap>& own) {
        const auto another = make(own);
        std::vector<float> sums(kCount, 1.0F);
        Request request = start_sum(*another, sums);
        if (progress_threads() != 1) good = false;
        request.wait();
        if (sums != std::vector<float>(kCount, 2.0F)) good = false;
      });
      ::_exit(good && progress_threads() == 0 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  });
}

INSTANTIATE_TEST_SUITE_P(Paths, ProgressTest,
                         ::testing::Values(Case{"messages", HostPath::Off, "on"},
                                           Case{"memory", HostPath::Required, "on"}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(Progress, EachCoreHasAThread) {
  const std::string here = std::to_string(::sched_getcpu());
  run_ranks(2, [&](const std::shared_ptr<Bootstrap>& job) {
    std::vector<std::unique_ptr<Communicator>> communicators;
    std::vector<float> data(10, 1.0F);
    for (const auto& where : {std::string("on"), here, here, std::string("off")}) {
      CommunicatorOptions options;
      options.transport = "loopback";
      options.progress = where;
      communicators.push_back(
          std::make_unique<Communicator>(job, ring_schedules(job->size()), options));
      start_sum(*communicators.back(), data).wait();
    }
    EXPECT_EQ(progress_threads(), 2);
    communicators.front()->barrier();
  });
}

TEST(Progress, ChoicesAreOnOffOrACore) {
  EXPECT_TRUE(progress_choice("on").on);
  EXPECT_FALSE(progress_choice("off").on);
  EXPECT_TRUE(progress_choice("").on);
  const int here = ::sched_getcpu();
  EXPECT_EQ(progress_choice(std::to_string(here)).core, static_cast<std::uint32_t>(here));
  for (const char* wrong : {"maybe", "-1", "0x1", "1 ", "99999999"}) {
    EXPECT_THROW(static_cast<void>(progress_choice(wrong)), Error) << wrong;
  }
}

}  // namespace
}  // namespace multitree::runtime::test
