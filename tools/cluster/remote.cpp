// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Processes with pipes.
#include "tools/cluster/remote.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "tools/command.hpp"
#include "topologies/error.hpp"

namespace multitree::tools {
namespace {

using Clock = std::chrono::steady_clock;

/// What a process may take to end by itself, once nobody asks it any more.
constexpr std::chrono::milliseconds kToLeave{2000}, kLook{10};
/// Of an answer, and of what is kept of complaints.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr int kNoProgram = 127;  ///< what shells, env and posix_spawn say

std::string last_line(const std::string& text) {
  const auto end = text.find_last_not_of(" \r\n\t");
  if (end == std::string::npos) return {};
  const auto begin = text.find_last_of('\n', end);
  return text.substr(begin + 1, end - begin);
}

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw Error(ErrorCode::Io, "cannot make a pipe: " + std::generic_category().message(errno));
    }
    read = ends[0];
    write = ends[1];
  }
};

/// With SIGPIPE as usual, which is off here.
int spawn(pid_t& pid, const std::vector<std::string>& command, int in, int out, int err) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &pipe);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int error = ::posix_spawnp(&pid, words[0], &actions, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Remote::Remote(std::string host, const std::vector<std::string>& command)
    : host_(std::move(host)), program_(command.front()) {
  const Pipe in, out, err;
  const int error = spawn(pid_, command, in.read, out.write, err.write);
  for (const int fd : {in.read, out.write, err.write}) ::close(fd);
  input_ = in.write;
  output_ = out.read;
  errors_ = err.read;
  for (const int fd : {input_, output_, errors_}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  ::signal(SIGPIPE, SIG_IGN);
  if (error == 0) return;
  pid_ = -1;
  for (const int fd : {input_, output_, errors_}) ::close(fd);
  throw Error(ErrorCode::Io, fmt::format("--ssh: cannot run '{}': {}", program_,
                                         std::generic_category().message(error)));
}

Remote::Remote(Remote&& other) noexcept
    : host_(std::move(other.host_)),
      program_(std::move(other.program_)),
      pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      errors_(std::exchange(other.errors_, -1)),
      heard_(std::move(other.heard_)),
      complaint_(std::move(other.complaint_)) {}

Remote::~Remote() {
  close_input();  // the agent leaves
  for (const int number : {0, SIGTERM, SIGKILL}) {
    if (pid_ < 0) break;
    if (number != 0) ::kill(pid_, number);
    for (const auto until = Clock::now() + kToLeave; pid_ >= 0 && Clock::now() < until;) {
      const pid_t gone = ::waitpid(pid_, nullptr, WNOHANG);
      if (gone != 0) pid_ = -1;
      if (gone == 0) std::this_thread::sleep_for(kLook);
    }
  }
  if (output_ >= 0) ::close(output_);
  if (errors_ >= 0) ::close(errors_);
}

void Remote::close_input() {
  if (input_ >= 0) ::close(input_);
  input_ = -1;
}

/// A question is shorter than a pipe holds, and each is answered before the next.
void Remote::ask(const nlohmann::ordered_json& question) {
  const std::string line = question.dump() + "\n";
  static_cast<void>(::write(input_, line.data(), line.size()) == ssize_t(line.size()));
}

/// False: nothing came in time. What the process complains of is kept.
bool Remote::read_more(Milliseconds deadline) {
  std::array<pollfd, 2> events{{{output_, POLLIN, 0}, {errors_, POLLIN, 0}}};
  if (::poll(events.data(), errors_ < 0 ? 1 : 2, static_cast<int>(deadline.count())) <= 0) {
    return false;
  }
  std::array<char, 4096> bytes{};
  if (errors_ >= 0 && events[1].revents != 0) {
    const ssize_t n = ::read(errors_, bytes.data(), bytes.size());
    if (n > 0 && complaint_.size() < kMostBytes) complaint_.append(bytes.data(), n);
    if (n == 0) ::close(std::exchange(errors_, -1));
  }
  if (events[0].revents == 0) return true;
  const ssize_t n = ::read(output_, bytes.data(), bytes.size());
  if (n > 0) heard_.append(bytes.data(), n);
  if (n == 0) ended();
  return true;
}

void Remote::ended() {
  close_input();
  const auto until = Clock::now() + kToLeave;
  while (errors_ >= 0 && Clock::now() < until) {
    pollfd event{errors_, POLLIN, 0};
    std::array<char, 4096> bytes{};
    if (::poll(&event, 1, static_cast<int>(kToLeave.count())) <= 0) break;
    const ssize_t n = ::read(errors_, bytes.data(), bytes.size());
    if (n > 0 && complaint_.size() < kMostBytes) complaint_.append(bytes.data(), n);
    if (n <= 0) ::close(std::exchange(errors_, -1));
  }
  int status = 0;
  pid_t gone = 0;
  while ((gone = ::waitpid(pid_, &status, WNOHANG)) == 0 && Clock::now() < until) {
    std::this_thread::sleep_for(kLook);
  }
  if (gone == pid_) pid_ = -1;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  const std::string said = last_line(complaint_);
  throw Error(
      ErrorCode::Transport,
      fmt::format(
          "{}: {} ended with exit code {}{}{}", host_, program_, code,
          said.empty() ? "" : ": " + one_line(said),
          code == kNoProgram ? "; is multitree installed there? --program says where" : ""));
}

nlohmann::json Remote::answer(const std::string& what, Milliseconds deadline) {
  const auto until = Clock::now() + deadline;
  while (true) {
    const auto end = heard_.find('\n');
    if (end != std::string::npos) {
      const std::string line = heard_.substr(0, end);
      heard_.erase(0, end + 1);
      auto value = nlohmann::json::parse(line, nullptr, false);
      if (!value.is_object()) continue;
      return value;
    }
    if (heard_.size() > kMostBytes) heard_.clear();
    const auto left = std::chrono::ceil<Milliseconds>(until - Clock::now());
    if (left.count() > 0 && (read_more(left) || Clock::now() < until)) continue;
    const std::string said = last_line(complaint_);
    throw Error(ErrorCode::Timeout,
                fmt::format("{}: no answer within {} s: waited for {}{}", host_,
                            std::chrono::duration<double>(deadline).count(), what,
                            said.empty() ? "" : "; it says: " + one_line(said)));
  }
}

std::vector<std::string> words_of_command(const std::string& text, const std::string& flag) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  if (words.empty()) {
    throw Error(ErrorCode::InvalidArgument, flag + ": expected a command such as ssh, got none");
  }
  return words;
}

}  // namespace multitree::tools
