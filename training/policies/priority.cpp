// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Front layers first, over one packing of trees that serves all layers.
///
/// Trees are free of sizes, so whatever is next follows at once on what was before: only the last
/// bytes of a layer wait for the start of a collective, which the next bytes hide. In the limit of
/// small chunks and no latency an iteration takes its bound (bound.hpp).
///
/// A network overtakes between messages only, and messages of a transfer grow with it. So large
/// layers go in parts, which keep each other's trees busy as well.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "topologies/error.hpp"
#include "training/channel_internal.hpp"
#include "training/gradients_internal.hpp"
#include "training/policies_internal.hpp"

namespace multitree::training {
namespace {

/// Layers whose gradients are there and not all sent. Each that comes is in front of all others, so
/// that the one to send is always the last that came.
class Preemptive {
 public:
  Preemptive(const Costs& costs, std::uint64_t chunk, std::uint64_t part)
      : costs_(costs), chunk_(chunk), part_(part) {}

  void arrive(const Gradient& gradient) {
    now_ = std::max(now_, gradient.ready);
    left_.push_back(gradient);
  }
  /// Sends until `time`, but whole chunks, or what is left of a layer.
  void send_until(double time) {
    while (!left_.empty() && now_ < time) {
      Gradient& layer = left_.back();
      const std::uint64_t bytes = std::min({layer.bytes, part_, whole_chunks(time - now_)});
      Transfer transfer = transfer_of(layer);
      transfer.bytes = bytes;
      transfer.begin = now_;
      now_ += costs_.call + costs_.all_reduce.per_byte * static_cast<double>(bytes);
      layer.bytes -= bytes;
      transfer.end = now_ + (layer.bytes == 0 ? costs_.all_reduce.start : 0);
      transfers_.push_back(transfer);
      if (layer.bytes == 0) left_.pop_back();
    }
  }
  [[nodiscard]] const std::vector<Transfer>& transfers() const { return transfers_; }

 private:
  /// The bytes of the chunks that begin within so many seconds.
  [[nodiscard]] std::uint64_t whole_chunks(double seconds) const {
    const double bytes = (seconds - costs_.call) / costs_.all_reduce.per_byte;
    constexpr double kMost = 1e18;
    if (!(bytes < kMost)) return static_cast<std::uint64_t>(kMost);
    const double chunks = std::ceil(std::max(bytes, 1.0) / static_cast<double>(chunk_));
    return static_cast<std::uint64_t>(chunks) * chunk_;
  }

  const Costs& costs_;
  std::uint64_t chunk_, part_;
  double now_ = 0;
  std::vector<Gradient> left_;
  std::vector<Transfer> transfers_;
};

Iteration run_preemptive(const Model& model, const Costs& costs, const Spec& options) {
  const std::uint64_t part = bytes_option(options, "part", "32MiB");
  Preemptive network(costs, bytes_option(options, "chunk", "1MiB"), part);
  for (const Gradient& gradient : layers_of(model)) {
    network.send_until(gradient.ready);
    network.arrive(gradient);
  }
  network.send_until(HUGE_VAL);
  std::vector<double> done(model.layers.size(), 0);
  for (const Transfer& transfer : network.transfers()) {
    done[transfer.first] = std::max(done[transfer.first], transfer.end);
  }
  Iteration iteration = finish(model, done, network.transfers());
  iteration.order = Order::Preemptive;
  iteration.part = part;
  return iteration;
}

}  // namespace

Iteration run_priority(const Model& model, const Costs& costs, const Spec& options) {
  // What starts may cost that serial transfers have and preemptive ones hide. Those hold each other
  // up at switches, which their expected time leaves out: 1.28 times it on dgx-a100:4 (AlexNet),
  // 1.74 times on fattree:8x8 (VGG-16).
  constexpr double kStarts = 1.05;
  const std::string order = options.get("order", costs.switched ? "either" : "preemptive");
  if (order == "serial") return run_priority_in_turn(model, costs, options, Order::Serial);
  if (order == "overlapping") {
    return run_priority_in_turn(model, costs, options, Order::Overlapping);
  }
  if (order == "preemptive") return run_preemptive(model, costs, options);
  if (order != "either") {
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("order: expected preemptive, serial, overlapping or either, got '{}'", order));
  }
  Iteration preemptive = run_preemptive(model, costs, options);
  Iteration serial = run_priority_in_turn(model, costs, options, Order::Serial);
  return serial.seconds <= kStarts * preemptive.seconds ? serial : preemptive;
}

}  // namespace multitree::training
