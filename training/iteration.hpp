// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Time of a training iteration under a policy of communication.
///
/// Every rank computes the same at the same time: a forward pass from the first layer to the last,
/// then a backward pass from the last to the first. Time 0 is the start of a backward pass. A layer
/// may run forward again when its gradients are summed up; computing and communication go on beside
/// each other, and one transfer has the network at a time. In the steady state an iteration lasts
/// from the start of one backward pass to that of the next: no transfer is left over by then, as
/// the last layer's forward pass comes after all others.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/collective.hpp"
#include "training/costs.hpp"
#include "training/model.hpp"

namespace multitree::training {

/// One collective on the network. Seconds from the start of the backward pass.
struct Transfer {
  Collective collective = Collective::AllReduce;
  std::uint32_t first = 0, last = 0;  ///< layers whose gradients it carries, in forward order
  std::uint64_t bytes = 0;
  double ready = 0;  ///< when the last of these gradients is there
  double begin = 0, end = 0;
  /// Not started before, although all that it waits for may be there: a policy that looks at the
  /// clock.
  double hold = 0;
  bool operator==(const Transfer&) const = default;
};

/// Which transfer of a policy goes next.
enum class Order : std::uint8_t {
  Serial,      ///< in their order, each when the one before it is over
  Preemptive,  ///< whatever is ready, of the least first layer, all on one schedule
  Overlapping  ///< whatever is ready, of the least first layer, each on a schedule for its size
};

/// What a policy does in an iteration.
struct Iteration {
  double seconds = 0;
  std::vector<Transfer> transfers;  ///< in the order in which they begin
  std::vector<double> runs;         ///< by layer: when its next forward pass begins
  Order order = Order::Serial;
  std::uint64_t part = 0;  ///< of a preemptive order: most bytes that a layer sends as one
  bool together = false;   ///< no forward pass begins before all transfers are over
  /// A forward pass needs the sums of the backward pass before it: what the bound is for.
  bool synchronous = true;
  /// A plan (plan.hpp) can say all of it.
  bool plannable = true;
};

/// When the gradients of each layer are there.
std::vector<double> ready_times(const Model& model);

/// When layers run forward again: `done` by layer, when its gradients have been summed up.
Iteration finish(const Model& model, const std::vector<double>& done,
                 std::vector<Transfer> transfers);

}  // namespace multitree::training
