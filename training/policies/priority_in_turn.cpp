// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Front layers first, one transfer of a chunk at most after the other.
///
/// Where messages meet at the ports of switches, several collectives under way at once hold each
/// other up: a port waits with its oldest message until the port where that goes is free, although
/// others of its messages could go, and of many random orders 2 - sqrt(2) of the bandwidth is left
/// (Karol, Hluchyj, Morgan, 1987). A schedule that is free of contention stays so if it is alone.
/// Neighbours that are small and there go together, as each transfer has a start of its own.
///
/// Where schedules are such that messages of several do not meet, transfers may overlap: the next
/// fills its pipelines while the one before drains its own.
#include <algorithm>
#include <cmath>
#include <vector>

#include "training/channel_internal.hpp"
#include "training/gradients_internal.hpp"
#include "training/policies_internal.hpp"

namespace multitree::training {
namespace {

/// Layers whose gradients are there and not all sent, as the network goes through them.
class InTurn {
 public:
  InTurn(const Costs& costs, std::uint64_t chunk, Order order)
      : channel_(costs, order == Order::Overlapping), chunk_(chunk), order_(order) {}

  void arrive(const Gradient& gradient) { left_.push_back({gradient, true}); }
  /// Sends what can begin before `time`.
  void send_until(double time) {
    while (!left_.empty() && std::max(channel_.free_at(), left_.back().gradient.ready) < time) {
      channel_.run(transfer_of(next()));
    }
  }
  [[nodiscard]] Iteration finished(const Model& model) const {
    Iteration iteration = finish_apart(model, channel_);
    iteration.order = order_;
    return iteration;
  }

 private:
  struct Left {
    Gradient gradient;
    bool whole = true;
  };
  /// The front one with what comes after it, or a part of it.
  Gradient next() {
    Gradient sent = left_.back().gradient;
    if (sent.bytes > chunk_) {
      sent.bytes = chunk_;
      left_.back().gradient.bytes -= chunk_;
      left_.back().whole = false;
      return sent;
    }
    const bool whole = left_.back().whole;
    left_.pop_back();
    while (whole && !left_.empty() && left_.back().whole &&
           left_.back().gradient.first == sent.last + 1 &&
           sent.bytes + left_.back().gradient.bytes <= chunk_) {
      sent = joined(left_.back().gradient, sent);
      left_.pop_back();
    }
    return sent;
  }

  Channel channel_;
  std::uint64_t chunk_;
  Order order_;
  std::vector<Left> left_;
};

Iteration run_in_chunks(const Model& model, const Costs& costs, std::uint64_t chunk, Order order) {
  InTurn network(costs, chunk, order);
  for (const Gradient& gradient : layers_of(model)) {
    network.send_until(gradient.ready);
    network.arrive(gradient);
  }
  network.send_until(HUGE_VAL);
  return network.finished(model);
}

/// Of chunks of 256 KiB, 512 KiB and so on up to all at once, the one that takes least; of those
/// that take the same, the largest.
Iteration run_in_best_chunks(const Model& model, const Costs& costs, Order order) {
  Iteration best{.seconds = HUGE_VAL, .transfers = {}, .runs = {}};
  for (std::uint64_t chunk = std::uint64_t{256} << 10;; chunk *= 2) {
    Iteration other = run_in_chunks(model, costs, chunk, order);
    if (other.seconds <= best.seconds) best = std::move(other);
    if (chunk >= model.bytes()) return best;
  }
}

}  // namespace

Iteration run_priority_in_turn(const Model& model, const Costs& costs, const Spec& options,
                               Order order) {
  if (options.get("chunk", "search") == "search") return run_in_best_chunks(model, costs, order);
  return run_in_chunks(model, costs, bytes_option(options, "chunk", "search"), order);
}

}  // namespace multitree::training
