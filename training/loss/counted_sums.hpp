// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// An all-reduce whose messages may be lost: each partial sum carries how many contributions are in
/// it, and the mean divides by as many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/schedule.hpp"

namespace multitree::training {

/// Which messages the network may lose. Of the others none is.
struct Losses {
  double part = 0;  ///< of the messages that may be lost: each one at each hop, at random
  std::uint64_t seed = 1;
  std::string_view which = "all";  ///< find_loss_rule()
};

/// A message as it is sent.
struct PartialSum {
  std::span<const float> sums;
  std::uint32_t count = 0;  ///< contributions in it
  std::size_t layer = 0, layers = 1;
  double typical = 0;  ///< root of the mean square of one contribution to its layer
};

/// Which partial sums are droppable; the others are protected.
struct LossRule {
  std::string_view name;
  std::string_view summary;
  bool (*droppable)(const PartialSum& message);
};
/// "all", "front" and "back" layers, "small" and "large" gradients, "front-small" (what DLCP tags).
std::span<const LossRule> loss_rules();
/// \throws Error(InvalidArgument) listing the names.
const LossRule& find_loss_rule(std::string_view name);

/// What takes the place of contributions that are lost.
enum class Missing : std::uint8_t {
  Counted,  ///< the mean of those that came
  Zero,     ///< zeros
};

/// Contributions are counted by number of the gradients: one of each rank.
struct LossReport {
  std::uint64_t messages = 0, lost_messages = 0;
  std::uint64_t contributions = 0, lost = 0;
  std::uint32_t least_count = 0;  ///< contributions to the number that has fewest
  [[nodiscard]] double part_lost() const {
    return contributions == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(contributions);
  }
};

/// The reducing half of an all-reduce, on all ranks in one process. The gathering half is reliable:
/// what is at a chunk's root is what all ranks have in the end.
class CountedSums {
 public:
  /// \param numbers of each rank's gradients \param packet numbers in a message
  /// \param layers where each layer begins, the first one at 0
  /// \pre the schedule verifies. \throws Error(Unsupported) unless each rank sends each chunk's
  /// partial sum once, towards its root; Error(InvalidArgument) if it is no all-reduce.
  CountedSums(const Schedule& schedule, std::size_t numbers, std::size_t packet,
              std::vector<std::size_t> layers);

  /// Sums what ranks have, in the schedule's order. Where nothing is lost the sum is that of the
  /// reliable all-reduce to the last bit; where something is, it is `ranks` times the mean of what
  /// came (Counted).
  /// \param own by rank \param iteration another one loses other messages
  LossReport sum(std::span<const std::vector<float>> own, std::span<float> result,
                 const Losses& losses, std::uint64_t iteration, Missing missing);

  /// What is lost in the mean, if each message is with the same probability: a contribution comes
  /// if none of the messages on its way to the root is lost.
  [[nodiscard]] double expected_part_lost(double part) const;

 private:
  struct Message {  // of a chunk
    std::uint32_t src = 0, dst = 0, chunk = 0;
  };
  struct Stretch {  // of a chunk: what travels in one message
    std::size_t begin = 0, count = 0, layer = 0;
  };

  void check(const Schedule& schedule) const;
  void typical_of(std::span<const std::vector<float>> own);

  std::uint32_t ranks_;
  std::vector<std::uint32_t> roots_;             // by chunk
  std::vector<ElementRange> ranges_;             // by chunk
  std::vector<Message> messages_;                // in the schedule's order
  std::vector<std::vector<Stretch>> stretches_;  // by chunk
  std::vector<std::size_t> layers_;
  std::vector<double> typical_;                     // by layer
  std::vector<std::vector<float>> partial_;         // by rank
  std::vector<std::vector<std::uint32_t>> counts_;  // by rank and stretch of the chunk
};

}  // namespace multitree::training
