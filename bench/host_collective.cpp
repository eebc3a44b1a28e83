// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives through the memory of one host, timed as bench/mpi_collective.cpp times its peers.
///
/// usage: bench_host_collective RANKS COLLECTIVE private|shared|start BYTES... ; rank 0 prints
/// "bytes seconds", medians. Bytes are those of a whole vector: of what all-gather gives and
/// reduce-scatter takes. `start`: seconds from the launch to the end of a first all-reduce.
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

/// One call of the collective, from `in` to `out` of `count` elements each.
void call(Communicator& communicator, Collective collective, float* in, float* out,
          std::size_t count) {
  constexpr auto kFloat = runtime::DataType::Float32;
  constexpr auto kSum = runtime::ReduceOp::Sum;
  const std::size_t shard = count / communicator.size();
  switch (collective) {
    case Collective::AllReduce:
      return communicator.all_reduce(in, out, count, kFloat, kSum);
    case Collective::ReduceScatter:
      return communicator.reduce_scatter(in, out, shard, kFloat, kSum);
    case Collective::AllGather:
      return communicator.all_gather(in, out, shard, kFloat);
    case Collective::Broadcast:
      return communicator.broadcast(out, out, count, kFloat);
    case Collective::Reduce:
      return communicator.reduce(in, out, count, kFloat, kSum);
    case Collective::Gather:
      return communicator.gather(in, out, shard, kFloat);
    case Collective::Scatter:
      return communicator.scatter(in, out, shard, kFloat);
  }
}

double measure(Communicator& communicator, Collective collective, std::size_t bytes, bool shared) {
  const std::size_t count = bytes / sizeof(float);
  std::vector<float> own_in(shared ? 0 : count, 1.0F), own_out(shared ? 0 : count);
  float *in = own_in.data(), *out = own_out.data();
  if (shared) {
    in = static_cast<float*>(communicator.allocate(bytes));
    out = static_cast<float*>(communicator.allocate(bytes));
    std::fill_n(in, count, 1.0F);
    std::fill_n(out, count, 0.0F);
  }
  const auto agree = [&](int value) {
    communicator.broadcast(&value, &value, 1, runtime::DataType::Int32);
    return value;
  };
  const double seconds =
      bench::median_seconds([&] { call(communicator, collective, in, out, count); },
                            [&] { communicator.barrier(); }, agree);
  if (shared) {
    communicator.deallocate(in);
    communicator.deallocate(out);
  }
  return seconds;
}

int run_rank(int argc, char** argv) {
  const auto bootstrap = runtime::make_bootstrap();
  const Collective collective = parse_collective(argv[2]);
  Communicator communicator(bootstrap, std::vector<Schedule>{});
  const std::string mode = argv[3];
  if (mode == "start") {
    float value = 1;
    communicator.all_reduce(&value, &value, 1, runtime::DataType::Float32, runtime::ReduceOp::Sum);
    return value == static_cast<float>(bootstrap->size()) ? 0 : 1;
  }
  for (int i = 4; i < argc; ++i) {
    const std::size_t bytes = std::stoull(argv[i]);
    const double seconds = measure(communicator, collective, bytes, mode == "shared");
    if (bootstrap->seat() == runtime::Seat{0}) fmt::print("{} {:.9f}\n", bytes, seconds);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr,
               "usage: bench_host_collective RANKS COLLECTIVE private|shared|start BYTES...\n");
    return 2;
  }
  if (runtime::started_by_launcher()) return run_rank(argc, argv);
  const auto start = std::chrono::steady_clock::now();
  const int code =
      runtime::launch_local(static_cast<std::uint32_t>(std::stoul(argv[1])), {argv, argv + argc});
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  if (std::string(argv[3]) == "start") fmt::print("0 {:.9f}\n", time.count());
  return code;
}
