// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduces that run while their caller computes, and small ones that overtake large ones.
///
/// usage: bench_overlap NETWORK ALGORITHM BYTES SMALL [ROUNDS], one process a rank of the network,
/// as bench/cluster starts them. Rank 0 prints "name seconds" lines, medians of the slowest rank:
///
///     alone        BYTES, with nothing else outstanding
///     computing    the same started, its caller computing for that long, then waited for
///     small        SMALL, with nothing else outstanding
///     behind       SMALL, started right after BYTES, from its start to its end
///     overtaken    BYTES, with that behind it
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "runtime/communicator.hpp"
#include "topologies/registry.hpp"

namespace {

using namespace multitree;
using runtime::Communicator;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// What a caller does with its processor meanwhile. Returns a number that nobody can predict.
double compute(double seconds) {
  const Clock::time_point begin = Clock::now();
  volatile double sum = 1;
  while (seconds_since(begin) < seconds) {
    for (int i = 0; i < 1000; ++i) sum = sum * 0.999 + i;
  }
  return sum;
}

class Bench {
 public:
  Bench(Communicator& communicator, std::size_t bytes, std::size_t small)
      : communicator_(communicator), large_(bytes / 4, 1.0F), small_(small / 4, 1.0F) {}

  void round() {
    const double alone = time([&] { start(large_).wait(); }, "alone");
    time([&] { start(small_).wait(); }, "small");
    time(
        [&] {
          runtime::Request request = start(large_);
          compute(alone);
          request.wait();
        },
        "computing");
    time_behind();
  }

  /// By name.
  [[nodiscard]] const std::map<std::string, std::vector<double>>& times() const { return times_; }

 private:
  runtime::Request start(std::vector<float>& data) {
    return communicator_.start_all_reduce(data.data(), data.data(), data.size(),
                                          runtime::DataType::Float32, runtime::ReduceOp::Max);
  }
  /// Of the slowest rank.
  double note(const std::string& name, double seconds) {
    communicator_.all_reduce(&seconds, &seconds, 1, runtime::DataType::Float64,
                             runtime::ReduceOp::Max);
    times_[name].push_back(seconds);
    return seconds;
  }
  template <typename Body>
  double time(const Body& body, const std::string& name) {
    communicator_.barrier();
    const Clock::time_point begin = Clock::now();
    body();
    return note(name, seconds_since(begin));
  }
  void time_behind() {
    communicator_.barrier();
    const Clock::time_point begin = Clock::now();
    runtime::Request first = start(large_);
    const Clock::time_point then = Clock::now();
    start(small_).wait();
    const double behind = seconds_since(then);
    first.wait();
    const double overtaken = seconds_since(begin);
    note("behind", behind);
    note("overtaken", overtaken);
  }

  Communicator& communicator_;
  std::vector<float> large_, small_;
  std::map<std::string, std::vector<double>> times_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: bench_overlap NETWORK ALGORITHM BYTES SMALL [ROUNDS]\n");
    return 2;
  }
  const Topology network = load_topology(argv[1]);
  Communicator communicator(runtime::make_bootstrap(),
                            {make_schedule(argv[2], network, Collective::AllReduce)});
  Bench bench(communicator, std::stoull(argv[3]), std::stoull(argv[4]));
  const int rounds = argc > 5 ? std::stoi(argv[5]) : 5;
  for (int i = 0; i < rounds; ++i) bench.round();
  if (index(communicator.rank()) != 0) return 0;
  for (auto [name, times] : bench.times()) {
    std::sort(times.begin(), times.end());
    fmt::print("{} {:.6f}\n", name, times[times.size() / 2]);
  }
  return 0;
}
