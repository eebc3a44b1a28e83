// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Transfers one after the other.
#include <algorithm>

#include "training/channel_internal.hpp"

namespace multitree::training {

namespace {

const Affine& cost_of(Collective collective, const Costs& costs) {
  return collective == Collective::ReduceScatter ? costs.reduce_scatter
         : collective == Collective::AllGather   ? costs.all_gather
                                                 : costs.all_reduce;
}

}  // namespace

double Channel::duration(Collective collective, std::uint64_t bytes) const {
  return costs_.call + cost_of(collective, costs_).seconds(bytes);
}

double Channel::run(Transfer transfer) {
  transfer.begin = std::max(free_at_, transfer.ready);
  transfer.end = transfer.begin + duration(transfer.collective, transfer.bytes);
  free_at_ = transfer.end;
  if (overlaps_) free_at_ -= cost_of(transfer.collective, costs_).start;
  transfers_.push_back(transfer);
  return free_at_;
}

Iteration finish_together(const Model& model, const Channel& channel) {
  Iteration iteration = finish(model, std::vector<double>(model.layers.size(), channel.free_at()),
                               channel.transfers());
  iteration.together = true;
  return iteration;
}

Iteration finish_apart(const Model& model, const Channel& channel) {
  std::vector<double> done(model.layers.size(), 0);
  for (const Transfer& transfer : channel.transfers()) {
    for (std::uint32_t l = transfer.first; l <= transfer.last; ++l) {
      done[l] = std::max(done[l], transfer.end);
    }
  }
  return finish(model, done, channel.transfers());
}

}  // namespace multitree::training
