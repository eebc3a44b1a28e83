// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Orders and pieces of schedules by simulation of whole iterations.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/packing/trees/boxes.hpp"
#include "algorithms/schedule_store_internal.hpp"
#include "algorithms/tuning/candidates_internal.hpp"
#include "topologies/spec.hpp"
#include "topologies/units.hpp"
#include "training/plan.hpp"

namespace multitree::training {
namespace {

/// Of `fill` of allreduce-optimal, beside its default of 15. How a plan's time depends on it is
/// rugged, as transfers under way at once meet at links in another order; so the first are all
/// tried. Small models gain from pieces that are finer still: these are tried as long as that pays.
constexpr std::array kFills{12, 10, 8, 6, 4, 3, 2, 1};
constexpr int kFinestOfAll = 6;
/// Times the bound: nothing to gain that a table of thousandths would show.
constexpr double kAtTheBound = 1.0005;
/// So near, an overlapping plan is not compared with one that is expected to take so many times as
/// long: where transfers meet at switches that takes longer still.
constexpr double kNearTheBound = 1.01, kSurely = 1.02;
/// Bytes of overlapping plans' messages: their transfers have one for each tree, so that front
/// layers wait for little that went before. Smaller ones are mostly latency and headers.
constexpr std::array<std::uint64_t, 2> kPieces{32 << 10, 16 << 10};
/// Overlapping plans with more messages take minutes to simulate.
constexpr std::uint64_t kMostMessages = std::uint64_t{1} << 22;
/// Of small models latency counts, and chains have much: in boxes transfers of so many bytes
/// overlap on whatever schedules are the fastest for them. Of large models these take long to
/// simulate.
constexpr std::uint64_t kSmallModel = 8 << 20, kPartOfSmallModel = 1 << 20;
/// On networks without switches whole layers of theirs overlap in these pieces.
constexpr std::array<std::uint64_t, 2> kSmallPieces{4 << 10, 512};
/// Or over short trees, layers whole or in parts, in these pieces, where the largest transfer has
/// so many of them.
struct ShortPieces {
  std::uint64_t part, piece;
};
constexpr std::array<ShortPieces, 7> kShortPieces{{{kSmallModel, 128},
                                                   {kSmallModel, 256},
                                                   {kSmallModel, 512},
                                                   {kSmallModel, 1024},
                                                   {kSmallModel, 1536},
                                                   {kSmallModel, 2048},
                                                   {256 << 10, 4096}}};
constexpr std::uint64_t kFewestPieces = 16, kMostPieces = 2048;
constexpr std::uint32_t kMostRanks = 256;

bool has_option(const Spec& spec, std::initializer_list<std::string_view> keys) {
  return std::ranges::any_of(keys, [&](std::string_view key) { return spec.has(key); });
}

/// Whether the plan's algorithm says nothing of pieces.
bool leaves_pieces(const Plan& plan) {
  const Spec spec = Spec::parse(plan.algorithm);
  return spec.name() == "allreduce-optimal" && !has_option(spec, {"fill", "segments", "piece"});
}

bool leaves_order(const Plan& plan) {
  const Spec spec = Spec::parse(plan.policy);
  return spec.name() == "priority" && !has_option(spec, {"order", "part"});
}

std::string with_option(const std::string& given, const std::string& option) {
  const std::string text = Spec::parse(given).text();
  return fmt::format("{}{}{}", text, text.find('?') == std::string::npos ? '?' : '&', option);
}

/// A plan with the schedules that it runs on.
struct Trial {
  Trial(Plan of_it, const Topology& topology)
      : plan(std::move(of_it)), schedules(plan, topology, Time{}) {}
  Plan plan;
  PlanSchedules schedules;
};

/// Whether all transfers run on schedules that do the same, so that they take the same.
bool run_alike(Trial& a, Trial& b) {
  std::set<std::pair<const Schedule*, const Schedule*>> known;
  for (const PlannedTransfer& transfer : a.plan.transfers) {
    const Schedule& one = a.schedules.of(transfer.collective, transfer.bytes);
    const Schedule& other = b.schedules.of(transfer.collective, transfer.bytes);
    if (known.insert({&one, &other}).second && !are_alike(one, other)) return false;
  }
  return true;
}

/// Simulations of a plan and of what may be in its place.
class Refinement {
 public:
  Refinement(const Topology& topology, nic::Model model, double bound)
      : topology_(topology), model_(model), bound_(bound) {}

  /// Whether it takes less than all before it.
  bool try_one(Trial& trial) {
    SimulatedPlan times = simulate_plan(trial.plan, trial.schedules, topology_, model_);
    if (best_ && times.seconds >= best_->times.seconds) return false;
    best_ = {trial.plan, std::move(times)};
    return true;
  }
  void try_boxes(const Plan& plan, const Costs& costs);
  void try_small(const Plan& plan, const Costs& costs);
  void try_short(const Plan& plan, const Costs& costs);
  void try_fills(Trial& first);
  [[nodiscard]] bool is_at_bound() const {
    return best_ && best_->times.seconds <= kAtTheBound * bound_;
  }
  /// Whether nothing is to be gained by the plan, which a simulation of minutes would only confirm.
  [[nodiscard]] bool beats(const Plan& plan) const {
    if (!best_) return false;
    const double seconds = best_->times.seconds;
    return is_at_bound() || (seconds <= kNearTheBound * bound_ && kSurely * seconds < plan.seconds);
  }
  [[nodiscard]] RefinedPlan take() { return *std::move(best_); }

