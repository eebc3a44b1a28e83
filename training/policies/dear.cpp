// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// DeAR: an all-reduce as its two halves, one beside the backward pass, one beside the next forward
/// pass.
#include <algorithm>
#include <cstddef>
#include <optional>

#include "training/channel_internal.hpp"
#include "training/cut_search_internal.hpp"
#include "training/gradients_internal.hpp"
#include "training/policies_internal.hpp"
#include "training/tuner_internal.hpp"

namespace multitree::training {
namespace {

Transfer gather_of(const Gradient& group, double issued) {
  Transfer gather = transfer_of(group, Collective::AllGather);
  gather.ready = issued;
  return gather;
}

void scatter_all(const std::vector<Gradient>& groups, Channel& channel) {
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    channel.run(transfer_of(*group, Collective::ReduceScatter));
  }
}

/// A group is gathered when the forward pass has come to the one before it.
void gather_one_ahead(const Model& model, const std::vector<Gradient>& groups, double start,
                      Channel& channel) {
  double now = start, issued = start;
  std::uint32_t layer = 0;
  for (const Gradient& group : groups) {
    Transfer gather = gather_of(group, issued);
    gather.hold = issued;
    const double end = channel.run(gather);
    for (; layer < group.first; ++layer) now += model.layers[layer].forward;
    issued = now = std::max(now, end);
  }
}

/// Groups that have been scattered and not gathered yet, while others are still to be scattered.
class Interleaving {
 public:
  Interleaving(const std::vector<Gradient>& groups, Channel& channel)
      : groups_(groups), channel_(channel), unscattered_(groups.size()) {}

  void run() {
    while (unscattered_ != 0 || !ungathered_.empty()) {
      const auto place = next_gather();
      place ? gather(*place) : scatter();
    }
  }

 private:
  /// Where the first in forward order is that holds up no reduce-scatter.
  [[nodiscard]] std::optional<std::size_t> next_gather() const {
    for (std::size_t place = ungathered_.size(); place-- > 0;) {
      const double end = channel_.free_at() + channel_.duration(Collective::AllGather,
                                                                groups_[ungathered_[place]].bytes);
      if (unscattered_ == 0 || end <= groups_[unscattered_ - 1].ready) return place;
    }
    return std::nullopt;
  }
  void gather(std::size_t place) {
    channel_.run(gather_of(groups_[ungathered_[place]], channel_.free_at()));
    ungathered_.erase(ungathered_.begin() + static_cast<std::ptrdiff_t>(place));
  }
  void scatter() {
    channel_.run(transfer_of(groups_[--unscattered_], Collective::ReduceScatter));
    ungathered_.push_back(unscattered_);
  }

  const std::vector<Gradient>& groups_;
  Channel& channel_;
  std::size_t unscattered_;  ///< the groups below it, the last of them next
  /// Those in front come last, as they are scattered last. No set, as a search of cuts makes
  /// thousands.
  std::vector<std::size_t> ungathered_;
};

bool chosen(const Spec& options, std::string_view key, std::string_view yes, std::string_view no) {
  const std::string value = options.get(key, yes);
  if (value != yes && value != no) {
    options.fail(std::string(key) + ": expected " + std::string(yes) + " or " + std::string(no) +
                 ", got '" + value + "'");
  }
  return value == yes;
}

struct Options {
  bool barrier = true, all_ahead = true;
};

Iteration run_groups(const Model& model, const Costs& costs, const std::vector<Gradient>& groups,
                     const Options& options) {
  Channel channel(costs);
  channel.reserve(2 * groups.size());
  if (!options.barrier) {
    Interleaving(groups, channel).run();
    return finish_apart(model, channel);
  }
  scatter_all(groups, channel);
  const double start = std::max(channel.free_at(), model.backward());
  if (!options.all_ahead) {
    gather_one_ahead(model, groups, start, channel);
  } else {
    for (const Gradient& group : groups) channel.run(gather_of(group, start));
  }
  return finish_apart(model, channel);
}

/// Groups in forward order.
std::vector<Gradient> groups_of(const Model& model, const Costs& costs, const Options& options,
                                const Spec& spec) {
  std::vector<Gradient> layers = layers_of(model);
  std::ranges::reverse(layers);
  const std::string fusion = spec.get("fusion", "25MiB");
  if (fusion == "none") return layers;
  if (fusion == "search") {
    return search_cuts(layers, [&](const std::vector<Gradient>& groups) {
      return run_groups(model, costs, groups, options).seconds;
    });
  }
  if (fusion == "tuner") {
    return fuse(layers, tuned_group_size([&](std::uint64_t most) {
                  return run_groups(model, costs, fuse(layers, most), options).seconds;
                }));
  }
  return fuse(layers, bytes_option(spec, "fusion", "25MiB"));
}

}  // namespace

Iteration run_dear(const Model& model, const Costs& costs, const Spec& spec) {
  const Options options{.barrier = chosen(spec, "barrier", "yes", "no"),
                        .all_ahead = chosen(spec, "ahead", "all", "1")};
  return run_groups(model, costs, groups_of(model, costs, options, spec), options);
}

}  // namespace multitree::training
