// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The reduction kernels against a plain loop a[i] += b[i] over as many bytes, measured in turn.
///
/// usage: bench_reduction [BYTES] ; bytes of one operand (1 MiB)
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "runtime/kernels/kernels_internal.hpp"
#include "runtime/kernels/reduce.hpp"
#include "topologies/units.hpp"

namespace {

using namespace multitree::runtime;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 41;

#define MULTITREE_PLAIN(name, attributes)                                                   \
  attributes void name(float* __restrict a, const float* __restrict b, std::size_t count) { \
    for (std::size_t i = 0; i < count; ++i) a[i] += b[i];                                   \
  }
MULTITREE_PLAIN(plain, )
#if defined(__x86_64__)
MULTITREE_PLAIN(plain_avx2, __attribute__((target("avx2"))))
MULTITREE_PLAIN(plain_avx512, __attribute__((target("avx512f,prefer-vector-width=512"))))
#endif

/// The widest that this processor runs.
void limit(float* a, const float* b, std::size_t count) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return plain_avx512(a, b, count);
  if (__builtin_cpu_supports("avx2")) return plain_avx2(a, b, count);
#endif
  plain(a, b, count);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

template <typename F>
double seconds(std::size_t repeats, const F& f) {
  const auto start = Clock::now();
  for (std::size_t i = 0; i < repeats; ++i) f();
  const std::chrono::duration<double> time = Clock::now() - start;
  return time.count() / static_cast<double>(repeats);
}

/// Operands of zeros, kept aligned; values that neither overflow nor become subnormal.
struct Buffers {
  explicit Buffers(std::size_t bytes, std::size_t inputs) {
    for (std::size_t i = 0; i < inputs; ++i) all.emplace_back(bytes / sizeof(float));
    for (const auto& one : all) inputs_.push_back(one.data());
  }
  std::vector<std::vector<float>> all;
  std::vector<const void*> inputs_;
};

void print_row(std::size_t bytes, DataType type, ReduceOp op) {
  Buffers buffers(bytes, 2);
  float* const a = buffers.all[0].data();
  const float* const b = buffers.all[1].data();
  const std::size_t repeats = std::max<std::size_t>(1, (std::size_t{4} << 20) / bytes);
  const auto sets = kernels::usable();
  std::vector<double> plain_times;
  std::vector<std::vector<double>> times(sets.size());
  for (int round = 0; round < kRounds; ++round) {
    plain_times.push_back(seconds(repeats, [&] { limit(a, b, bytes / sizeof(float)); }));
    for (std::size_t s = 0; s < sets.size(); ++s) {
      const kernels::Combine combine =
          sets[s]->combine[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
      times[s].push_back(
          seconds(repeats, [&] { combine(a, buffers.inputs_.data(), 2, bytes / size_of(type)); }));
    }
  }
  const double best = median(plain_times);
  fmt::print("{:>9} {:>5} {:>9.1f}", to_string(type), to_string(op),
             static_cast<double>(bytes) / best / 1e9);
  for (const auto& of_set : times) fmt::print(" {:>11.3f}", best / median(of_set));
  fmt::print("\n");
}

void print_inputs(std::size_t bytes) {
  fmt::print("\n# several inputs in one pass, float sum: time of that many plain loops over it\n");
  for (const std::size_t inputs : {2U, 4U, 8U, 16U}) {
    Buffers buffers(bytes, inputs);
    std::vector<float> result(bytes / sizeof(float));
    std::vector<double> plain_times, times;
    for (int round = 0; round < kRounds; ++round) {
      plain_times.push_back(seconds(1, [&] {
        for (std::size_t i = 0; i < inputs; ++i) {
          limit(result.data(), buffers.all[i].data(), result.size());
        }
      }));
      times.push_back(seconds(1, [&] {
        reduce(result.data(), buffers.inputs_, result.size(), DataType::Float32, ReduceOp::Sum);
      }));
    }
    fmt::print("{:>2} inputs {:.3f}\n", inputs, median(plain_times) / median(times));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = argc > 1 ? multitree::parse_bytes(argv[1]) : std::size_t{1} << 20;
  fmt::print("# {} bytes an operand; limit: GB/s reduced by a plain float loop; then each\n",
             bytes);
  fmt::print("# instruction set's speed over it (medians of {})\n", kRounds);
  fmt::print("{:>9} {:>5} {:>9}", "type", "op", "limit");
  for (const kernels::Set* set : kernels::usable()) fmt::print(" {:>11}", set->name);
  fmt::print("\n");
  for (const DataType type : all_data_types()) {
    for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Min, ReduceOp::Max}) {
      print_row(bytes, type, op);
    }
  }
  print_inputs(bytes);
  return 0;
}
