// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <numeric>
#include <optional>
#include <sstream>

#include "rtl/wire/gathering.hpp"
#include "rtl/wire/node_numbers.hpp"
#include "rtl/wire/plan.hpp"
#include "rtl/wire/stations.hpp"
#include "topologies/error.hpp"

namespace multitree::rtl {
namespace {

using Clock = Station::Clock;
using namespace std::chrono_literals;

/// Who is done waits so much longer than the job may take: those that are not say why.
constexpr auto kLonger = 5s;
/// Of frames between nodes of one thread.
constexpr std::size_t kMemoryFrame = 1500;
/// Turns in which nothing moves, after which nodes are asked what is wrong.
constexpr int kStill = 1000;
/// Turns of a process, of a millisecond at most, after which its nodes are asked.
constexpr int kAsk = 100;
/// After so long it looks whether others are still there.
constexpr auto kLook = 500ms;

[[noreturn]] void time_out(const WireJob& job, const std::string& who) {
  throw Error(ErrorCode::Timeout,
              fmt::format("nic job: expected all interfaces to be done within {} s; {}",
                          static_cast<double>(job.timeout.count()) / 1000, who));
}

/// What is said of the nodes of a process, in the words of all_gather(): a line for each.
std::string words_of(const std::vector<std::uint16_t>& here,
                     const std::vector<WireReport>& reports) {
  std::string words;
  for (std::size_t i = 0; i < here.size(); ++i) {
    const WireReport& report = reports[i];
    words +=
        fmt::format("{} {} {} {} {} {} {} {}\n", here[i], report.is_hardware ? 1 : 0, report.flits,
                    report.frames, report.again, report.bad, report.seconds, report.wrong);
  }
  return words;
}

/// Into [number].
void take_words(const std::string& words, std::vector<WireReport>& reports) {
  std::istringstream lines(words);
  for (std::string line; std::getline(lines, line);) {
    WireReport report;
    std::size_t number = 0;
    int is_hardware = 0;
    int end = 0;
    if (std::sscanf(line.c_str(), "%zu %d %lu %lu %lu %lu %lf %n", &number, &is_hardware,
                    &report.flits, &report.frames, &report.again, &report.bad, &report.seconds,
                    &end) != 7 ||
        number >= reports.size()) {
      throw Error(ErrorCode::InvalidInput, "nic job: a rank runs another version of the program");
    }
    report.is_hardware = is_hardware != 0;
    report.wrong = line.substr(static_cast<std::size_t>(end));
    reports[number] = std::move(report);
  }
}

/// Works until all ranks of the job are done. Others send through this process until they are, so
/// it works on while it waits for them.
void work(const WireJob& job, Stations& stations, runtime::Bootstrap& bootstrap) {
  const auto started = Clock::now();
  stations.start();
  auto look = started;
  std::optional<Gathering> all;
  for (std::uint64_t turns = 1; !all || !all->is_over(); ++turns) {
    if (!stations.turn()) stations.wait(1ms);
    if (!all && stations.are_done()) all.emplace(bootstrap, "", job.timeout + kLonger);
    if (turns % kAsk == 0) stations.check_errors();
    const auto now = Clock::now();
    const bool is_late = !all && now - started > job.timeout;
    if (now < look && !is_late) continue;
    look = now + kLook;
    if (const auto failure = all ? std::nullopt : bootstrap.failure()) {
      throw Error(ErrorCode::Transport, *failure);
    }
    if (const auto who = stations.silent(job.most_silence); !who.empty()) time_out(job, who);
    if (is_late) {
      time_out(job, fmt::format("{} still waits for messages", fmt::join(stations.late(), ", ")));
    }
  }
  all->get();
}

}  // namespace

std::vector<WireReport> run_in_memory(const WireJob& job) {
  const Plan plan(job);
  std::vector<std::uint16_t> here(plan.numbers.size());
  std::iota(here.begin(), here.end(), std::uint16_t{0});
  Stations stations(plan, here, 0, kMemoryFrame, {});
  const auto started = Clock::now();
  stations.start();
  for (int still = 0; !stations.are_done();) {
    still = stations.turn() ? 0 : still + 1;
    if (still % kStill == kStill - 1) stations.check_errors();
    if (Clock::now() - started <= job.timeout) continue;
    time_out(job, fmt::format("not done: {}", fmt::join(stations.late(), ", ")));
  }
  return stations.reports();
}

std::vector<WireReport> run_on_wires(const WireJob& job, runtime::Bootstrap& bootstrap,
                                     std::size_t frame_bytes, const OpenPort& open) {
  const auto processes = processes_of(job.topology, bootstrap.size());
  const Plan plan(job);
  std::vector<std::uint16_t> here;
  for (std::uint32_t i = 0; i < processes.size(); ++i) {
    if (processes[i] == static_cast<std::uint32_t>(index(bootstrap.seat()))) {
      here.push_back(static_cast<std::uint16_t>(i));
    }
  }
  const auto number = static_cast<std::uint32_t>(bootstrap.name() ^ bootstrap.name() >> 32);
  Stations stations(plan, here, number, frame_bytes, open);
  // Who is armed takes flits, also of those that start before it.
  bootstrap.barrier(job.timeout);
  work(job, stations, bootstrap);
  std::vector<WireReport> reports(plan.numbers.size());
  const auto gathered = bootstrap.all_gather(words_of(here, stations.reports()), job.timeout);
  for (const std::string& words : gathered) take_words(words, reports);
  return reports;
}

}  // namespace multitree::rtl
