// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// FSDP: ranks keep a shard of every parameter, and gather a unit of layers before each pass of it.
#include <algorithm>
#include <limits>

#include "training/channel_internal.hpp"
#include "training/gradients_internal.hpp"
#include "training/policies_internal.hpp"

namespace multitree::training {
namespace {

/// Neighbouring layers whose parameters are gathered together, and what their passes take.
struct Unit {
  Gradient gradient;
  double forward = 0, backward = 0;  ///< seconds
};

/// In forward order. Layers without parameters belong to the unit before them, those in front of
/// all to the first.
std::vector<Unit> units_of(const Model& model, std::uint64_t most) {
  std::vector<Gradient> layers = layers_of(model);
  std::ranges::reverse(layers);
  std::vector<Unit> units;
  for (const Gradient& group : fuse(layers, most)) units.push_back({group});
  if (units.empty()) units.push_back({});
  std::size_t unit = 0;
  for (std::uint32_t l = 0; l < model.layers.size(); ++l) {
    if (unit + 1 < units.size() && l >= units[unit + 1].gradient.first) ++unit;
    units[unit].forward += model.layers[l].forward;
    units[unit].backward += model.layers[l].backward;
  }
  return units;
}

/// Both passes beside one channel. A unit is asked for when the pass of the one before it begins,
/// so that one is gathered ahead.
class Sharded {
 public:
  Sharded(const Costs& costs, std::vector<Unit> units)
      : units_(std::move(units)), channel_(costs) {}

  /// The last unit is still there from the forward pass.
  void backward() {
    double gathered = 0;
    for (std::size_t u = units_.size(); u-- > 0;) {
      const double begin = std::max(now_, gathered);
      if (u > 0) gathered = run(u - 1, Collective::AllGather, begin);
      now_ = begin + units_[u].backward;
      run(u, Collective::ReduceScatter, now_);
    }
    now_ = std::max(now_, channel_.free_at());  // the optimizer has all gradients
  }
  std::vector<double> forward() {
    std::vector<double> begins;
    double gathered = run(0, Collective::AllGather, now_);
    for (std::size_t u = 0; u < units_.size(); ++u) {
      begins.push_back(std::max(now_, gathered));
      if (u + 1 < units_.size()) gathered = run(u + 1, Collective::AllGather, begins.back());
      now_ = begins.back() + units_[u].forward;
    }
    return begins;
  }
  [[nodiscard]] double now() const { return now_; }
  [[nodiscard]] const Channel& channel() const { return channel_; }
  [[nodiscard]] const std::vector<Unit>& units() const { return units_; }

 private:
  /// \returns when it has ended; what has no parameters is there.
  double run(std::size_t unit, Collective collective, double issued) {
    if (units_[unit].gradient.bytes == 0) return issued;
    Transfer transfer = transfer_of(units_[unit].gradient, collective);
    transfer.ready = issued;
    return channel_.run(transfer);
  }

  std::vector<Unit> units_;
  Channel channel_;
  double now_ = 0;
};

/// When each layer runs forward again.
std::vector<double> runs_of(const Model& model, const std::vector<Unit>& units,
                            const std::vector<double>& begins) {
  std::vector<double> runs;
  std::size_t unit = 0;
  double now = begins[0];
  for (std::uint32_t l = 0; l < model.layers.size(); ++l) {
    if (unit + 1 < units.size() && l >= units[unit + 1].gradient.first) now = begins[++unit];
    runs.push_back(now);
    now += model.layers[l].forward;
  }
  return runs;
}

}  // namespace

Iteration run_fsdp(const Model& model, const Costs& costs, const Spec& options) {
  const std::uint64_t most = options.get("unit", "25MiB") == "all"
                                 ? std::numeric_limits<std::uint64_t>::max()
                                 : bytes_option(options, "unit", "25MiB");
  Sharded sharded(costs, units_of(model, most));
  sharded.backward();
  const std::vector<double> begins = sharded.forward();
  return {.seconds = sharded.now(),
          .transfers = sharded.channel().transfers(),
          .runs = runs_of(model, sharded.units(), begins),
          .plannable = false};
}

}  // namespace multitree::training
