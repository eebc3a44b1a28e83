// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From how long ranks have waited to who slows them down.
#include "runtime/flight/pace.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace multitree::runtime::flight {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// Whom a rank waits for, and whom it sends to meanwhile, as shares of the time.
struct Share {
  std::uint32_t rank = 0;
  double received = 0, sent = 0;
};

/// Ranks that have run for so many seconds, each of which has waited for that share of the time.
FlightJob job_of(double seconds, const std::vector<std::pair<double, std::vector<Share>>>& ranks) {
  FlightJob job;
  job.job = 7;
  job.ranks = static_cast<std::uint32_t>(ranks.size());
  const auto ns = [seconds](double share) {
    return static_cast<std::uint64_t>(share * seconds * static_cast<double>(kSecond));
  };
  for (const auto& [waited, shares] : ranks) {
    Flight& flight = job.flights.emplace_back();
    flight.rank = static_cast<std::uint32_t>(job.flights.size() - 1);
    flight.ranks = job.ranks;
    flight.made_ns = kSecond;
    flight.life = Life::Runs;
    flight.begun = 78;
    flight.calls = {{77, "allreduce of 8 float, sum", 0, false}};
    flight.waited_ns = ns(waited);
    for (const Share& share : shares) {
      flight.waited.push_back({share.rank, ns(share.received), ns(share.sent)});
    }
  }
  job.read_ns = kSecond + static_cast<std::int64_t>(ns(1));
  return job;
}

std::string slow(const FlightJob& job) { return find_slow(job, nullptr, job.read_ns); }

TEST(Pace, NamesTheSlowRank) {
  EXPECT_EQ(slow(job_of(2, {{0.9, {{2, 0.9}}}, {0.8, {{0, 0.8}}}, {0.05, {{1, 0.05}}}})),
            "rank 2 is slow: ranks 0-1 waited 80-90 % of the last 2.0 s, at last in allreduce #77 "
            "of 8 float, sum, and it 5 %");
  EXPECT_EQ(slow(job_of(2, {{0.02, {}}, {0.5, {{0, 0.5}}}})),
            "rank 0 is slow: rank 1 waited 50 % of the last 2.0 s, at last in allreduce #77 of "
            "8 float, sum, and it 2 %");
}

TEST(Pace, NamesTheSlowLink) {
  EXPECT_EQ(
      slow(job_of(
          2, {{0.9, {{2, 0.9}, {1, 0, 0.85}}}, {0.9, {{0, 0.9}, {2, 0, 0.1}}}, {0.9, {{1, 0.9}}}})),
      "link 0>1 is slow: rank 1 waited 85 % of the last 2.0 s, at last in allreduce #77 of 8 "
      "float, sum for what rank 0 had handed to the network");
}

TEST(Pace, AccusesNobodyOfAnEvenJob) {
  // All wait about as long, however long that is.
  EXPECT_EQ(slow(job_of(2, {{0.9, {{1, 0.9}}}, {0.6, {{0, 0.6}}}, {0.5, {{1, 0.5}}}})), "");
  EXPECT_EQ(slow(job_of(2, {{0.1, {{1, 0.1}}}, {0.01, {}}})), "");
  // All links are busy.
  EXPECT_EQ(slow(job_of(2, {{0.9, {{1, 0.9, 0.8}}}, {0.9, {{0, 0.9, 0.7}}}})), "");
  // Nothing was heard of for whom.
  EXPECT_EQ(slow(job_of(2, {{0.9, {}}, {0.01, {}}})), "");
}

TEST(Pace, SaysNothingOfWhatItDoesNotKnow) {
  FlightJob job = job_of(2, {{0.9, {{1, 0.9}}}, {0.01, {}}});
  EXPECT_NE(slow(job), "");
  EXPECT_EQ(find_slow(job, nullptr, job.read_ns - 3 * kSecond / 2), "");  // half a second
  FlightJob failed = job, dead = job, alone = job;
  failed.flights[0].failure = "rank 1 died";
  dead.flights[1].life = Life::Dead;
  alone.flights.pop_back();
  EXPECT_EQ(slow(failed) + slow(dead) + slow(alone), "");
}

TEST(Pace, ComparesTwoLooks) {
  // Rank 0 was slow, and rank 1 is now.
  const FlightJob before = job_of(4, {{0.0, {}}, {0.9, {{0, 0.9}}}});
  FlightJob now = before;
  now.flights[0].waited_ns = 2 * static_cast<std::uint64_t>(kSecond);
  now.flights[0].waited = {{1, now.flights[0].waited_ns, 0}};
  now.read_ns = before.read_ns + 2 * kSecond;
  std::vector<FlightJob> jobs{now};
  find_slow(jobs, {before}, now.read_ns);
  EXPECT_EQ(jobs[0].slow.substr(0, 14), "rank 1 is slow");
  // Who keeps it waiting for good comes first.
  jobs[0].blame = "rank 1 does not answer";
  jobs[0].slow.clear();
  find_slow(jobs, {before}, now.read_ns);
  EXPECT_EQ(jobs[0].slow, "");
}

}  // namespace
}  // namespace multitree::runtime::flight
