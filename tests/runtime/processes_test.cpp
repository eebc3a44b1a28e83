// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Real processes over UCX: results, deaths, exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "runtime/launcher.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;

/// Runs rank_program; its exit code. What it prints on stderr goes to `errors` if given.
int launch(std::uint32_t ranks, std::vector<std::string> arguments, std::string* errors = nullptr) {
  arguments.insert(arguments.begin(), "rank_program");
  LaunchOptions options;
  options.program = MULTITREE_RANK_PROGRAM;
  options.grace = Deadline(15'000);
  ::testing::internal::CaptureStderr();
  const int code = launch_local(ranks, arguments, options);
  const std::string text = ::testing::internal::GetCapturedStderr();
  if (errors != nullptr) *errors = text;
  return code;
}

/// Sets a variable for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

class Transports : public ::testing::TestWithParam<const char*> {};

TEST_P(Transports, CollectivesAreRight) {
  const Variable tls("UCX_TLS", GetParam());
  for (const std::uint32_t ranks : {1U, 2U, 4U, 7U}) {
    std::string errors;
    EXPECT_EQ(launch(ranks, {"check"}, &errors), 0) << errors;
    EXPECT_EQ(errors, "");
  }
}

TEST_P(Transports, KilledRankStopsTheOthersInTime) {
  const Variable tls("UCX_TLS", GetParam());
  std::mt19937 random(7);
  for (int round = 0; round < 6; ++round) {
    const std::uint32_t victim = random() % 4;
    const std::string delay = std::to_string(random() % 100'000);
    const auto begin = std::chrono::steady_clock::now();
    std::string errors;
    EXPECT_EQ(launch(4, {"victim", std::to_string(victim), delay}, &errors), 4) << errors;
    EXPECT_THAT(errors, HasSubstr("rank " + std::to_string(victim) + " died by signal 9"));
    EXPECT_THAT(errors, HasSubstr("rank " + std::to_string(victim) + " died (connection closed)"));
    EXPECT_THAT(errors, ::testing::Not(HasSubstr("killing the ranks"))) << "victim " << victim;
    // Nothing waits for a time-out (10 s): the death itself is noticed.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
  }
}

INSTANTIATE_TEST_SUITE_P(Ucx, Transports,
                         ::testing::Values("posix,self", "sysv,self", "tcp,self", "all"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, ',');
                           return name;
                         });

TEST(Launcher, ReportsTheFirstRanksOwnExitCode) {
  std::string errors;
  EXPECT_EQ(launch(3, {"exit", "1", "3"}, &errors), 3);
  EXPECT_THAT(errors, HasSubstr("rank 1 died (connection closed)"));
}

TEST(Launcher, SaysWhatItCannotStart) {
  LaunchOptions options;
  options.program = "/does/not/exist";
  try {
    launch_local(2, {"x"}, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Io);
    EXPECT_STREQ(error.what(), "cannot start /does/not/exist: No such file or directory");
  }
  EXPECT_THROW(launch_local(0, {"x"}), Error);
}

TEST(Launcher, LoopbackCannotJoinProcesses) {
  std::string errors;
  EXPECT_EQ(launch(2, {"check", "loopback"}, &errors), 2);
  EXPECT_THAT(errors, HasSubstr("loopback joins threads of one process, but rank 1 is in another"));
}

}  // namespace
}  // namespace multitree::runtime::test
