// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduce through the memory of one host, timed as bench/mpi_allreduce.cpp times its peers.
///
/// usage: bench_host_allreduce RANKS private|shared|start BYTES... ; rank 0 prints "bytes seconds",
/// medians; `start`: seconds from the launch to the end of a first all-reduce.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/batches.hpp"
#include "runtime/communicator.hpp"
#include "runtime/job/launcher.hpp"

namespace {

using namespace multitree;
using runtime::Communicator;

double measure(Communicator& communicator, std::size_t bytes, bool shared) {
  const std::size_t count = bytes / sizeof(float);
  std::vector<float> own_in(shared ? 0 : count, 1.0F), own_out(shared ? 0 : count);
  float *in = own_in.data(), *out = own_out.data();
  if (shared) {
    in = static_cast<float*>(communicator.allocate(bytes));
    out = static_cast<float*>(communicator.allocate(bytes));
    std::fill_n(in, count, 1.0F);
    std::fill_n(out, count, 0.0F);
  }
  const auto run = [&] {
    communicator.all_reduce(in, out, count, runtime::DataType::Float32, runtime::ReduceOp::Sum);
  };
  const auto agree = [&](int value) {
    communicator.broadcast(&value, &value, 1, runtime::DataType::Int32);
    return value;
  };
  const double seconds = bench::median_seconds(
      run, [&] { communicator.barrier(); }, agree);
  if (shared) {
    communicator.deallocate(in);
    communicator.deallocate(out);
  }
  return seconds;
}

int run_rank(int argc, char** argv) {
  const auto bootstrap = runtime::make_bootstrap();
  Communicator communicator(bootstrap, std::vector<Schedule>{});
  const std::string mode = argv[2];
  if (mode == "start") {
    float value = 1;
    communicator.all_reduce(&value, &value, 1, runtime::DataType::Float32, runtime::ReduceOp::Sum);
    return value == static_cast<float>(bootstrap->size()) ? 0 : 1;
  }
  for (int i = 3; i < argc; ++i) {
    const std::size_t bytes = std::stoull(argv[i]);
    const double seconds = measure(communicator, bytes, mode == "shared");
    if (bootstrap->seat() == runtime::Seat{0}) fmt::print("{} {:.9f}\n", bytes, seconds);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: bench_host_allreduce RANKS private|shared|start BYTES...\n");
    return 2;
  }
  if (runtime::started_by_launcher()) return run_rank(argc, argv);
  const auto start = std::chrono::steady_clock::now();
  const int code =
      runtime::launch_local(static_cast<std::uint32_t>(std::stoul(argv[1])), {argv, argv + argc});
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  if (std::string(argv[2]) == "start") fmt::print("0 {:.9f}\n", time.count());
  return code;
}
