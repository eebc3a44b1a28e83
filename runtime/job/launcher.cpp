// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fork, watch, and clean up.
#include "runtime/job/launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "runtime/job/tcp_internal.hpp"
#include "topologies/error.hpp"

extern char** environ;

namespace multitree::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Exit code of a rank that failed because of another (ErrorCode::Transport, ErrorCode::Timeout).
constexpr int kTransportExit = 4;
/// After SIGINT or SIGTERM.
constexpr std::chrono::seconds kInterruptGrace{5};

/// Blocks the signals that wait_for() takes, and puts back what was before.
class SignalGuard {
 public:
  SignalGuard() {
    sigemptyset(&watched_);
    for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&watched_, signal);
    ::pthread_sigmask(SIG_BLOCK, &watched_, &before_);
    // Were SIGCHLD ignored, exit codes would be lost.
    struct sigaction act {};
    act.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &act, &child_);
  }
  ~SignalGuard() {
    ::sigaction(SIGCHLD, &child_, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  /// The next signal; 0 if none came in time.
  [[nodiscard]] int wait_for(std::chrono::milliseconds time) const {
    const timespec limit{time.count() / 1000, (time.count() % 1000) * 1'000'000};
    return std::max(::sigtimedwait(&watched_, nullptr, &limit), 0);
  }
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t watched_, before_;
  struct sigaction child_ {};
};

struct Child {
  pid_t pid = -1;
  std::optional<int> exit;  ///< code, or 4 for a death by signal
  bool signalled = false;
};

/// Everything that exec needs, made before the fork: a child of a process with threads must not
/// allocate.
struct Image {
  std::vector<std::string> arguments, environment;
  std::vector<char*> argv, envp;

  void point() {
    for (std::string& text : arguments) argv.push_back(text.data());
    argv.push_back(nullptr);
    for (std::string& text : environment) envp.push_back(text.data());
    envp.push_back(nullptr);
  }
};

Image make_image(const std::vector<std::string>& argv, const std::vector<std::string>& variables) {
  Image image;
  image.arguments = argv;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name(*entry, std::strcspn(*entry, "=") + 1);
    const bool replaced = std::any_of(
        variables.begin(), variables.end(),
        [&](const auto& variable) { return std::string_view(variable).starts_with(name); });
    if (!replaced) image.environment.emplace_back(*entry);
  }
  image.environment.insert(image.environment.end(), variables.begin(), variables.end());
  image.point();
  return image;
}

/// Only async-signal-safe calls from here to exec.
[[noreturn]] void become(const char* program, const Image& image, pid_t parent,
                         const sigset_t& mask, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kTransportExit);  // it died before the line above
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  ::execve(program, image.argv.data(), image.envp.data());
  const int error = errno;
  static_cast<void>(::write(report, &error, sizeof error) == sizeof error);
  ::_exit(127);
}

pid_t start(const std::string& program, const Image& image, const sigset_t& mask) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    throw Error(ErrorCode::Io, fmt::format("cannot start a rank: {}", std::strerror(errno)));
  }
  Socket in(pipe[0]), out(pipe[1]);  // any descriptor will do
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(program.c_str(), image, parent, mask, out.fd());
  int error = errno;
  out.close();
  // The pipe closes by exec; a number in it means that there was none.
  if (pid > 0 && ::read(in.fd(), &error, sizeof error) != sizeof error) return pid;
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  throw Error(ErrorCode::Io, fmt::format("cannot start {}: {}", program, std::strerror(error)));
}

/// The running ranks.
class Family {
 public:
  Family(std::uint32_t ranks, bool survive_deaths, Coordinator& coordinator)
      : ranks_(ranks), survive_deaths_(survive_deaths), coordinator_(coordinator) {}
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;
  ~Family() {
    kill_all(SIGKILL);
    for (Child& child : children_) {
      if (!child.exit) ::waitpid(child.pid, nullptr, 0);
    }
  }

  void add(pid_t pid) { children_.push_back({pid, {}, false}); }

  void kill_all(int signal) {
    for (const Child& child : children_) {
      if (!child.exit) ::kill(child.pid, signal);
    }
  }

