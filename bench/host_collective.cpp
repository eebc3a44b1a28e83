// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives through the memory of one host, timed as bench/mpi_collective.cpp times its peers.
///
/// usage: bench_host_collective RANKS COLLECTIVE private|shared|start BYTES... ; rank 0 prints
/// "bytes seconds", medians. Bytes are those of a whole vector: of what all-gather gives and
/// reduce-scatter takes; of all-to-all what each rank has for each, of `message` one from rank 0 to
/// 1 or back. `start`: seconds from the launch to the end of a first all-reduce.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/batches.hpp"
#include "bench/binding.hpp"
#include "runtime/communicator.hpp"
#include "runtime/job/launcher.hpp"

namespace {

using namespace multitree;
using runtime::Communicator;

constexpr auto kFloat = runtime::DataType::Float32;
constexpr auto kSum = runtime::ReduceOp::Sum;

struct Buffers {
  float *in, *out;
  std::size_t whole, shard;  ///< elements
  std::uint32_t calls = 0;
};

void exchange(Communicator& communicator, const runtime::ExchangeCall& call) {
  communicator.run(call);
}

/// Ping and pong in turn, so that a call is one way.
void message(Communicator& communicator, Buffers& b) {
  const std::uint32_t me = index(communicator.rank()), from = b.calls++ % 2;
  if (me > 1) return;
  if (me == from) {
    return exchange(communicator, {.exchange = runtime::Exchange::Send,
                                   .send = b.in,
                                   .type = kFloat,
                                   .peer = Rank{1 - from},
                                   .count = b.whole});
  }
  exchange(communicator, {.exchange = runtime::Exchange::Receive,
                          .recv = b.out,
                          .type = kFloat,
                          .peer = Rank{from},
                          .count = b.whole});
}

/// \pre `exchange` is a collective, of shares that are all alike
template <runtime::Exchange exchange>
void shares(Communicator& communicator, Buffers& b) {
  using runtime::Exchange;
  using runtime::Shares;
  const bool to_all = exchange == Exchange::AllToAll || exchange == Exchange::AllToAllv;
  const bool gives = exchange == Exchange::Scatterv || exchange == Exchange::ReduceScatterv;
  const bool takes = exchange == Exchange::Gatherv || exchange == Exchange::AllGatherv;
  const Shares one = Shares::one(b.shard), each = Shares::equal(b.shard, communicator.size());
  ::exchange(communicator, {.exchange = exchange,
                            .send = b.in,
                            .recv = b.out,
                            .type = kFloat,
                            .op = kSum,
                            .peer = Rank{0},
                            .sent = to_all || gives ? each : one,
                            .received = to_all || takes ? each : one});
}

struct Named {
  std::string_view name;
  void (*run)(Communicator&, Buffers&);
  bool for_each = false;  ///< bytes are what a rank has for each
};

constexpr Named kCalls[] = {
    {"allreduce",
     [](Communicator& c, Buffers& b) { c.all_reduce(b.in, b.out, b.whole, kFloat, kSum); }},
    {"reduce-scatter",
     [](Communicator& c, Buffers& b) { c.reduce_scatter(b.in, b.out, b.shard, kFloat, kSum); }},
    {"allgather", [](Communicator& c, Buffers& b) { c.all_gather(b.in, b.out, b.shard, kFloat); }},
    {"broadcast", [](Communicator& c, Buffers& b) { c.broadcast(b.out, b.out, b.whole, kFloat); }},
    {"reduce", [](Communicator& c, Buffers& b) { c.reduce(b.in, b.out, b.whole, kFloat, kSum); }},
    {"gather", [](Communicator& c, Buffers& b) { c.gather(b.in, b.out, b.shard, kFloat); }},
    {"scatter", [](Communicator& c, Buffers& b) { c.scatter(b.in, b.out, b.shard, kFloat); }},
    {"message", message},
    {"alltoall", shares<runtime::Exchange::AllToAll>, true},
    {"alltoallv", shares<runtime::Exchange::AllToAllv>, true},
    {"allgatherv", shares<runtime::Exchange::AllGatherv>},
    {"reduce-scatterv", shares<runtime::Exchange::ReduceScatterv>},
    {"gatherv", shares<runtime::Exchange::Gatherv>},
    {"scatterv", shares<runtime::Exchange::Scatterv>},
};

const Named& find(std::string_view name) {
  const auto* const found = std::ranges::find(kCalls, name, &Named::name);
  if (found != std::end(kCalls)) return *found;
  fmt::print(stderr, "expected one of\n");
  for (const Named& one : kCalls) fmt::print(stderr, "  {}\n", one.name);
  std::exit(2);
}

double measure(Communicator& communicator, const Named& named, std::size_t bytes, bool shared) {
  const std::size_t each = bytes / sizeof(float), ranks = communicator.size();
  const std::size_t count = named.for_each ? each * ranks : each;
  std::vector<float> own_in(shared ? 0 : count, 1.0F), own_out(shared ? 0 : count);
  float *in = own_in.data(), *out = own_out.data();
  if (shared) {
    in = static_cast<float*>(communicator.allocate(count * sizeof(float)));
    out = static_cast<float*>(communicator.allocate(count * sizeof(float)));
    std::fill_n(in, count, 1.0F);
    std::fill_n(out, count, 0.0F);
  }
  const auto agree = [&](int value) {
    communicator.broadcast(&value, &value, 1, runtime::DataType::Int32);
    return value;
  };
  Buffers buffers{in, out, count, count / ranks};
  const double seconds = bench::median_seconds([&] { named.run(communicator, buffers); },
                                               [&] { communicator.barrier(); }, agree);
  if (shared) {
    communicator.deallocate(in);
    communicator.deallocate(out);
  }
  return seconds;
}

int run_rank(int argc, char** argv) {
  const auto bootstrap = runtime::make_bootstrap();
  bench::bind_rank(static_cast<int>(index(bootstrap->seat())), std::stoi(argv[1]));
  const Named& named = find(argv[2]);
  Communicator communicator(bootstrap, std::vector<Schedule>{});
  const std::string mode = argv[3];
  if (mode == "start") {
    float value = 1;
    communicator.all_reduce(&value, &value, 1, runtime::DataType::Float32, runtime::ReduceOp::Sum);
    return value == static_cast<float>(bootstrap->size()) ? 0 : 1;
  }
  for (int i = 4; i < argc; ++i) {
    const std::size_t bytes = std::stoull(argv[i]);
    const double seconds = measure(communicator, named, bytes, mode == "shared");
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
