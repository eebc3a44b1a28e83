// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A rank that makes the same call again and again; at one of them one rank does something wrong.
///
///     launch_fault AT VICTIM DEED WAY MILLISECONDS CALL [ODD]
///
/// DEED: odd (makes the call ODD), die, stop, sleep, leave, nan, inf, cross (calls on two
/// communicators the other way round), join (nothing: it is the start that is wrong), late (comes
/// to each call 60 ms late), pace (sends slowly), none; these three go on for ever. WAY: host, tcp,
/// ucx. CALL: COLLECTIVE,COUNT,TYPE,OP,ROOT. MILLISECONDS: the deadline. Prints when it joined,
/// when it made call AT, and what it was told and when, by a clock that all processes of the host
/// share.
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../runtime/support.hpp"
#include "topologies/error.hpp"

// A program's own functions are not those of the library.
namespace fault {
namespace {

using namespace multitree;
using namespace multitree::runtime;
using multitree::runtime::test::ring_schedule;
using multitree::runtime::test::ring_schedules;

/// After the fault, and before a barrier.
constexpr std::uint64_t kCallsAfter = 10'000;
/// What is late is so late, and what is slow goes at so many bytes a second: waits of less than a
/// tenth of a second, which by themselves are no reason to ask after anybody.
constexpr std::chrono::milliseconds kLate{60};
constexpr std::uint64_t kSlow = 5'000'000;

double now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void say(const std::string& words) {
  fmt::print("{} {:.6f}\n", words, now());
  std::fflush(stdout);
}

struct Setting {
  std::uint64_t at = 0;
  Seat victim{};
  std::string deed, way;
  Deadline deadline{};
  Call call, odd;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Call parse_call(const std::string& text) {
  const std::vector<std::string> parts = split(text);
  Call call;
  call.collective = parse_collective(parts.at(0));
  call.count = std::stoul(parts.at(1));
  call.type = parse_data_type(parts.at(2));
  call.op = parse_reduce_op(parts.at(3));
  if (has_root(call.collective)) {
    call.root = Rank{static_cast<std::uint32_t>(std::stoul(parts.at(4)))};
  }
  return call;
}

/// With memory for the largest of its calls.
class Caller {
 public:
  Caller(const std::shared_ptr<Bootstrap>& job, const Setting& setting) {
    const std::uint32_t ranks = job->size();
    CommunicatorOptions options;
    options.timeout = setting.deadline;
    options.host_path = setting.way == "host" ? HostPath::Required : HostPath::Off;
    if (setting.way != "host") options.transport = setting.way;
    if (setting.deed == "nan" || setting.deed == "inf") options.check_finite = true;
    std::vector<SizedSchedules> lists;
    for (Schedule& schedule : ring_schedules(ranks, Rank{0})) {
      lists.push_back(for_all_sizes(std::move(schedule)));
    }
    PlansBySize plans(std::move(lists));
    plans.on_demand = [ranks](Collective collective, Rank root) {
      return for_all_sizes(ring_schedule(collective, ranks, root));
    };
    communicator_ = std::make_unique<Communicator>(job, plans, options);
    const std::size_t most = std::max(setting.call.count, setting.odd.count) * 8 * ranks;
    send_.assign(most, std::byte{0});
    recv_.assign(most, std::byte{0});
  }
  void meet() {
    try {
      communicator_->barrier();
    } catch (const Error&) {
      say("knows");
      throw;
    }
  }
  void make(Call call, double wrong = 0) {
    if (wrong != 0) {
      const auto number = static_cast<float>(wrong);
      std::memcpy(send_.data() + call.count / 2 * sizeof number, &number, sizeof number);
    }
    call.send = send_.data();
    call.recv = recv_.data();
    try {
      communicator_->run(call);  // the call
    } catch (const Error&) {
      say("knows");  // before anything is let go, which may wait for others
      throw;
    }
  }

 private:
  std::unique_ptr<Communicator> communicator_;
  std::vector<std::byte> send_, recv_;
};

/// What the victim does before its call; true: it goes home.
bool misbehave(const Setting& setting) {
  if (setting.deed == "die") ::raise(SIGKILL);
  if (setting.deed == "stop") ::raise(SIGSTOP);
  if (setting.deed == "sleep") std::this_thread::sleep_for(std::chrono::minutes(5));
  return setting.deed == "leave";
}

/// What this rank sends from here on goes slowly: to its neighbour in the
/// ring, as others get nothing but acknowledgements.
void pace_sockets() {
  for (int socket = 3; socket < 256; ++socket) {
    ::setsockopt(socket, SOL_SOCKET, SO_MAX_PACING_RATE, &kSlow, sizeof kSlow);
  }
}

void call_crosswise(const std::shared_ptr<Bootstrap>& job, const Setting& setting, bool victim) {
  std::vector<Seat> all;
  for (const Seat seat : Seats(job->size())) all.push_back(seat);
  Caller first(job->part(1, all).join({}), setting), second(job->part(2, all).join({}), setting);
  for (std::uint64_t i = 0; i <= setting.at; ++i) {
    if (i == setting.at) say("calls");
    const bool swapped = victim && i == setting.at;
    (swapped ? second : first).make(setting.call);
    (swapped ? first : second).make(setting.call);
  }
}

void call_on(const std::shared_ptr<Bootstrap>& job, const Setting& setting, bool victim) {
  Caller caller(job, setting);
  const bool goes_on = setting.deed == "late" || setting.deed == "pace" || setting.deed == "none";
  for (std::uint64_t i = 0; goes_on || i < setting.at + kCallsAfter; ++i) {
    const bool wrong = victim && i == setting.at;
    if (i == setting.at) say("calls");
    if (wrong && misbehave(setting)) return;
    if (victim && i >= setting.at && setting.deed == "late") {
      std::this_thread::sleep_for(kLate);
    }
    if (victim && i == setting.at && setting.deed == "pace") pace_sockets();
    double number = 0;
    if (wrong && setting.deed == "nan") number = std::numeric_limits<double>::quiet_NaN();
    if (wrong && setting.deed == "inf") number = -std::numeric_limits<double>::infinity();
    caller.make(wrong && setting.deed == "odd" ? setting.odd : setting.call, number);
  }
  caller.meet();
}

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  Setting setting;
  setting.at = std::stoul(words.at(0));
  setting.victim = Seat{static_cast<std::uint32_t>(std::stoul(words.at(1)))};
  setting.deed = words.at(2);
  setting.way = words.at(3);
  setting.deadline = Deadline(std::stol(words.at(4)));
  setting.call = parse_call(words.at(5));
  if (words.size() > 6) setting.odd = parse_call(words.at(6));
  say("joins");
  try {
    BootstrapOptions options;
    if (setting.deed == "join") options.deadline = setting.deadline;
    const std::shared_ptr<Bootstrap> job = make_bootstrap(options);
    const bool victim = job->seat() == setting.victim;
    if (setting.deed == "cross") {
      call_crosswise(job, setting, victim);
    } else {
      call_on(job, setting, victim);
    }
  } catch (const Error& error) {
    if (setting.deed == "join") say("knows");
    fmt::print("{}\n", error.what());
    return 4;
  }
  return 0;
}

}  // namespace
}  // namespace fault

int main(int argc, char** argv) { return fault::run(argc, argv); }
