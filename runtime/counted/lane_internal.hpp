// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One tree's part of a tensor, sum after sum.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "runtime/counted/counted_sums.hpp"
#include "runtime/messages/transport.hpp"

namespace multitree::runtime {

/// A rank's place in the tree of a chunk.
struct PlaceInTree {
  std::optional<Seat> parent, source;   ///< whom it sends sums to, who sends it results
  std::vector<Seat> children, targets;  ///< the same the other way, in the schedule's order
  std::vector<std::uint32_t> of_child;  ///< ranks in each child's subtree
  std::uint32_t below = 1;              ///< ranks in its subtree, with itself
  std::uint32_t height = 0, root_height = 0;
};
/// By chunk. \throws Error(Unsupported), see CountedAllReduce.
std::vector<PlaceInTree> places_of(const Schedule& schedule, Rank rank);

/// Calls come from one thread at a time.
class CountedLane {
 public:
  using Clock = std::chrono::steady_clock;
  struct Result {
    std::uint32_t count = 0;
    std::vector<float> values;  ///< the sum, made up for what is missing
  };

  /// \param tag below 2^46, of this lane. \param transport null without others
  CountedLane(PlaceInTree place, std::uint32_t ranks, std::size_t numbers, std::uint64_t tag,
              const LossBounds& bounds, Transport* transport);

  void contribute(std::uint64_t sum, std::span<const float> own);
  /// Deals with what has come, and with deadlines; true if anything happened.
  bool poll(Clock::time_point now);
  /// Of a sum, once.
  [[nodiscard]] bool has(std::uint64_t sum) const { return results_.contains(sum); }
  Result take(std::uint64_t sum);
  /// Nothing of its own is on its way.
  [[nodiscard]] bool idle() const { return outgoing_.empty(); }
  [[nodiscard]] std::uint64_t late() const { return late_; }
  /// "2 of 4 contributions to sum 7".
  [[nodiscard]] std::string missing() const;

 private:
  struct Header {
    std::uint64_t sum = 0;
    std::uint32_t count = 0, unused = 0;
  };
  struct Incoming {
    Seat from{};
    std::uint64_t tag = 0;
    std::vector<std::byte> bytes;
    Completion completion;
  };
  struct Outgoing {
    std::vector<std::byte> bytes;
    Completion completion;
  };
  /// What has come for a sum and has not been passed on.
  struct Gathered {
    Clock::time_point first;
    std::vector<std::vector<float>> parts;      // this rank's, then its children's
    std::vector<std::uint32_t> counts, totals;  // not passed on; with what was
    std::uint32_t fresh = 0, passed = 0;        // contributions
  };

  std::unique_ptr<Incoming> expect(Seat from, std::uint64_t tag);
  void post(Incoming& incoming);
  /// What a message says, if it has come.
  bool came(const Incoming& incoming, Header& header, std::span<const float>& values) const;
  void send(Seat to, std::uint64_t tag, const Header& header, std::span<const float> values);
  void gather(std::uint64_t sum, std::size_t part, std::uint32_t count,
              std::span<const float> values);
  /// Nothing that is still missing came for the sum before, or it has been waited for.
  [[nodiscard]] bool is_due(const Gathered& gathered, Clock::time_point now) const;
  /// The fresh parts together, in the schedule's order.
  std::vector<float> merged(Gathered& gathered) const;
  bool pass_on(std::uint64_t sum, Gathered& gathered, Clock::time_point now);
  bool decide(Clock::time_point now);
  void deliver(const Header& header, std::vector<float> values);
  [[nodiscard]] bool held() const;

  PlaceInTree place_;
  std::uint32_t ranks_, allowed_;  // contributions that may be missing
  std::size_t numbers_;
  std::uint64_t tag_;
  LossBounds bounds_;
  Transport* transport_;
  std::vector<std::unique_ptr<Incoming>> sums_;  // by child
  std::unique_ptr<Incoming> result_;             // of its source
  std::list<Outgoing> outgoing_;
  std::map<std::uint64_t, Gathered> gathered_;
  std::map<std::uint64_t, Result> results_;
  std::vector<std::uint32_t> wanted_;  // by part: contributions that are waited for
  std::uint64_t made_ = 0;             // sums before it have been made
  std::uint64_t late_ = 0;
};

}  // namespace multitree::runtime
