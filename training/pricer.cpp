// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ends of transfers without their list.
#include "training/pricer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "topologies/error.hpp"
#include "topologies/spec.hpp"
#include "training/policies.hpp"

namespace multitree::training {
namespace {

/// Policies whose groups do not follow from costs, but for these values of their options.
constexpr std::array<std::string_view, 4> kPriced{"bsp", "wfbp", "ddp", "dear"};

bool has_fixed_groups(const Spec& spec) {
  const std::string_view name = spec.name();
  if (std::ranges::find(kPriced, name) == kPriced.end()) return false;
  if (name == "ddp") return spec.get("bucket", "") != "search";
  if (name != "dear") return true;
  const std::string fusion = spec.get("fusion", "");
  return fusion != "search" && fusion != "tuner" && spec.get("barrier", "yes") == "yes" &&
         spec.get("ahead", "all") == "all";
}

Affine with_call(Affine cost, double call) { return {cost.start + call, cost.per_byte}; }

/// When the last of `sent` is over, one after the other, each not before it is ready. From the
/// back, so that only one addition waits for another.
template <typename List>
double end_in_order(const List& sent, const Affine& cost) {
  double end = 0, left = 0;
  for (auto one = sent.rbegin(); one != sent.rend(); ++one) {
    left += cost.seconds(one->bytes);
    end = std::max(end, one->ready + left);
  }
  return end;
}

}  // namespace

Pricer::Pricer(std::string_view policy, const Model& model)
    : backward_(model.backward()), forward_(model.forward()) {
  if (!has_fixed_groups(Spec::parse(policy))) {
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("{}: expected a policy that sends the same whatever it costs: bsp, wfbp, "
                    "ddp or dear with groups by size",
                    policy));
  }
  std::vector<double> behind(model.layers.size());
  double seconds = 0;
  for (std::size_t l = behind.size(); l-- > 0;) behind[l] = seconds += model.layers[l].forward;
  for (const Transfer& transfer : simulate(policy, model, Costs{}).transfers) {
    if (transfer.collective == Collective::AllGather) {
      gathers_.push_back({transfer.bytes, behind[transfer.first]});
    } else {
      scatters_.push_back({transfer.bytes, transfer.ready});
      halves_ = transfer.collective == Collective::ReduceScatter;
    }
  }
}

double Pricer::seconds(const Costs& costs) const {
  const Affine first = halves_ ? costs.reduce_scatter : costs.all_reduce;
  const double summed_up =
      std::max(backward_, end_in_order(scatters_, with_call(first, costs.call)));
  if (!halves_) return summed_up + forward_;
  const Affine gather = with_call(costs.all_gather, costs.call);
  double seconds = backward_ + forward_, end = summed_up;
  for (const Gather& group : gathers_) {
    end += gather.seconds(group.bytes);
    seconds = std::max(seconds, end + group.behind);
  }
  return seconds;
}

}  // namespace multitree::training
