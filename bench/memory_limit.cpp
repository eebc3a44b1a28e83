// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all-reduce costs on one host with no library in the way: threads that share all buffers,
/// each summing its slice of all inputs and storing it to all outputs.
///
/// usage: bench_memory_limit RANKS SIZE... ; prints "size seconds" lines, medians of five batches.
#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

#include "topologies/units.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Buffer = std::vector<float>;

/// Elements at a time: inputs of a block stay in cache while the sum is stored n times.
constexpr std::size_t kBlock = 4096;

void reduce_slice(const std::vector<Buffer>& inputs, std::vector<Buffer>& outputs,
                  std::size_t begin, std::size_t end) {
  for (std::size_t at = begin; at < end; at += kBlock) {
    const std::size_t stop = std::min(at + kBlock, end);
    float* const sum = outputs[0].data();
    std::copy(inputs[0].begin() + static_cast<long>(at),
              inputs[0].begin() + static_cast<long>(stop), sum + at);
    for (std::size_t r = 1; r < inputs.size(); ++r) {
      const float* const in = inputs[r].data();
      for (std::size_t i = at; i < stop; ++i) sum[i] += in[i];
    }
    for (std::size_t r = 1; r < outputs.size(); ++r) {
      std::copy(sum + at, sum + stop, outputs[r].data() + at);
    }
  }
}

double median_seconds(std::size_t ranks, std::size_t count, int iterations) {
  std::vector<Buffer> inputs(ranks, Buffer(count, 1.0F)), outputs(ranks, Buffer(count));
  std::vector<double> batches;
  std::barrier together(static_cast<std::ptrdiff_t>(ranks));
  const auto work = [&](std::size_t r) {
    for (int batch = 0; batch < 6; ++batch) {
      together.arrive_and_wait();
      const auto start = Clock::now();
      for (int i = 0; i < iterations; ++i) {
        reduce_slice(inputs, outputs, count * r / ranks, count * (r + 1) / ranks);
        together.arrive_and_wait();
      }
      const std::chrono::duration<double> elapsed = Clock::now() - start;
      if (r == 0 && batch > 0) batches.push_back(elapsed.count() / iterations);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ranks; ++r) threads.emplace_back(work, r);
  for (std::thread& thread : threads) thread.join();
  std::ranges::sort(batches);
  return batches[batches.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: bench_memory_limit RANKS SIZE...\n");
    return 2;
  }
  const std::size_t ranks = std::stoul(argv[1]);
  for (int i = 2; i < argc; ++i) {
    const std::uint64_t bytes = multitree::parse_bytes(argv[i]);
    fmt::print("{} {:.9f}\n", bytes,
               median_seconds(ranks, bytes / sizeof(float), bytes > (1 << 20) ? 3 : 50));
  }
  return 0;
}
