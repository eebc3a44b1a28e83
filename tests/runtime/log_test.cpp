// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Levels of the log. The variable is read once a process, so each case is one of its own.
#include "runtime/job/log_internal.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

namespace multitree::runtime::test {
namespace {

/// Ends the process after it has said something at every level.
[[noreturn]] void say_all(const char* level) {
  if (level == nullptr) {
    ::unsetenv("MULTITREE_LOG");
  } else {
    ::setenv("MULTITREE_LOG", level, 1);
  }
  logger().debug("d{}", 1);
  logger().info("i{}", 2);
  logger().warn("w{}", 3);
  logger().error("e{}", 4);
  std::exit(0);
}

const auto kEnd = ::testing::ExitedWithCode(0);
/// A line of the log: time, process, level, words.
std::string line(const std::string& level, const std::string& words) {
  return R"(\[[0-9:.]+\] multitree [0-9]+: )" + level + ": " + words + "\n";
}
testing::Matcher<const std::string&> is(const std::string& pattern) {
  return ::testing::MatchesRegex(pattern);
}

TEST(LogDeathTest, WritesWhatIsWanted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string debug = line("debug", "d1"), info = line("info", "i2");
  const std::string warning = line("warning", "w3"), error = line("error", "e4");
  EXPECT_EXIT(say_all(nullptr), kEnd, is(warning + error));
  EXPECT_EXIT(say_all("off"), kEnd, is(""));
  EXPECT_EXIT(say_all("error"), kEnd, is(error));
  EXPECT_EXIT(say_all("warn"), kEnd, is(warning + error));
  EXPECT_EXIT(say_all("info"), kEnd, is(info + warning + error));
  EXPECT_EXIT(say_all("debug"), kEnd, is(debug + info + warning + error));
}

TEST(LogDeathTest, SaysWhichLevelsThereAre) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string expected =
      "MULTITREE_LOG: expected off, error, warn, info or debug, found \"loud\"";
  EXPECT_EXIT(say_all("loud"), kEnd,
              is(line("warning", expected) + line("warning", "w3") + line("error", "e4")));
}

/// Ends the process with 0 if all children that it forks while another thread writes lines can
/// write theirs.
[[noreturn]] void fork_while_another_writes() {
  ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
  std::atomic<bool> over{false};
  std::thread writer([&] {
    while (!over) logger().error("parent");
  });
  int status = 0;
  for (int child = 0; child < 200 && status == 0; ++child) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(5);
      logger().error("child");
      std::_Exit(0);
    }
    ::waitpid(pid, &status, 0);
  }
  over = true;
  writer.join();
  std::exit(status == 0 ? 0 : 1);
}

TEST(LogDeathTest, ChildrenWriteWhoseParentWroteWhenItForked) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(fork_while_another_writes(), kEnd, "");
}

}  // namespace
}  // namespace multitree::runtime::test
