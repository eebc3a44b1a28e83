// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// world SEED [COUNT]: one job with its history, or as many jobs as are wanted. world --seconds N
/// SEED: as many as there is time for.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>

#include "tests/world/job.hpp"

/// Of the address sanitizer, which asks for it where it is there: ranks that are killed leave their
/// memory to the process.
extern "C" const char* __asan_default_options();   // NOLINT: the sanitizer's name
extern "C" const char* __asan_default_options() {  // NOLINT
  return "detect_leaks=0";
}

namespace {

using multitree::runtime::world::Outcome;
using multitree::runtime::world::run_job;

/// Every so many seeds one is run twice, as it is to come to the same.
constexpr std::uint64_t kTwice = 16;

struct Totals {
  std::uint64_t jobs = 0, calls = 0, errors = 0, faults = 0, history = 0;
};

/// False: it went wrong, and was told again with all that happened.
bool try_seed(std::uint64_t seed, Totals& totals) {
  const Outcome outcome = run_job(seed);
  ++totals.jobs;
  totals.calls += outcome.calls;
  totals.errors += outcome.errors;
  totals.faults += outcome.faults;
  totals.history = (totals.history ^ outcome.history) * 0x9e3779b97f4a7c15U;
  if (outcome.wrong.empty() && seed % kTwice == 0 && run_job(seed).history != outcome.history) {
    fmt::print("seed {}: another history when it is run again\n", seed);
    return false;
  }
  if (outcome.wrong.empty()) return true;
  fmt::print("seed {}: {}\n", seed, outcome.wrong);
  const Outcome again = run_job(seed, true);
  fmt::print("seed {}: {}\n", seed, again.wrong);
  fmt::print("replay with: world {}\n", seed);
  return false;
}

int run(std::uint64_t seed, std::uint64_t count, std::chrono::seconds time) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const std::clock_t worked = std::clock();
  Totals totals;
  bool well = true;
  while (well && totals.jobs < count) {
    well = try_seed(seed + totals.jobs, totals);
    if (time.count() != 0 && Clock::now() - begin > time) break;
  }
  const double seconds = static_cast<double>(std::clock() - worked) / CLOCKS_PER_SEC;
  fmt::print(
      "{} jobs from seed {}: {} calls right, {} faults, {} errors of ranks, history {:016x}, "
      "{:.0f} jobs an hour of one processor\n",
      totals.jobs, seed, totals.calls, totals.faults, totals.errors, totals.history,
      static_cast<double>(totals.jobs) / seconds * 3600);
  return well ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int at) { return std::strtoull(argv[at], nullptr, 10); };
  if (argc != 2) ::setenv("MULTITREE_LOG", "off", 0);  // of ranks that adapt
  if (argc == 4 && std::string(argv[1]) == "--seconds") {
    const bool drawn = std::string(argv[3]) == "drawn";
    const std::uint64_t seed = drawn ? std::random_device()() : number(3);
    return run(seed, UINT64_MAX, std::chrono::seconds(number(2)));
  }
  if (argc == 3) return run(number(1), number(2), {});
  if (argc != 2) {
    fmt::print(stderr,
               "expected world SEED [COUNT] or world --seconds N SEED, SEED a number or, with "
               "--seconds, \"drawn\"\n");
    return 2;
  }
  const Outcome outcome = run_job(number(1), true);
  fmt::print("history {:016x}, {} calls right, {} faults, {} errors of ranks{}{}\n",
             outcome.history, outcome.calls, outcome.faults, outcome.errors,
             outcome.wrong.empty() ? "" : ": ", outcome.wrong);
  return outcome.wrong.empty() ? 0 : 1;
}
