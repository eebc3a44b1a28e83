// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Talks to a program through unnamed files, which unlike pipes need no second thread.
#include "report/filter_internal.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "topologies/error.hpp"

namespace multitree::report {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error(ErrorCode::Io, fmt::format("cannot {}: {}", what, std::strerror(error)));
}

class TemporaryFile {
 public:
  TemporaryFile() : file_(std::tmpfile()) {
    if (!file_) fail("make a temporary file", errno);
  }

  [[nodiscard]] int descriptor() const { return ::fileno(file_.get()); }

  void write(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
        std::fflush(file_.get()) != 0 || ::lseek(descriptor(), 0, SEEK_SET) != 0) {
      fail("write to a temporary file", errno);
    }
  }

  [[nodiscard]] std::string read() {
    std::string text;
    std::array<char, 1 << 16> part{};
    std::rewind(file_.get());
    while (const std::size_t n = std::fread(part.data(), 1, part.size(), file_.get())) {
      text.append(part.data(), n);
    }
    if (std::ferror(file_.get()) != 0) fail("read from a temporary file", errno);
    return text;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

/// A running program; killed if nobody waited for its end.
class Child {
 public:
  Child(const Filter& filter, const TemporaryFile& in, const TemporaryFile& out,
        const TemporaryFile& err)
      : name_(filter.command.front()) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err.descriptor(), STDERR_FILENO);
    const char* path = std::getenv("PATH");
    std::string search = fmt::format("PATH={}", path != nullptr ? path : "/usr/bin:/bin");
    std::string locale = "LC_ALL=C.UTF-8";
    std::vector<std::string> words = filter.command;
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::array<char*, 3> environment{search.data(), locale.data(), nullptr};
    const int error = ::posix_spawnp(&pid_, name_.c_str(), &actions, nullptr, arguments.data(),
                                     environment.data());
    posix_spawn_file_actions_destroy(&actions);
    if (error == ENOENT || error == EACCES) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("{} by {}, which is not on PATH (apt install {})", filter.purpose,
                              name_, filter.package));
    }
    if (error != 0) fail("start " + name_, error);
  }

  ~Child() {
    if (ended_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Its status as of waitpid().
  int wait(std::chrono::milliseconds deadline) {
    const Clock::time_point end = Clock::now() + deadline;
    for (;;) {
      int status = 0;
      const pid_t done = ::waitpid(pid_, &status, WNOHANG);
      ended_ = done == pid_ || (done < 0 && errno != EINTR);
      if (done == pid_) return status;
      if (ended_) fail("wait for " + name_, errno);
      if (Clock::now() >= end) {
        throw Error(ErrorCode::Timeout,
                    fmt::format("{} drew no figure within {} s", name_,
                                std::chrono::duration<double>(deadline).count()));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  std::string name_;
  pid_t pid_ = 0;
  bool ended_ = false;
};

}  // namespace

std::string run_filter(const Filter& filter, const std::string& input,
                       std::chrono::milliseconds deadline) {
  TemporaryFile in, out, err;
  in.write(input);
  const int status = Child(filter, in, out, err).wait(deadline);
  if (status != 0) {
    const std::string how = WIFSIGNALED(status)
                                ? fmt::format("died by signal {}", WTERMSIG(status))
                                : fmt::format("failed (exit {})", WEXITSTATUS(status));
    throw Error(ErrorCode::Io, fmt::format("{} {}: {}", filter.command.front(), how, err.read()));
  }
  return out.read();
}

}  // namespace multitree::report
