// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks whose links fall silent go over to other schedules at the same call, however they are
/// apart.
#include "runtime/execution/replanner_internal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>

#include "algorithms/registry.hpp"
#include "tests/runtime/support.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime {
namespace {

constexpr std::uint32_t kRanks = 4;

/// What ranks see of links, for all of them.
struct Links {
  std::mutex mutex;
  std::map<Seat, std::vector<ImpairedLink>> impaired;
  void set(Seat seat, std::vector<ImpairedLink> links) {
    const std::scoped_lock lock(mutex);
    impaired[seat] = std::move(links);
  }
};

/// Carries nothing; tells of links.
class Silence final : public Transport {
 public:
  Silence(Links& links, Seat self) : links_(links), self_(self) {}
  void send(Seat, std::uint64_t, const void*, std::size_t, Completion&) override {}
  void receive(Seat, std::uint64_t, void*, std::size_t, Completion&) override {}
  bool progress() override { return false; }
  bool drain(Deadline) override { return true; }
  void abort() override {}
  [[nodiscard]] std::vector<ImpairedLink> impaired_links() override {
    const std::scoped_lock lock(links_.mutex);
    return links_.impaired[self_];
  }
  [[nodiscard]] std::string describe() const override { return "silence"; }

 private:
  Links& links_;
  Seat self_;
};

/// A rank, with what its calls run.
class Caller {
 public:
  Caller(const std::shared_ptr<Bootstrap>& job, Links& links, const Topology& network,
         Deadline timeout)
      : engine_(std::make_shared<Engine>(job, std::make_unique<Silence>(links, job->seat()),
                                         std::vector<Seat>(), timeout)),
        replanner_(first(network, *job), std::make_shared<const Remaking>(Remaking{network}),
                   timeout) {}

  /// "ring", or the spec and links of what takes its place.
  std::string call() {
    Planned* const other = replanner_.in_force(next_++);
    return other == nullptr ? "first" : other->programs().algorithm(Collective::AllReduce, 8);
  }
  [[nodiscard]] std::uint64_t next() const { return next_; }

 private:
  Planned first(const Topology& network, Bootstrap& job) {
    PlansBySize plans({for_all_sizes(make_schedule("multitree", network, Collective::AllReduce))});
    return {
        engine_, std::make_shared<Programs>(std::move(plans), rank_at(job.seat()), job.size()), {}};
  }

  std::shared_ptr<Engine> engine_;
  Replanner replanner_;
  std::uint64_t next_ = 0;
};

TEST(Replanner, AllGoOverAndBackAtTheSameCalls) {
  const Topology network = make_topology("ring:4");
  Links links;
  std::vector<std::vector<std::string>> ran(kRanks);
  std::atomic<std::uint32_t> back{0};
  test::run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& job) {
    const std::uint32_t rank = index(job->seat());
    Caller caller(job, links, network, Deadline(30'000));
    std::mt19937 random(rank);
    bool over = false, returned = false;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    // A rank may be ahead of the others by some calls, as roots are.
    while (back < kRanks && std::chrono::steady_clock::now() < until) {
      if (caller.next() == 20 && rank == 1) links.set(job->seat(), {{Seat{2}, 0}});
      ran[rank].push_back(caller.call());
      const bool first = ran[rank].back() == "first";
      if (!first && !over && rank == 1) links.set(job->seat(), {});
      if (over && first && !std::exchange(returned, true)) ++back;
      over = over || !first;
      std::this_thread::sleep_for(std::chrono::microseconds(200 + random() % 2000));
    }
  });
  EXPECT_EQ(back, kRanks);
  for (std::uint32_t rank = 1; rank < kRanks; ++rank) {
    const std::size_t both = std::min(ran[0].size(), ran[rank].size());
    ran[0].resize(both), ran[rank].resize(both);
    EXPECT_EQ(ran[rank], ran[0]) << "rank " << rank;
  }
  EXPECT_THAT(ran[0], testing::Contains("multitree"));
}

TEST(Replanner, StaysWhereTheNetworkWouldBeSplit) {
  const Topology network = make_topology("mesh:4x1");
  Links links;
  links.set(Seat{1}, {{Seat{2}, 0}});
  test::run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& job) {
    Caller caller(job, links, network, Deadline(30'000));
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(600);
    while (std::chrono::steady_clock::now() < until) {
      EXPECT_EQ(caller.call(), "first");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    job->barrier(Deadline(30'000));
  });
}

/// Who waits for a rank that has made its schedules and then says nothing objects: calls go on.
TEST(Replanner, ARankThatIsAwayIsNotWaitedForForLong) {
  const Topology network = make_topology("ring:4");
  Links links;
  links.set(Seat{1}, {{Seat{2}, 0}});
  std::atomic<bool> objected{false};
  test::run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& job) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    const auto goes_on = [&] { return !objected && std::chrono::steady_clock::now() < until; };
    if (job->seat() == Seat{3}) {
      job->hear_with([&](Seat, const std::string& words) -> std::string {
        objected = objected || words == PlanVote::objection_words(1);
        return words == PlanVote::link_words(std::vector{ImpairedLink{Seat{2}, 0}})
                   ? PlanVote::made_words(1, true)
                   : std::string();
      });
      while (goes_on()) {
        static_cast<void>(job->failure());
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return job->barrier(Deadline(30'000));
    }
    Caller caller(job, links, network, Deadline(30'000));
    while (goes_on()) {
      EXPECT_EQ(caller.call(), "first");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(caller.call(), "first");
    job->barrier(Deadline(30'000));
  });
  EXPECT_TRUE(objected);
}

}  // namespace
}  // namespace multitree::runtime
