// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The fastest way to time the trees of a packing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "algorithms/generators/pieces_internal.hpp"
#include "algorithms/packing/chunks/pipeline.hpp"
#include "algorithms/packing/steps/time_trees.hpp"
#include "algorithms/packing/trees/tree_packing.hpp"
#include "algorithms/schedule_store_internal.hpp"

namespace multitree {

/// The fastest schedule so far for one network and size.
class FastestSchedule {
 public:
  FastestSchedule(std::uint64_t bytes, Time message) : bytes_(bytes), message_(message) {}

  void consider(SharedSchedule schedule);

  /// Null if none was considered yet.
  [[nodiscard]] const SharedSchedule& best() const { return best_; }
  /// Its time; \pre there is one
  [[nodiscard]] Time time() const { return time_; }
  /// Whether there is one that takes at most `factor` times as long as `least`.
  [[nodiscard]] bool is_within(double factor, Time least) const {
    return best_ && time_.seconds() <= factor * least.seconds();
  }
  /// What messages cost it beside bytes and latencies, as a share of that; \pre there is one
  [[nodiscard]] double share_of_messages() const {
    return time_.seconds() / best_->time(bytes_, Time{}).seconds() - 1;
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] Time message() const { return message_; }

 private:
  std::uint64_t bytes_;
  Time message_;
  SharedSchedule best_;
  Time time_;
};

/// Trees, and what their pipeline needs.
struct TreesToTime {
  std::string name;  ///< of the packing, among all of the network
  const TreePacking& packing;
  const Topology& topology;
  std::uint32_t hops = 0;  ///< chunks one after the other that fill and drain the pipeline
  Pipeline pipeline;
  std::uint32_t segments = 0;  ///< 0: as many as are worth it
  TimingOptions timing;        ///< `segments`, `queues` and `costs` do not count
  Keep keep;
  bool are_rivals = false;  ///< of others, for which all was tried: not what takes long
  bool are_turned = false;  ///< `keep` makes reductions of what gathers
};

/// Considers the trees timed as their data comes, each link for itself.
void consider_plain_trees(FastestSchedule& fastest, const TreesToTime& trees);
/// Times trees as their data comes, and, where more could be gained, for what messages cost, with
/// chunks that wait on their way, and in periods. Considers nothing if no way could be faster than
/// the fastest so far.
void consider_trees(FastestSchedule& fastest, const TreesToTime& trees);

/// Where messages cost, and the fastest schedule takes longer than `least`, what links need for as
/// many trees as the optimum takes, considers fewer: links are not all used as well, but ranks send
/// fewer messages, and the pipeline is shorter. From few to many, until two in a row were no
/// better. \param consider considers so many trees
void consider_fewer_trees(FastestSchedule& fastest, Time least,
                          const std::function<void(std::uint32_t trees)>& consider);

}  // namespace multitree
