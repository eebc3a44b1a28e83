// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long ranks take to meet: threads of this process that join, all-reduce 64 KiB without
/// messages, check the sum and leave. With --tcp what they do before: they come to a coordinator,
/// each over a connection of its own, as processes do, and tell each other what messages need.
///
/// usage: bench_starting [--tcp] [RANKS...]
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/communicator.hpp"
#include "runtime/job/tcp_internal.hpp"

namespace {

using namespace multitree;
using namespace multitree::runtime;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kCount = 16384;  // floats: 64 KiB
constexpr Deadline kDeadline{120'000};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Of this process, in memory now.
double resident_mebibytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

struct Result {
  std::atomic<double> joined{0}, reduced{0};  ///< by the last rank, seconds after the start
  std::atomic<std::uint32_t> ready{0}, wrong{0};
  std::atomic<bool> measured{false};
  std::mutex mutex;
  std::string error;  ///< the first
};

void note_latest(std::atomic<double>& latest, double now) {
  for (double old = latest; old < now && !latest.compare_exchange_weak(old, now);) {
  }
}

void run_rank(const std::shared_ptr<Bootstrap>& job, Clock::time_point begin, Result& result) {
  const std::uint32_t ranks = job->size();
  CommunicatorOptions options;
  options.timeout = kDeadline;
  options.devices = false;
  options.host_path = HostPath::Required;
  Communicator communicator(job, PlansBySize({}, true), options);
  note_latest(result.joined, seconds_since(begin));
  std::vector<float> data(kCount, 1.0F);
  communicator.all_reduce(data.data(), data.data(), kCount, DataType::Float32, ReduceOp::Sum);
  note_latest(result.reduced, seconds_since(begin));
  for (const float value : data) {
    if (value != static_cast<float>(ranks)) ++result.wrong;
  }
  ++result.ready;
  while (!result.measured && seconds_since(begin) < 120) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void measure(std::uint32_t ranks) {
  Result result;
  const double memory = resident_mebibytes(), processor = processor_seconds();
  const Clock::time_point begin = Clock::now();
  {
    const auto jobs = make_in_process_bootstraps(ranks);
    std::vector<std::thread> threads;
    for (const auto& job : jobs) {
      threads.emplace_back([&result, job, begin] {
        try {
          run_rank(job, begin, result);
        } catch (const std::exception& error) {
          job->report_failure(error.what());
          const std::scoped_lock lock(result.mutex);
          if (result.error.empty()) result.error = error.what();
          result.measured = true;
        }
      });
    }
    while (result.ready < ranks && !result.measured) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const double taken = (resident_mebibytes() - memory) / ranks;
    result.measured = true;
    for (std::thread& thread : threads) thread.join();
    if (!result.error.empty()) {
      fmt::print("{:>6} {}\n", ranks, result.error);
      return;
    }
    fmt::print("{:>6} {:>8.3f} {:>9.3f} {:>8.3f} {:>10.3f} {:>12.3f} {:>6}\n", ranks,
               result.joined.load(), result.reduced.load(), seconds_since(begin),
               processor_seconds() - processor, taken, result.wrong.load());
  }
}

/// What joining over TCP is made of, in turn; the address is as long as one of UCX.
struct Part {
  const char* name;
  std::function<void(Bootstrap&)> work;
};
const std::vector<Part>& parts_of_joining() {
  static const std::string address(400, 'a');
  static const std::vector<Part> parts{
      {"barrier", [](Bootstrap& job) { job.barrier(kDeadline); }},
      {"book",
       [](Bootstrap& job) {
         const std::uint32_t size = job.size(), self = index(job.seat());
         std::vector<Seat> neighbours;
         for (const std::uint32_t step : {1U, size - 1, size / 2, size / 2 + 1}) {
           neighbours.push_back(Seat{(self + step) % size});
         }
         job.open_book(address, neighbours, kDeadline);
       }},
      {"gather", [](Bootstrap& job) {
         job.all_gather(address + std::to_string(index(job.seat())), kDeadline);
       }}};
  return parts;
}

/// Ranks that do each part together: seconds of the clock and of processors for each.
void measure_tcp(std::uint32_t ranks) {
  Coordinator coordinator(listen_at(0, kLoopback), ranks, "bench");
  const auto& parts = parts_of_joining();
  std::vector<std::pair<double, double>> at(parts.size() + 1);
  const double processor = processor_seconds(), memory = resident_mebibytes();
  const Clock::time_point begin = Clock::now();
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      TcpOptions options;
      options.seat = Seat{rank};
      options.size = ranks;
      options.addresses = {{kLoopback, coordinator.port()}};
      options.token = "bench";
      options.deadline = kDeadline;
      const auto job = join_over_tcp(std::move(options));
      const auto note = [&](std::size_t part) {
        job->barrier(kDeadline);
        if (rank == 0) at[part] = {seconds_since(begin), processor_seconds() - processor};
      };
      note(0);
      for (std::size_t part = 0; part < parts.size(); ++part) {
        parts[part].work(*job);
        note(part + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string line = fmt::format("{:>6} {:>8.3f}/{:<8.3f}", ranks, at[0].first, at[0].second);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    line += fmt::format(" {:>8.3f}/{:<8.3f}", at[part + 1].first - at[part].first,
                        at[part + 1].second - at[part].second);
  }
  fmt::print("{} {:>8.3f}/{:<8.3f} {:>8.1f}\n", line, seconds_since(begin),
             processor_seconds() - processor, resident_mebibytes() - memory);
}

}  // namespace

int main(int argc, char** argv) {
  const bool tcp = argc > 1 && std::strcmp(argv[1], "--tcp") == 0;
  std::vector<std::uint32_t> counts;
  for (int i = tcp ? 2 : 1; i < argc; ++i) {
    counts.push_back(static_cast<std::uint32_t>(std::stoul(argv[i])));
  }
  if (counts.empty()) counts = {16, 64, 256, 1024, 4096};
  if (tcp) {
    fmt::print("# ranks as threads, over TCP; seconds and those of processors, MiB at the end\n");
    fmt::print("{:>6} {:>17} {:>17} {:>17} {:>17} {:>17} {:>8}\n", "ranks", "join", "barrier",
               "book", "gather", "all", "MiB");
  } else {
    fmt::print("# ranks as threads: join, all-reduce of 64 KiB without messages, leave; seconds\n");
    fmt::print("{:>6} {:>8} {:>9} {:>8} {:>10} {:>12} {:>6}\n", "ranks", "joined", "reduced",
               "left", "processor", "MiB a rank", "wrong");
  }
  for (const std::uint32_t ranks : counts) {
    tcp ? measure_tcp(ranks) : measure(ranks);
    std::fflush(stdout);
  }
  return 0;
}
