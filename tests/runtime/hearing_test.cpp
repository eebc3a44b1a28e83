// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What ranks say is heard by all in one order, answers too, also by those who wait at a barrier.
#include <mutex>

#include "meeting.hpp"

namespace multitree::runtime::test {
namespace {

using Heard = std::vector<std::pair<Seat, std::string>>;

/// Ranks that say 50 things each, of which every tenth is answered by one of them, and meet then.
void all_hear_the_same(const std::vector<std::shared_ptr<Bootstrap>>& job) {
  constexpr int kWords = 50;
  std::vector<Heard> heard(job.size());
  std::vector<std::future<void>> ranks;
  for (std::size_t r = 0; r < job.size(); ++r) {
    ranks.push_back(std::async(std::launch::async, [&, r] {
      Bootstrap& mine = *job[r];
      const auto listen = [&, r](Seat from, const std::string& words) {
        heard[r].emplace_back(from, words);
        const bool asks = words.ends_with("0") && !words.starts_with("answer");
        return asks && index(from) == r ? "answer to " + words : std::string();
      };
      // Who listens late hears what was said before.
      if (r != 0) mine.hear_with(listen);
      for (int i = 0; i < kWords; ++i) {
        mine.say(std::to_string(r) + " says " + std::to_string(i));
        if (i == kWords / 2 && r == 0) mine.hear_with(listen);
        EXPECT_EQ(mine.failure(), std::nullopt);
      }
      // The last answers are said behind the first barrier at the latest, and heard behind the
      // next.
      for (int i = 0; i < 3; ++i) {
        mine.barrier(Deadline(10'000));
        EXPECT_EQ(mine.failure(), std::nullopt);
      }
      mine.hear_with(nullptr);
    }));
  }
  for (auto& rank : ranks) rank.get();
  EXPECT_EQ(heard[0].size(), job.size() * (kWords + kWords / 10));
  for (const Heard& one : heard) EXPECT_EQ(one, heard[0]);
}

TEST_F(Meeting, AllHearTheSameInOneOrder) { all_hear_the_same(join()); }

TEST(InProcess, AllHearTheSameInOneOrder) { all_hear_the_same(make_in_process_bootstraps(5)); }

}  // namespace
}  // namespace multitree::runtime::test
