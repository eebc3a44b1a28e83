// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Real processes over UCX and TCP: results, deaths, exit codes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include "runtime/job/launcher.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;

/// Runs rank_program; its exit code. What it prints on stderr goes to `errors` if given.
int launch(std::uint32_t ranks, std::vector<std::string> arguments, std::string* errors = nullptr,
           Deadline grace = Deadline(15'000)) {
  arguments.insert(arguments.begin(), "rank_program");
  LaunchOptions options;
  options.program = MULTITREE_RANK_PROGRAM;
  options.grace = grace;
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

/// What makes ranks send by it.
struct Way {
  const char* name;
  const char* variable;
  const char* value;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class Transports : public ::testing::TestWithParam<Way> {
  Variable setting_{GetParam().variable, GetParam().value};
};

TEST_P(Transports, CollectivesAreRight) {
  for (const std::uint32_t ranks : {1U, 2U, 4U, 7U}) {
    std::string errors;
    EXPECT_EQ(launch(ranks, {"check"}, &errors), 0) << errors;
    EXPECT_EQ(errors, "");
  }
}

TEST_P(Transports, KilledRankStopsTheOthersInTime) {
  std::mt19937 random(7);
  for (int round = 0; round < 6; ++round) {
    const std::uint32_t victim = random() % 4;
    const std::string delay = std::to_string(random() % 100'000);
    std::string errors;
    EXPECT_EQ(launch(4, {"victim", std::to_string(victim), delay}, &errors), 4) << errors;
    EXPECT_THAT(errors, HasSubstr("rank " + std::to_string(victim) + " died by signal 9"));
    EXPECT_THAT(errors, HasSubstr("rank " + std::to_string(victim) + " died (connection closed)"));
    EXPECT_THAT(errors, ::testing::Not(HasSubstr("killing the ranks"))) << "victim " << victim;
    // Nothing waits for a time-out: the death itself is noticed.
    EXPECT_THAT(errors, ::testing::Not(HasSubstr("no progress for")));
  }
}

INSTANTIATE_TEST_SUITE_P(Over, Transports,
                         ::testing::Values(Way{"UcxPosix", "UCX_TLS", "posix,self"},
                                           Way{"UcxSysv", "UCX_TLS", "sysv,self"},
                                           Way{"UcxTcp", "UCX_TLS", "tcp,self"},
                                           Way{"UcxAll", "UCX_TLS", "all"},
                                           Way{"Tcp", "MULTITREE_TRANSPORT", "tcp"},
                                           Way{"TcpEncrypted", "MULTITREE_ENCRYPT", "1"}),
                         [](const auto& test) { return test.param.name; });

/// Whether processes read and write each other's own memory.
class HostOf : public ::testing::TestWithParam<const char*> {
  Variable setting_{"MULTITREE_PEER_MEMORY", GetParam()};
};

TEST_P(HostOf, CollectivesAreRight) {
  for (const std::uint32_t ranks : {2U, 5U, 16U}) {
    std::string errors;
    EXPECT_EQ(launch(ranks, {"host"}, &errors), 0) << errors;
    EXPECT_EQ(errors, "");
  }
}

/// Names in the folder of shared memory that could be ours.
std::vector<std::string> shared_files() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error)) {
    const std::string name = entry.path().filename();
    if (name.find("multitree") != std::string::npos) names.push_back(name);
  }
  return names;
}

TEST_P(HostOf, KilledRankIsAnErrorEverywhereAndLeavesNothing) {
  std::mt19937 random(9);
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t victim = random() % 4;
    const std::string delay = std::to_string(random() % 100'000);
    std::string errors;
    EXPECT_EQ(launch(4, {"host-victim", std::to_string(victim), delay}, &errors), 4) << errors;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      if (rank == victim) continue;
      EXPECT_THAT(errors, HasSubstr("rank " + std::to_string(rank) + ": ")) << errors;
    }
    EXPECT_THAT(errors, HasSubstr("rank " + std::to_string(victim) + " died (connection closed)"));
    EXPECT_THAT(errors, ::testing::Not(HasSubstr("killing the ranks"))) << "victim " << victim;
    EXPECT_THAT(errors, ::testing::Not(HasSubstr("no progress for")));
  }
  EXPECT_THAT(shared_files(), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(PeerMemory, HostOf, ::testing::Values("0", "1"));

TEST(Launcher, ReportsTheFirstRanksOwnExitCode) {
  std::string errors;
  EXPECT_EQ(launch(3, {"exit", "1", "3"}, &errors), 3);
  EXPECT_THAT(errors, HasSubstr("rank 1 died (connection closed)"));
}

TEST(Launcher, StoppedRankIsATimeoutAndIsKilledInTheEnd) {
  std::string errors;
  EXPECT_EQ(launch(3, {"silent", "1"}, &errors, Deadline(1500)), 4);
  EXPECT_THAT(errors,
              ::testing::ContainsRegex(
                  "rank (0|2): allreduce #0: no progress for 1000 ms while waiting to "
                  "(send|receive) chunk [0-9] segment 0 (to|from) rank [0-9] at step [0-9]"));
  EXPECT_THAT(errors, HasSubstr("killing the ranks that did not leave in time"));
  EXPECT_THAT(errors, HasSubstr("rank 1 died by signal 9"));
}

/// Whether a process runs; one that has ended and waits to be collected does not.
bool runs(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text[name_end + 2] != 'Z';
}

bool soon(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return condition();
}

class Signalled : public ::testing::TestWithParam<int> {};

TEST_P(Signalled, LauncherLeavesNoRankBehind) {
  const std::filesystem::path directory = std::filesystem::path(::testing::TempDir()) /
                                          fmt::format("ranks-{}-{}", ::getpid(), GetParam());
  std::filesystem::create_directory(directory);
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    // Its words about dead ranks are not part of this test.
    static_cast<void>(std::freopen("/dev/null", "w", stderr));
    LaunchOptions options;
    options.program = MULTITREE_RANK_PROGRAM;
    ::_exit(launch_local(3, {"rank_program", "idle", directory.string()}, options));
  }
  std::vector<std::string> pids;
  EXPECT_TRUE(soon([&] {
    pids.clear();
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      pids.push_back(entry.path().filename());
    }
    return pids.size() == 3;
  }));
  ::kill(launcher, GetParam());
  int status = 0;
  ::waitpid(launcher, &status, 0);
  if (GetParam() != SIGKILL) {
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 4);
  }
  for (const std::string& pid : pids) EXPECT_TRUE(soon([&] { return !runs(pid); })) << pid;
  std::filesystem::remove_all(directory);
}

INSTANTIATE_TEST_SUITE_P(Signals, Signalled, ::testing::Values(SIGINT, SIGTERM, SIGKILL));

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
