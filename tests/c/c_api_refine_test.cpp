// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Blocking calls that are refined while they run, and what is kept of it.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "c_api_support.hpp"
#include "tests/paths.hpp"

namespace multitree::c_api_test {
namespace {

namespace fs = std::filesystem;

constexpr int kRefinedRanks = 8;

class Refine : public ::testing::Test {
 protected:
  Refine() { ::setenv("MULTITREE_CACHE", folder_.c_str(), 1); }
  ~Refine() override {
    ::unsetenv("MULTITREE_CACHE");
    ::unsetenv("MULTITREE_REFINE");
    fs::remove_all(folder_);
  }

  /// A plan whose network has 8 ranks and which serves all-reduce: the others are chosen, and go by
  /// messages.
  static mtConfig_t config(int refine) {
    static const std::string plan = test::source_path("tests/data/c/torus-4x2.json");
    mtConfig_t config = loopback();
    config.planFile = plan.c_str();
    config.tuning = "cached";
    config.refine = refine;
    return config;
  }
  /// All-gathers and broadcasts, blocking and not, and their results.
  static void call(const mtConfig_t& config, int calls) {
    const mtUniqueId id = new_id();
    in_threads(kRefinedRanks, [&](int rank) {
      mtComm_t comm = nullptr;
      ASSERT_EQ(mtCommInitRankConfig(&comm, kRefinedRanks, id, rank, &config), mtSuccess)
          << mtGetLastError(nullptr);
      for (int i = 0; i < calls; ++i) {
        const std::int32_t mine[2] = {rank + i, -rank};
        std::int32_t all[2 * kRefinedRanks] = {};
        ASSERT_EQ(mtAllGather(mine, all, 2, mtInt32, comm, nullptr), mtSuccess)
            << mtGetLastError(comm);
        for (int r = 0; r < kRefinedRanks; ++r) ASSERT_EQ(all[2 * r] + all[2 * r + 1], i) << r;
        std::int32_t told = rank == 1 ? i : -1;
        ASSERT_EQ(mtBroadcast(&told, &told, 1, mtInt32, 1, comm, nullptr), mtSuccess)
            << mtGetLastError(comm);
        ASSERT_EQ(told, i);
        if (i % 16 != 0) continue;
        mtRequest_t request = nullptr;
        ASSERT_EQ(mtIAllGather(mine, all, 2, mtInt32, comm, nullptr, &request), mtSuccess);
        ASSERT_EQ(mtRequestFree(&request), mtSuccess);
      }
      ASSERT_EQ(mtCommDestroy(comm), mtSuccess) << mtGetLastError(nullptr);
    });
  }
  /// The one file of the cache.
  [[nodiscard]] fs::path file() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(folder_)) all.push_back(entry.path());
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? fs::path() : all.front();
  }
  [[nodiscard]] std::string text() const {
    std::ostringstream text;
    text << std::ifstream(file()).rdbuf();
    return text.str();
  }
  void write(const std::string& text) const { std::ofstream(file()) << text; }

  std::string folder_ = fs::temp_directory_path() / ("refine-" + std::to_string(::getpid()));
};

TEST_F(Refine, IsOffUnlessAskedFor) {
  call(config(MT_CONFIG_UNDEF_INT), 10);
  EXPECT_THAT(text(), ::testing::Not(::testing::HasSubstr("choices")));
  ::setenv("MULTITREE_REFINE", "yes", 1);
  mtComm_t comm = nullptr;
  const mtConfig_t wanted = config(MT_CONFIG_UNDEF_INT);
  EXPECT_EQ(mtCommInitRankConfig(&comm, kRefinedRanks, new_id(), 0, &wanted), mtInvalidArgument);
  EXPECT_STREQ(mtGetLastError(nullptr), "MULTITREE_REFINE: expected 0 or 1, found \"yes\"");
}

/// With times by which nothing tells schedules of small vectors apart.
TEST_F(Refine, ResultsAreRightAndWhatWasFoundIsKept) {
  call(config(0), 1);
  std::string table = text();
  table = std::regex_replace(table, std::regex("\"latency\":\"[^\"]*\""), "\"latency\":\"900us\"");
  table =
      std::regex_replace(table, std::regex("\"bandwidth\":\"[^\"]*\""), "\"bandwidth\":\"9GB/s\"");
  table = std::regex_replace(table, std::regex("\"message_overhead\":\"[^\"]*\""),
                             "\"message_overhead\":\"1ns\"");
  table = std::regex_replace(table, std::regex(",\\s*\"hosts\":\\[[\\s\\S]*?\\}\\]"), "");
  write(table);
  ::setenv("MULTITREE_REFINE", "1", 1);
  const std::string choice = "{\"collective\":\"allgather\",\"bytes\":64,";
  // Where the first sums of times happen to take long, a job compares nothing in so few calls.
  const auto is_kept = [&] { return text().find(choice) != std::string::npos; };
  for (int job = 0; job < 20 && !is_kept(); ++job) call(config(MT_CONFIG_UNDEF_INT), 1'200);
  for (int job = 0; job < 2; ++job) {
    EXPECT_THAT(text(), ::testing::HasSubstr("\"choices\":["));
    EXPECT_THAT(text(), ::testing::HasSubstr(choice));
    call(config(MT_CONFIG_UNDEF_INT), 1'200);
  }
}

}  // namespace
}  // namespace multitree::c_api_test
