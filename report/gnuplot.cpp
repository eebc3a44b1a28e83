// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Talks to gnuplot through unnamed files, which unlike pipes need no second thread.
#include "report/gnuplot_internal.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cctype>
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

[[noreturn]] void fail(const char* what, int error) {
  throw Error(ErrorCode::Io, fmt::format("cannot {}: {}", what, std::strerror(error)));
}

class TemporaryFile {
 public:
  TemporaryFile() : file_(std::tmpfile()) {
    if (!file_) fail("make a temporary file for gnuplot", errno);
  }

  [[nodiscard]] int descriptor() const { return ::fileno(file_.get()); }

  void write(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
        std::fflush(file_.get()) != 0 || ::lseek(descriptor(), 0, SEEK_SET) != 0) {
      fail("write gnuplot's script", errno);
    }
  }

  [[nodiscard]] std::string read() {
    std::string text;
    std::array<char, 1 << 16> part{};
    std::rewind(file_.get());
    while (const std::size_t n = std::fread(part.data(), 1, part.size(), file_.get())) {
      text.append(part.data(), n);
    }
    if (std::ferror(file_.get()) != 0) fail("read gnuplot's output", errno);
    return text;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

/// A running gnuplot; killed if nobody waited for its end.
class Child {
 public:
  Child(const TemporaryFile& in, const TemporaryFile& out, const TemporaryFile& err) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err.descriptor(), STDERR_FILENO);
    const char* path = std::getenv("PATH");
    std::string search = fmt::format("PATH={}", path != nullptr ? path : "/usr/bin:/bin");
    std::string locale = "LC_ALL=C.UTF-8", name = "gnuplot", defaults = "--default-settings";
    std::array<char*, 3> arguments{name.data(), defaults.data(), nullptr};
    std::array<char*, 3> environment{search.data(), locale.data(), nullptr};
    const int error = ::posix_spawnp(&pid_, name.c_str(), &actions, nullptr, arguments.data(),
                                     environment.data());
    posix_spawn_file_actions_destroy(&actions);
    if (error == ENOENT || error == EACCES) {
      throw Error(ErrorCode::Unsupported,
                  "figures are drawn by gnuplot, which is not on PATH (apt install gnuplot-nox)");
    }
    if (error != 0) fail("start gnuplot", error);
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
      if (ended_) fail("wait for gnuplot", errno);
      if (Clock::now() >= end) {
        throw Error(ErrorCode::Timeout,
                    fmt::format("gnuplot drew no figure within {} s",
                                std::chrono::duration<double>(deadline).count()));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  pid_t pid_ = 0;
  bool ended_ = false;
};

}  // namespace

std::string gnuplot_quote(std::string_view text) {
  // By code: gnuplot 5.4 ends a single-quoted string that starts with a quote too early. Digits
  // too, which it would take for more of the code before.
  std::string quoted = "\"";
  for (const char c : text) {
    const bool plain = std::isalpha(static_cast<unsigned char>(c)) != 0 || c == ' ';
    quoted += plain ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  return quoted + "\"";
}

std::string run_gnuplot(const std::string& script, std::chrono::milliseconds deadline) {
  TemporaryFile in, out, err;
  in.write(script);
  const int status = Child(in, out, err).wait(deadline);
  if (status != 0) {
    const std::string how = WIFSIGNALED(status)
                                ? fmt::format("died by signal {}", WTERMSIG(status))
                                : fmt::format("failed (exit {})", WEXITSTATUS(status));
    throw Error(ErrorCode::Io, fmt::format("gnuplot {}: {}", how, err.read()));
  }
  return out.read();
}

}  // namespace multitree::report
