// SPDX-License-Identifier: BSD-3-Clause
#include "report/gnuplot_internal.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/topologies/error_matcher.hpp"

namespace multitree::report {
namespace {

using testing::HasSubstr;

/// While it lives, PATH is one folder, which holds a program named gnuplot or nothing.
class OnlyProgram {
 public:
  explicit OnlyProgram(const std::string& script) {
    std::string name = (std::filesystem::temp_directory_path() / "gnuplot-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    if (!script.empty()) {
      const std::filesystem::path file = folder_ / "gnuplot";
      std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
      std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    }
    ::setenv("PATH", folder_.c_str(), 1);
  }
  ~OnlyProgram() {
    ::setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  OnlyProgram(const OnlyProgram&) = delete;
  OnlyProgram& operator=(const OnlyProgram&) = delete;

 private:
  std::string path_ = std::getenv("PATH");
  std::filesystem::path folder_;
};

TEST(Gnuplot, PrintsWhatTheScriptSays) {
  EXPECT_EQ(run_gnuplot("set print '-'\nprint 6*7\n"), "42\n");
}

TEST(Gnuplot, QuotedTextIsUnchanged) {
  for (const std::string text :
       {"", "plain", "'", "''", "a'b", "\\", "`ls`", "@x ${y} %d \"q\" #"}) {
    EXPECT_EQ(run_gnuplot("set print '-'\nprint " + gnuplot_quote(text) + "\n"), text + "\n");
  }
}

TEST(Gnuplot, ItsMessageIsTheError) {
  const auto run = [] { run_gnuplot("no such command\n"); };
  EXPECT_THAT(error_of(ErrorCode::Io, run),
              testing::AllOf(HasSubstr("failed (exit 1)"), HasSubstr("invalid command")));
}

TEST(Gnuplot, SaysHowToInstallIt) {
  const OnlyProgram none("");
  const auto run = [] { run_gnuplot("print 1\n"); };
  EXPECT_THAT(error_of(ErrorCode::Unsupported, run), HasSubstr("apt install gnuplot-nox"));
}

TEST(Gnuplot, ItsDeathIsAnError) {
  const OnlyProgram dying("kill -9 $$");
  const auto run = [] { run_gnuplot("print 1\n"); };
  EXPECT_THAT(error_of(ErrorCode::Io, run), HasSubstr("died by signal 9"));
}

TEST(Gnuplot, IsKilledAtTheDeadline) {
  const OnlyProgram hanging("while :; do :; done");
  const auto start = std::chrono::steady_clock::now();
  const auto run = [] { run_gnuplot("print 1\n", std::chrono::milliseconds(200)); };
  EXPECT_THAT(error_of(ErrorCode::Timeout, run), HasSubstr("within 0.2 s"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Gnuplot, SeesNoSettingsOfTheUser) {
  const OnlyProgram shown("echo \"$LC_ALL|$GNUTERM|$HOME|$1\"");
  ::setenv("GNUTERM", "dumb", 1);
  EXPECT_EQ(run_gnuplot(""), "C.UTF-8|||--default-settings\n");
  ::unsetenv("GNUTERM");
}

}  // namespace
}  // namespace multitree::report