 private:
  const Topology& topology_;
  nic::Model model_;
  double bound_;
  std::optional<RefinedPlan> best_;
};

/// The plan with transfers of at most `part` bytes that overlap.
Plan overlapping(const Plan& plan, const Costs& costs, std::uint64_t part,
                 const std::string& algorithm) {
  std::string policy = with_option(plan.policy, "order=overlapping");
  if (!Spec::parse(policy).has("chunk")) policy += "&chunk=" + format_bytes(part);
  Plan other = make_plan(policy, plan.model, costs, algorithm);
  other.policy = plan.policy;
  return other;
}

/// Over trees between all ranks.
std::uint64_t messages_of(const Plan& plan, std::uint64_t piece, std::uint64_t ranks) {
  std::uint64_t chunks = 0;
  for (const PlannedTransfer& transfer : plan.transfers) {
    chunks += std::max(ranks, transfer.bytes / piece);
  }
  return chunks * 2 * (ranks - 1);
}

std::string in_pieces(const Plan& plan, std::uint64_t piece) {
  return with_option(plan.algorithm, "piece=" + format_bytes(piece));
}

/// Overlapping plans on chains, in pieces of one size, and of small models on what is fastest.
void Refinement::try_boxes(const Plan& plan, const Costs& costs) {
  const std::uint64_t ranks = topology_.num_ranks();
  for (const std::uint64_t piece : kPieces) {
    Trial trial(overlapping(plan, costs, ranks * piece, in_pieces(plan, piece)), topology_);
    if (is_at_bound() || messages_of(trial.plan, piece, ranks) > kMostMessages) continue;
    try_one(trial);
  }
  if (is_at_bound() || plan.model.bytes() > kSmallModel) return;
  Trial trial(overlapping(plan, costs, kPartOfSmallModel, plan.algorithm), topology_);
  try_one(trial);
}

/// Overlapping plans of whole layers.
void Refinement::try_small(const Plan& plan, const Costs& costs) {
  for (const std::uint64_t piece : kSmallPieces) {
    Trial trial(overlapping(plan, costs, kSmallModel, in_pieces(plan, piece)), topology_);
    if (!is_at_bound()) try_one(trial);
  }
}

/// Overlapping plans on trees of few hops.
void Refinement::try_short(const Plan& plan, const Costs& costs) {
  if (has_option(Spec::parse(plan.algorithm), {"form", "trees"})) return;
  if (topology_.num_ranks() > kMostRanks) return;
  std::uint64_t largest = 0;
  for (const Layer& layer : plan.model.layers) largest = std::max(largest, layer.bytes());
  for (const auto& [part, piece] : kShortPieces) {
    const std::uint64_t pieces = std::min(largest, part) / piece;
    if (is_at_bound() || pieces < kFewestPieces || pieces > kMostPieces) continue;
    const std::string algorithm = with_option(in_pieces(plan, piece), "form=short");
    Trial trial(overlapping(plan, costs, part, algorithm), topology_);
    try_one(trial);
  }
}

/// The plan with pieces for other fills.
void Refinement::try_fills(Trial& first) {
  std::unique_ptr<Trial> before;
  for (const int fill : kFills) {
    if (is_at_bound()) return;
    Plan finer = first.plan;
    finer.algorithm = with_option(finer.algorithm, fmt::format("fill={}", fill));
    auto trial = std::make_unique<Trial>(std::move(finer), topology_);
    if (run_alike(first, *trial) || (before && run_alike(*before, *trial))) continue;
    if (!try_one(*trial) && fill < kFinestOfAll) return;
    before = std::move(trial);
  }
}

}  // namespace

RefinedPlan refine_plan(const Plan& plan, const Costs& costs, const Topology& topology,
                        nic::Model model, double bound) {
  // Trees are packed once, and what does not depend on pieces is neither made nor simulated again.
  ScheduleStore store(topology);
  const ScheduleStore::Use sharing(store);
  Refinement refinement(topology, model, bound);
  const bool is_open = leaves_pieces(plan) && leaves_order(plan);
  if (is_open && pack_boxes(topology)) {
    refinement.try_boxes(plan, costs);
    if (refinement.beats(plan)) return refinement.take();
  }
  Trial first(plan, topology);
  refinement.try_one(first);
  if (leaves_pieces(plan) && plan.order == Order::Preemptive) refinement.try_fills(first);
  // Elsewhere trees for pieces take a linear program.
  const bool is_direct = !topology.has_switches() && topology.is_symmetric();
  if (is_open && is_direct && plan.model.bytes() <= kSmallModel) {
    refinement.try_small(plan, costs);
    refinement.try_short(plan, costs);
  }
  return refinement.take();
}

}  // namespace multitree::training