  /// Collects those that have ended; true if one of them failed.
  bool reap(bool quiet) {
    bool failed = false;
    for (std::size_t rank = 0; rank < children_.size(); ++rank) {
      Child& child = children_[rank];
      int status = 0;
      if (child.exit || ::waitpid(child.pid, &status, WNOHANG) != child.pid) continue;
      const Origin origin{static_cast<std::uint32_t>(rank)};
      if (WIFSIGNALED(status)) {
        child.exit = kTransportExit;
        coordinator_.died(origin, fmt::format("signal {}", WTERMSIG(status)));
        if (!quiet) {
          const bool spare = rank >= ranks_;
          fmt::print(stderr, "multitree: {} {} died by signal {} ({})\n", spare ? "spare" : "rank",
                     spare ? rank - ranks_ : rank, WTERMSIG(status), ::strsignal(WTERMSIG(status)));
        }
      } else {
        child.exit = WEXITSTATUS(status);
        if (*child.exit != 0) coordinator_.died(origin, fmt::format("exit code {}", *child.exit));
      }
      if (WIFSIGNALED(status) && survive_deaths_ && !quiet) {
        ++deaths_;
        continue;
      }
      failed |= *child.exit != 0;
      note(*child.exit);
    }
    return failed;
  }

  [[nodiscard]] bool all_ended() const {
    return std::all_of(children_.begin(), children_.end(), [](const Child& c) { return c.exit; });
  }
  [[nodiscard]] int result() const {
    return deaths_ == children_.size() ? kTransportExit : result_;
  }

 private:
  /// Ranks that fail because of others exit with 4, so any other code is nearer to the cause.
  void note(int code) {
    if (code != 0 && (result_ == 0 || (result_ == kTransportExit && !own_))) {
      result_ = code;
      own_ = code != kTransportExit;
    }
  }

  std::size_t ranks_;
  bool survive_deaths_;
  Coordinator& coordinator_;
  std::vector<Child> children_;
  std::size_t deaths_ = 0;  ///< that do not matter
  int result_ = 0;
  bool own_ = false;
};

int watch(Family& family, const SignalGuard& signals, Deadline grace) {
  std::optional<Clock::time_point> end;
  const auto end_within = [&](std::chrono::milliseconds time) {
    end = std::min(end.value_or(Clock::time_point::max()), Clock::now() + time);
  };
  bool interrupted = false;
  while (true) {
    if (family.reap(interrupted) && !end) end_within(grace);
    if (family.all_ended()) return family.result();
    const int signal = signals.wait_for(std::chrono::milliseconds(100));
    if (signal == SIGINT || signal == SIGTERM) {
      family.kill_all(signal);
      interrupted = true;
      end_within(kInterruptGrace);
    }
    if (end && Clock::now() >= *end) {
      fmt::print(stderr, "multitree: killing the ranks that did not leave in time\n");
      family.kill_all(SIGKILL);
      end = Clock::time_point::max();
    }
  }
}

}  // namespace

int launch_local(std::uint32_t ranks, const std::vector<std::string>& argv,
                 const LaunchOptions& options) {
  if (ranks == 0 || argv.empty()) {
    throw Error(ErrorCode::InvalidArgument, "launching needs at least one rank and a program name");
  }
  const SignalGuard signals;  // before the coordinator's thread, which inherits the mask
  const std::string token = make_token();
  const std::uint32_t processes = ranks + options.spares;
  Coordinator coordinator(listen_at(0, kLoopback), processes, token);
  Family family(ranks, options.survive_deaths, coordinator);
  std::vector<std::string> variables{
      fmt::format("MULTITREE_SIZE={}", processes),
      fmt::format("MULTITREE_RENDEZVOUS=127.0.0.1:{}", coordinator.port()),
      "MULTITREE_TOKEN=" + token, "MULTITREE_COORDINATOR=launcher"};
  // UCX would write its complaints between our results; it reads this when it is loaded.
  if (std::getenv("UCX_LOG_FILE") == nullptr) variables.emplace_back("UCX_LOG_FILE=stderr");
  variables.emplace_back();
  for (std::uint32_t rank = 0; rank < processes; ++rank) {
    variables.back() = fmt::format("MULTITREE_RANK={}", rank);
    family.add(start(options.program.empty() ? "/proc/self/exe" : options.program,
                     make_image(argv, variables), signals.before()));
  }
  return watch(family, signals, options.grace);
}

}  // namespace multitree::runtime
