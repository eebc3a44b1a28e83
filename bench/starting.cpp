// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long ranks take to meet: threads of this process that join, all-reduce 64 KiB without
/// messages, check the sum and leave.
///
/// usage: bench_starting [RANKS...]
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/communicator.hpp"

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

}  // namespace

int main(int argc, char** argv) {
  fmt::print("# ranks as threads: join, all-reduce of 64 KiB without messages, leave; seconds\n");
  fmt::print("{:>6} {:>8} {:>9} {:>8} {:>10} {:>12} {:>6}\n", "ranks", "joined", "reduced", "left",
             "processor", "MiB a rank", "wrong");
  std::vector<std::uint32_t> counts;
  for (int i = 1; i < argc; ++i) counts.push_back(static_cast<std::uint32_t>(std::stoul(argv[i])));
  if (counts.empty()) counts = {16, 64, 256, 1024, 4096};
  for (const std::uint32_t ranks : counts) {
    measure(ranks);
    std::fflush(stdout);
  }
  return 0;
}
