// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduces that go on without ranks that are late: partial sums carry how many contributions
/// are in them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "algorithms/schedule.hpp"
#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime {

class Transport;
class CountedLane;

struct LossBounds {
  /// The part of all contributions that each number of a sum may lack, of which whole ones count.
  double budget = 0;
  /// From the first contribution to a sum that a rank has until it goes on without the others.
  Deadline deadline{20};
  /// Longest wait for contributions that must not be missing.
  Deadline timeout{30'000};
  /// Sums that a rank may be behind the others before they wait for it.
  std::uint32_t most_behind = 64;
};

/// \throws Error(Unsupported) unless the schedule is an all-reduce by trees, in which each rank
/// sends its partial sum of a chunk once and gets the result once
void check_trees(const Schedule& schedule);

/// What a sum lacks, numbers times contributions.
struct LossCount {
  std::uint64_t contributions = 0, lost = 0;
  std::uint32_t least_count = 0;  ///< contributions to the number that has fewest
};

/// Sums of tensors of float over all ranks, again and again, along the trees of an all-reduce.
///
/// Towards the root of a tree a rank waits for the contributions of its own and of its children,
/// for no longer than a part of the deadline, the longer the nearer it is to the root; what comes
/// later follows by itself. The root alone decides: it makes the mean once all contributions have
/// come, or once the deadline has passed and no more are missing than the budget allows. Its result
/// is sent to all ranks reliably, so all have the same bits. What comes for a sum that has been
/// made is discarded. A rank that was late is waited for again once it is at most one sum behind.
/// A thread of its own carries the messages, so a rank that computes for long
/// holds up nobody's contributions but its own.
///
/// Where nothing is missing a sum has the bits of the schedule's all-reduce; where something is, it
/// is the number of ranks times the mean of what came. Calls come from one thread at a time.
class CountedAllReduce {
 public:
  /// Collective, with the same arguments. \param tensors numbers in each
  /// \throws Error(InvalidArgument) for a budget outside 0 to 1 or a deadline below 0,
  /// what check_trees() and make_transport() throw
  CountedAllReduce(std::shared_ptr<Bootstrap> job, const Schedule& schedule,
                   std::span<const std::size_t> tensors, const LossBounds& bounds,
                   std::string_view transport = "auto");
  ~CountedAllReduce();
  CountedAllReduce(const CountedAllReduce&) = delete;
  CountedAllReduce& operator=(const CountedAllReduce&) = delete;

  /// This rank's part of a tensor's next sum, which is copied. Returns at once.
  void contribute(std::size_t tensor, std::span<const float> own);
  /// The tensor's next sum, in the order of contribute(). \throws Error(Timeout) saying what is
  /// missing, Error(Transport) naming a rank that died
  LossCount wait(std::size_t tensor, std::span<float> sum);
  /// Whether the next sum of every tensor has been made: then wait() returns at once, also without
  /// contribute(), which would come too late.
  [[nodiscard]] bool behind() const;
  /// Collective, after all sums have been waited for: late messages are out of the way.
  void finish();
  /// Contributions and messages that came for sums that had been made.
  [[nodiscard]] std::uint64_t late() const;

 private:
  struct Tensor {
    std::vector<std::unique_ptr<CountedLane>> lanes;  // by chunk that has numbers
    std::vector<ElementRange> ranges;                 // of these
    std::uint64_t contributed = 0, fetched = 0;
  };

  void serve();
  bool step();
  void await(std::unique_lock<std::mutex>& lock, const auto& is_there, const auto& words);

  std::shared_ptr<Bootstrap> job_;
  LossBounds bounds_;
  std::unique_ptr<Transport> transport_;  // of the thread; null with one rank
  mutable std::mutex mutex_;              // guards what follows
  std::condition_variable changed_;
  std::vector<Tensor> tensors_;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace multitree::runtime
