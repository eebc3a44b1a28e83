// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Many iterations of one model, at one cost after the other.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "training/costs.hpp"
#include "training/model.hpp"

namespace multitree::training {

/// Under a policy that sends the same groups in the same order whatever they cost ("bsp", "wfbp",
/// "ddp", "dear", with groups by size): what does not depend on costs is found out once.
class Pricer {
 public:
  /// \throws Error(Unsupported) naming the policies that it can price, and as simulate().
  Pricer(std::string_view policy, const Model& model);

  /// Of an iteration: Iteration::seconds of simulate(), rounded elsewhere. O(groups), nothing is
  /// allocated.
  [[nodiscard]] double seconds(const Costs& costs) const;

 private:
  struct Scatter {
    std::uint64_t bytes = 0;
    double ready = 0;  ///< seconds from the start of the backward pass
  };
  struct Gather {
    std::uint64_t bytes = 0;
    double behind = 0;  ///< seconds of forward passes that wait for it
  };
  double backward_ = 0, forward_ = 0;
  bool halves_ = false;  ///< all-reduces are scattered and gathered
  std::vector<Scatter> scatters_;
  std::vector<Gather> gathers_;
};

}  // namespace multitree::training
