// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// PMI-1, the text protocol between MPICH's mpiexec and its processes: one line a command.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "runtime/job/process_manager_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

using Clock = std::chrono::steady_clock;

class Pmi1 {
 public:
  explicit Pmi1(int fd) : fd_(fd) {}
  ~Pmi1() {
    // Without it mpiexec takes the exit for a crash.
    if (!started_) return;
    try {
      ask("cmd=finalize", "finalize_ack", Clock::now() + std::chrono::seconds(5));
    } catch (const Error&) {  // mpiexec is gone: nobody is left to be told
    }
  }
  Pmi1(const Pmi1&) = delete;
  Pmi1& operator=(const Pmi1&) = delete;

  void start(Clock::time_point end) {
    ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", end);
    started_ = true;
    space_ = field(ask("cmd=get_my_kvsname", "my_kvsname", end), "kvsname");
  }
  void put(std::string_view key, std::string_view value, Clock::time_point end) {
    ask(fmt::format("cmd=put kvsname={} key={} value={}", space_, key, value), "put_result", end);
  }
  void barrier(Clock::time_point end) { ask("cmd=barrier_in", "barrier_out", end); }
  std::string get(std::string_view key, Clock::time_point end) {
    return field(ask(fmt::format("cmd=get kvsname={} key={}", space_, key), "get_result", end),
                 "value");
  }

 private:
  /// Sends a command; its answer, checked.
  std::string ask(const std::string& command, std::string_view answer, Clock::time_point end) {
    const std::string line = command + "\n";
    std::size_t sent = 0;
    while (sent < line.size()) {
      const ssize_t n = ::write(fd_, line.data() + sent, line.size() - sent);
      if (n < 0 && errno != EINTR) fail(command, "the connection is closed");
      if (n > 0) sent += static_cast<std::size_t>(n);
    }
    std::string reply = read_line(command, end);
    const std::string code = field(reply, "rc");
    if (field(reply, "cmd") != answer || (!code.empty() && code != "0")) {
      fail(command, fmt::format("expected \"{}\", found \"{}\"", answer, reply));
    }
    return reply;
  }

  std::string read_line(const std::string& command, Clock::time_point end) {
    std::string line;
    while (true) {
      pollfd event{fd_, POLLIN, 0};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
      if (left <= 0) {
        throw Error(ErrorCode::Timeout, fmt::format("PMI-1: no answer to \"{}\"", command));
      }
      if (::poll(&event, 1, static_cast<int>(left)) <= 0) continue;
      char c = 0;
      const ssize_t n = ::read(fd_, &c, 1);
      if (n == 0 || (n < 0 && errno != EINTR)) fail(command, "the connection is closed");
      if (n < 0) continue;
      if (c == '\n') return line;
      line += c;
    }
  }

  /// The value of `name=` in a line of space-separated pairs; empty if there is none.
  static std::string field(std::string_view line, std::string_view name) {
    while (!line.empty()) {
      const std::string_view pair = line.substr(0, line.find(' '));
      line.remove_prefix(std::min(line.size(), pair.size() + 1));
      const std::size_t equals = pair.find('=');
      if (pair.substr(0, equals) == name && equals != std::string_view::npos) {
        return std::string(pair.substr(equals + 1));
      }
    }
    return {};
  }

  [[noreturn]] static void fail(const std::string& command, const std::string& why) {
    throw Error(ErrorCode::Transport, fmt::format("PMI-1: \"{}\": {}", command, why));
  }

  int fd_;
  bool started_ = false;
  std::string space_;
};

}  // namespace

Exchanged exchange_over_pmi1(int fd, Seat seat, std::uint32_t size,
                             const std::function<std::string()>& publish,
                             std::chrono::milliseconds deadline) {
  const auto end = Clock::now() + deadline;
  auto session = std::make_shared<Pmi1>(fd);
  session->start(end);
  constexpr std::string_view kKey = "multitree-coordinator";
  if (seat == Seat{0}) session->put(kKey, publish(), end);
  session->barrier(end);
  std::string value = session->get(kKey, end);
  return {seat, size, std::move(value), std::move(session)};
}

}  // namespace multitree::runtime
