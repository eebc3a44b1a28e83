// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kernels' own sources, on the host, against the host's reductions, bit for bit.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "cpu_cuda/block.hpp"
#include "cpu_cuda/kernels.hpp"
#include "reduction_model.hpp"
#include "runtime/kernels/reduce.hpp"

namespace multitree::runtime::test {
namespace {

constexpr std::size_t kMost = 5000, kGuard = 64;
constexpr std::byte kUntouched{0xa5};

/// `bytes` at a distance of `skew` bytes from a multiple of 16, between guards.
class Operand {
 public:
  Operand(std::size_t bytes, std::size_t skew)
      : memory_(bytes + 3 * kGuard, kUntouched), bytes_(bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data()) + kGuard;
    begin_ = kGuard + (16 - begin % 16) % 16 + skew;
  }
  std::byte* data() { return memory_.data() + begin_; }
  [[nodiscard]] bool has_guards() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if ((i < begin_ || i >= begin_ + bytes_) && memory_[i] != kUntouched) return false;
    }
    return true;
  }

 private:
  std::vector<std::byte> memory_;
  std::size_t bytes_, begin_ = 0;
};

/// Any bits; of floats no NaNs, whose payloads may differ.
void fill(std::byte* to, std::size_t count, DataType type, std::mt19937_64& random) {
  for (std::size_t i = 0; i < count * size_of(type); ++i) to[i] = std::byte(random());
  const auto last = [&](std::size_t i) -> std::byte& { return to[(i + 1) * size_of(type) - 1]; };
  const bool floats = type == DataType::Float16 || type == DataType::BFloat16 ||
                      type == DataType::Float32 || type == DataType::Float64;
  for (std::size_t i = 0; floats && i < count; ++i) last(i) &= std::byte{0xbb};
}

struct KernelCase {
  DataType type;
  ReduceOp op;
  std::uint32_t inputs;
  std::size_t count, skew, step;  ///< input k lies skew + k * step elements off
};

void check_reduction(const KernelCase& c) {
  const std::size_t size = size_of(c.type), bytes = c.count * size;
  std::mt19937_64 random(c.count * 1000 + c.inputs);
  std::vector<Operand> inputs;
  device::Reduction want, got;
  got.input_count = c.inputs;
  got.count = c.count;
  got.type = c.type;
  got.op = c.op;
  for (std::uint32_t k = 0; k < c.inputs; ++k) {
    inputs.emplace_back(bytes, (c.skew + k * c.step) * size % 16);
    fill(inputs.back().data(), c.count, c.type, random);
    got.inputs[k] = inputs.back().data();
  }
  want = got;
  std::vector<std::byte> expected(bytes + 1);
  want.result = expected.data();
  reduce_model(want);
  for (const bool in_place : {false, true}) {
    Operand apart(bytes, c.skew * size % 16);
    Operand& result = in_place ? inputs[0] : apart;
    got.result = result.data();
    cpu_reduce(got);
    ASSERT_TRUE(std::memcmp(result.data(), expected.data(), bytes) == 0 && result.has_guards())
        << to_string(c.type) << ' ' << to_string(c.op) << ", inputs " << c.inputs << ", count "
        << c.count << ", skew " << c.skew << " and " << c.step << (in_place ? ", in place" : "");
  }
}

class CpuKernels : public testing::TestWithParam<DataType> {};

TEST_P(CpuKernels, EveryOperatorAndNumberOfInputs) {
  for (const ReduceOp op : all_reduce_ops().first(device::kOps)) {
    for (std::uint32_t inputs = 2; inputs <= device::kMaxInputs; ++inputs) {
      for (const std::size_t count : {std::size_t{37}, kMost}) {
        check_reduction({GetParam(), op, inputs, count, 0, 0});
        check_reduction({GetParam(), op, inputs, count, 1, 0});
      }
    }
  }
}

TEST_P(CpuKernels, EveryTailAndAlignment) {
  const std::size_t elements = 16 / size_of(GetParam());
  for (std::size_t count = 0; count <= 65; ++count) {
    for (std::size_t skew = 0; skew < elements; ++skew) {
      for (const std::size_t step : {std::size_t{0}, std::size_t{1}}) {
        check_reduction({GetParam(), ReduceOp::Sum, 3, count, skew, step});
      }
    }
  }
}

TEST_P(CpuKernels, AveragesAreTheHosts) {
  const std::size_t size = size_of(GetParam());
  std::mt19937_64 random(1);
  for (std::size_t count = 0; count <= 65; ++count) {
    for (const std::uint32_t ranks : {1U, 2U, 3U, 7U, 4096U}) {
      Operand got(count * size, count % 2 * size % 16), want(count * size, 0);
      fill(got.data(), count, GetParam(), random);
      std::memcpy(want.data(), got.data(), count * size);
      cpu_divide(got.data(), count, GetParam(), ranks);
      finish_reduction(want.data(), count, GetParam(), ReduceOp::Avg, ranks);
      ASSERT_EQ(std::memcmp(got.data(), want.data(), count * size), 0) << count << " by " << ranks;
      ASSERT_TRUE(got.has_guards());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CpuKernels,
                         testing::ValuesIn(all_data_types().first(device::kTypes).begin(),
                                           all_data_types().first(device::kTypes).end()),
                         [](const auto& p) { return std::string(to_string(p.param)); });

/// What the kernels rely on: all have written before any reads, whoever goes first.
TEST(CpuBlock, ABarrierIsForAll) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers do not know fibers";
#endif
  constexpr unsigned kThreads = 5;
  std::array<int, kThreads> rounds{};
  std::vector<unsigned> order;
  run_block(kThreads, [&](unsigned thread) {
    for (int round = 1; round <= 4; ++round) {
      rounds[thread] = round;
      sync_threads();
      for (const int other : rounds) EXPECT_EQ(other, round);
      order.push_back(thread);
      sync_threads();
    }
  });
  ASSERT_EQ(order.size(), 4 * kThreads);
  EXPECT_NE(order.front(), order[kThreads]);
}

TEST(CpuBlock, ABarrierThatSomeLeaveOutIsFound) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers do not know fibers";
#endif
  const auto some = [] {
    run_block(2, [](unsigned thread) {
      if (thread == 0) sync_threads();
    });
  };
  EXPECT_DEATH(some(), "some threads wait at a barrier");
}

}  // namespace
}  // namespace multitree::runtime::test
