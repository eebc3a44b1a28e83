// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operators that are not of every type, or are made at run time.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/execution/operation_internal.hpp"
#include "runtime/execution/path_internal.hpp"

namespace multitree::runtime {

/// \throws Error(InvalidArgument) unless the operator of a call that reduces is one of its type,
/// and has what it needs
void check_operator(const Call& call);
/// \throws Error(Unsupported) for an operator that needs the order of ranks, which messages have
/// not
void check_operator_by_messages(const Call& call);

/// A sum of inputs that each rank multiplies first: by itself, and then it is a sum as any other.
class PreMultiplied final : public Operation {
 public:
  /// Starts the sum on `path`.
  PreMultiplied(Path& path, const Call& call, std::shared_ptr<const LoadedProgram> program,
                std::uint64_t sequence, std::shared_ptr<Engine> engine);
  ~PreMultiplied() override;

  bool test() override { return sum_->test(); }
  void wait() override { sum_->wait(); }

 private:
  std::shared_ptr<Engine> engine_;
  ScratchPool::Block work_;  ///< where recv cannot take the products
  std::unique_ptr<Operation> sum_;
};

}  // namespace multitree::runtime
