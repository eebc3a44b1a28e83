// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums of floats that are the same in any order, made of two other collectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/execution/layout_internal.hpp"
#include "runtime/execution/operation_internal.hpp"
#include "runtime/execution/path_internal.hpp"
#include "runtime/kernels/exact.hpp"

namespace multitree::runtime {

/// Whether a call is a sum or an average of floats that asks for exact ones.
[[nodiscard]] bool is_exact_sum(const Call& call);

/// An all-reduce of exponents, which is waited for when this is made, then the collective itself on
/// whole numbers. They are turned back into floats by whoever finds that it has ended.
class ExactSum final : public Operation {
 public:
  /// Both run on `path`. `sequence`: the next number, of which it takes two.
  ExactSum(HostMemoryPath& path, const Call& call, std::uint64_t& sequence,
           std::shared_ptr<Engine> engine);
  ~ExactSum() override;

  bool test() override;
  void wait() override;

 private:
  /// One of the two, checked as a call by itself.
  [[nodiscard]] static std::unique_ptr<Operation> begin(HostMemoryPath& path, const Call& call,
                                                        std::uint64_t& sequence);
  [[nodiscard]] ScratchPool::Block take(std::size_t bytes);
  void finish();

  std::shared_ptr<Engine> engine_;
  Call call_;
  Layout layout_;
  ExactForm form_;  ///< of the input
  ScratchPool::Block exponents_, wholes_;
  std::byte* sums_ = nullptr;       ///< where the result arrives as whole numbers
  std::unique_ptr<Operation> sum_;  ///< null when it has ended
};

}  // namespace multitree::runtime
