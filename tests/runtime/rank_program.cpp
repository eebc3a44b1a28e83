// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One rank of the multi-process tests. Exits as the command line tool does: 4 for Error(Transport)
/// and Error(Timeout).
///
///     rank_program check [TRANSPORT]         every collective, some types and sizes
///     rank_program victim RANK MICROSECONDS  all-reduces without end; RANK is killed after that
///     time rank_program exit RANK CODE            RANK leaves with CODE, the others wait for it
///     rank_program time BYTES ITERATIONS     prints bus bandwidth
///     rank_program behind BYTES SMALL        prints when SMALL ends that was started behind BYTES
///     rank_program host                      without messages: every collective, random calls
///     rank_program host-victim RANK MICROSECONDS   as victim, without messages
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "host_model.hpp"
#include "support.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

CommunicatorOptions options_for(const std::string& transport) {
  CommunicatorOptions options;
  options.transport = transport;
  options.timeout = Deadline(10'000);
  return options;
}

void check(const std::shared_ptr<Bootstrap>& bootstrap, const std::string& transport) {
  const Rank root{bootstrap->size() - 1};
  CommunicatorOptions options = options_for(transport);
  options.segment_bytes = 64 * 1024;
  Communicator communicator(bootstrap, ring_schedules(bootstrap->size(), root), options);
  for (const Collective collective : all_collectives()) {
    for (const DataType type : {DataType::Uint8, DataType::Float16, DataType::Float64}) {
      for (const std::size_t count : {0UL, 1UL, 5UL, 4099UL, 150'001UL}) {
        for (const bool in_place : {false, true}) {
          check_collective(communicator, collective, root, count, type, ReduceOp::Sum, in_place);
        }
      }
    }
  }
  communicator.barrier();
  if (bootstrap->seat() == Seat{0}) fmt::print("{}\n", communicator.describe());
}

[[noreturn]] void reduce_for_ever(Communicator& communicator) {
  std::vector<float> small(64, 1.0F), large(300'000, 1.0F);
  while (true) {
    communicator.all_reduce(small.data(), small.data(), small.size(), DataType::Float32,
                            ReduceOp::Max);
    communicator.all_reduce(large.data(), large.data(), large.size(), DataType::Float32,
                            ReduceOp::Max);
  }
}

CommunicatorOptions on_host(Rank root) {
  CommunicatorOptions options = options_for("auto");
  options.host_path = HostPath::Required;
  options.root = root;
  return options;
}

void check_host(const std::shared_ptr<Bootstrap>& bootstrap) {
  const Rank root{bootstrap->size() - 1};
  Communicator communicator(bootstrap, std::vector<Schedule>{}, on_host(root));
  for (const Collective collective : all_collectives()) {
    for (const std::size_t count : {0UL, 1UL, 5UL, 4099UL, 150'001UL}) {
      for (const bool in_place : {false, true}) {
        check_collective(communicator, collective, root, count, DataType::Float32, ReduceOp::Avg,
                         in_place);
      }
    }
  }
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    check_random_call(communicator, root, {seed, seed % 8 == 0 ? 900'000UL : 50'000UL});
  }
}

[[noreturn]] void run_silent(const std::shared_ptr<Bootstrap>& bootstrap, std::uint32_t silent) {
  CommunicatorOptions options = options_for("auto");
  options.timeout = Deadline(1000);
  Communicator communicator(bootstrap, ring_schedules(bootstrap->size()), options);
  if (index(bootstrap->seat()) == silent) ::raise(SIGSTOP);
  reduce_for_ever(communicator);
}

[[noreturn]] void idle(const std::string& directory) {
  const std::ofstream here(fmt::format("{}/{}", directory, ::getpid()));
  while (true) ::pause();
}

void kill_after(std::uint32_t rank, std::uint32_t victim, long microseconds) {
  std::thread killer;
  if (rank == victim) {
    killer = std::thread([microseconds] {
      std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
      ::kill(::getpid(), SIGKILL);
    });
    killer.detach();
  }
}

[[noreturn]] void run_victim(const std::shared_ptr<Bootstrap>& bootstrap, std::uint32_t victim,
                             long microseconds) {
  kill_after(index(bootstrap->seat()), victim, microseconds);
  Communicator communicator(bootstrap, ring_schedules(bootstrap->size()), options_for("auto"));
  reduce_for_ever(communicator);
}

/// Private and shared buffers in turn.
[[noreturn]] void run_host_victim(const std::shared_ptr<Bootstrap>& bootstrap, std::uint32_t victim,
                                  long microseconds) {
  kill_after(index(bootstrap->seat()), victim, microseconds);
  Communicator communicator(bootstrap, std::vector<Schedule>{}, on_host(Rank{0}));
  std::vector<float> small(64, 1.0F), large(300'000, 1.0F);
  auto* shared = static_cast<float*>(communicator.allocate(4 * large.size()));
  while (true) {
    for (float* data : {large.data(), shared}) {
      communicator.all_reduce(data, data, large.size(), DataType::Float32, ReduceOp::Max);
      communicator.all_reduce(small.data(), small.data(), small.size(), DataType::Float32,
                              ReduceOp::Max);
    }
  }
}

void leave(const std::shared_ptr<Bootstrap>& bootstrap, std::uint32_t leaver, int code) {
  Communicator communicator(bootstrap, ring_schedules(bootstrap->size()), options_for("auto"));
  if (index(bootstrap->seat()) == leaver) std::_Exit(code);
  std::vector<float> data(1000, 1.0F);
  communicator.all_reduce(data.data(), data.data(), data.size(), DataType::Float32, ReduceOp::Sum);
}

void time_all_reduce(const std::shared_ptr<Bootstrap>& bootstrap, std::size_t bytes,
                     int iterations) {
  CommunicatorOptions options = options_for("auto");
  if (const char* segment = std::getenv("SEGMENT")) options.segment_bytes = std::stoul(segment);
  Communicator communicator(bootstrap, ring_schedules(bootstrap->size()), options);
  std::vector<float> data(bytes / 4, 1.0F);
  const auto run = [&] {
    communicator.all_reduce(data.data(), data.data(), data.size(), DataType::Float32,
                            ReduceOp::Max);
  };
  for (int i = 0; i < 3; ++i) run();
  communicator.barrier();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < iterations; ++i) run();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  const double n = bootstrap->size(), each = time.count() / iterations;
  if (bootstrap->seat() == Seat{0}) {
    fmt::print("{} ranks, {} bytes: {:.1f} us, busbw {:.3f} GB/s\n", n, bytes, each * 1e6,
               static_cast<double>(bytes) / each * 2 * (n - 1) / n / 1e9);
  }
}

/// Two all-reduces, the small one started behind the large one.
void time_behind(const std::shared_ptr<Bootstrap>& bootstrap, std::size_t bytes,
                 std::size_t small_bytes) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  Communicator communicator(bootstrap, ring_schedules(bootstrap->size()), options_for("auto"));
  std::vector<float> large(bytes / 4, 1.0F), small(small_bytes / 4, 1.0F);
  const auto start = [&](std::vector<float>& data) {
    return communicator.start_all_reduce(data.data(), data.data(), data.size(), DataType::Float32,
                                         ReduceOp::Sum);
  };
  start(small).wait();
  communicator.barrier();
  const auto begin = std::chrono::steady_clock::now();
  Request first = start(large), second = start(small);
  second.wait();
  const Milliseconds behind = std::chrono::steady_clock::now() - begin;
  first.wait();
  const Milliseconds all = std::chrono::steady_clock::now() - begin;
  if (bootstrap->seat() == Seat{0}) {
    fmt::print("small after {:.1f} ms, large after {:.1f} ms\n", behind.count(), all.count());
  }
}

int main_of(const std::vector<std::string>& arguments) {
  const std::string& mode = arguments.at(0);
  if (mode == "idle") idle(arguments.at(1));
  const auto bootstrap = make_bootstrap({Deadline(20'000)});
  if (mode == "check") check(bootstrap, arguments.size() > 1 ? arguments[1] : "auto");
  if (mode == "victim") {
    run_victim(bootstrap, static_cast<std::uint32_t>(std::stoul(arguments.at(1))),
               std::stol(arguments.at(2)));
  }
  if (mode == "host") check_host(bootstrap);
  if (mode == "host-victim") {
    run_host_victim(bootstrap, static_cast<std::uint32_t>(std::stoul(arguments.at(1))),
                    std::stol(arguments.at(2)));
  }
  if (mode == "silent") {
    run_silent(bootstrap, static_cast<std::uint32_t>(std::stoul(arguments.at(1))));
  }
  if (mode == "exit") {
    leave(bootstrap, static_cast<std::uint32_t>(std::stoul(arguments.at(1))),
          std::stoi(arguments.at(2)));
  }
  if (mode == "behind") {
    time_behind(bootstrap, std::stoul(arguments.at(1)), std::stoul(arguments.at(2)));
  }
  if (mode == "time") {
    time_all_reduce(bootstrap, std::stoul(arguments.at(1)), std::stoi(arguments.at(2)));
  }
  return 0;
}

}  // namespace
}  // namespace multitree::runtime::test

#ifdef __SANITIZE_ADDRESS__
// After a failure UCX's worker is left behind on purpose.
extern "C" const char* __lsan_default_suppressions() { return "leak:libuc"; }
#endif

int main(int argc, char** argv) {
  try {
    return multitree::runtime::test::main_of({argv + 1, argv + argc});
  } catch (const multitree::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.code() == multitree::ErrorCode::Transport ||
                   error.code() == multitree::ErrorCode::Timeout
               ? 4
               : 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
