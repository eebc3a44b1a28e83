// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduces that go on without ranks that are late.
#include "runtime/counted/counted_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/counted/lane_internal.hpp"
#include "topologies/error.hpp"
#include "topologies/thread.hpp"

namespace multitree::runtime {
namespace {

constexpr std::chrono::microseconds kPause{50};
/// For which what was sent before a failure is taken in after it is known.
constexpr std::chrono::milliseconds kLastWords{100};
constexpr unsigned kChunkBits = 24;

void check_bounds(const LossBounds& bounds) {
  if (bounds.budget >= 0 && bounds.budget < 1 && bounds.deadline.count() >= 0) return;
  throw Error(
      ErrorCode::InvalidArgument,
      fmt::format("expected a loss budget from 0 to below 1 and a deadline of 0 ms or more, "
                  "got {} and {} ms",
                  bounds.budget, bounds.deadline.count()));
}

std::vector<Seat> peers_in(std::span<const PlaceInTree> places) {
  std::set<Seat> peers;
  for (const PlaceInTree& place : places) {
    peers.insert(place.children.begin(), place.children.end());
    peers.insert(place.targets.begin(), place.targets.end());
    if (place.parent) peers.insert(*place.parent);
    if (place.source) peers.insert(*place.source);
  }
  return {peers.begin(), peers.end()};
}

}  // namespace

CountedAllReduce::CountedAllReduce(std::shared_ptr<Bootstrap> job, const Schedule& schedule,
                                   std::span<const std::size_t> tensors, const LossBounds& bounds,
                                   std::string_view transport)
    : job_(std::move(job)), bounds_(bounds), tensors_(tensors.size()) {
  check_bounds(bounds);
  if (schedule.ranks != job_->size()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected a schedule of {} ranks, got one of {}", job_->size(),
                            schedule.ranks));
  }
  const std::vector<PlaceInTree> places = places_of(schedule, Rank{index(job_->seat())});
  if (job_->size() > 1) {
    transport_ = make_transport(
        transport, *job_,
        {.peers = peers_in(places), .deadline = bounds.timeout, .encrypt = encrypts({})});
  }
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const std::vector<ElementRange> ranges = chunk_ranges(schedule, tensors[t]);
    for (std::size_t chunk = 0; chunk < ranges.size(); ++chunk) {
      if (ranges[chunk].count == 0) continue;
      tensors_[t].ranges.push_back(ranges[chunk]);
      tensors_[t].lanes.push_back(std::make_unique<CountedLane>(
          places[chunk], schedule.ranks, ranges[chunk].count,
          (std::uint64_t{t} << kChunkBits) + chunk, bounds, transport_.get()));
    }
  }
  thread_ = start_thread("sums", [this] { serve(); });
}

CountedAllReduce::~CountedAllReduce() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  thread_.join();
  if (transport_) transport_->abort();
}

void CountedAllReduce::contribute(std::size_t tensor, std::span<const float> own) {
  const std::scoped_lock lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  Tensor& one = tensors_.at(tensor);
  for (std::size_t l = 0; l < one.lanes.size(); ++l) {
    one.lanes[l]->contribute(one.contributed,
                             own.subspan(one.ranges[l].begin, one.ranges[l].count));
  }
  ++one.contributed;
}

void CountedAllReduce::await(std::unique_lock<std::mutex>& lock, const auto& is_there,
                             const auto& words) {
  constexpr std::chrono::milliseconds kLook{20};
  using Time = CountedLane::Clock::time_point;
  const Time begin = CountedLane::Clock::now(), end = begin + bounds_.timeout;
  Time next_look = begin + kLook;
  std::optional<Time> failed_at;
  while (!error_ && !is_there()) {
    changed_.wait_for(lock, kLook);
    // Other messages may come all the time, and a network that lets go of a rank is busy for ever.
    if (CountedLane::Clock::now() < next_look) continue;
    lock.unlock();
    const std::optional<std::string> failure = job_->failure();
    lock.lock();
    const Time now = CountedLane::Clock::now();
    next_look = now + kLook;
    // What was sent before may not have been taken in.
    if (failure && !failed_at) failed_at = now;
    if (failure && now - *failed_at > kLastWords) throw Error(ErrorCode::Transport, *failure);
    if (now < end) continue;
    throw Error(ErrorCode::Timeout, fmt::format("rank {}: waited {} ms for {}", index(job_->seat()),
                                                bounds_.timeout.count(), words()));
  }
  if (!is_there()) std::rethrow_exception(error_);
}

LossCount CountedAllReduce::wait(std::size_t tensor, std::span<float> sum) {
  std::unique_lock lock(mutex_);
  Tensor& one = tensors_.at(tensor);
  LossCount count{.least_count = job_->size()};
  for (std::size_t l = 0; l < one.lanes.size(); ++l) {
    CountedLane& lane = *one.lanes[l];
    await(
        lock, [&] { return lane.has(one.fetched); },
        [&] { return fmt::format("the sum of tensor {}: {}", tensor, lane.missing()); });
    const CountedLane::Result result = lane.take(one.fetched);
    std::ranges::copy(result.values,
                      sum.begin() + static_cast<std::ptrdiff_t>(one.ranges[l].begin));
    count.contributions += job_->size() * result.values.size();
    count.lost += (job_->size() - result.count) * result.values.size();
    count.least_count = std::min(count.least_count, result.count);
  }
  ++one.fetched;
  one.contributed = std::max(one.contributed, one.fetched);
  return count;
}

bool CountedAllReduce::behind() const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::all_of(tensors_, [](const Tensor& tensor) {
    return std::ranges::all_of(tensor.lanes,
                               [&](const auto& lane) { return lane->has(tensor.fetched); });
  });
}

void CountedAllReduce::finish() {
  {
    std::unique_lock lock(mutex_);
    const auto is_idle = [&] {
      return std::ranges::all_of(tensors_, [](const Tensor& tensor) {
        return std::ranges::all_of(tensor.lanes, [](const auto& lane) { return lane->idle(); });
      });
    };
    await(lock, is_idle, [] { return std::string("its messages to leave"); });
  }
  job_->barrier(bounds_.timeout);
}

std::uint64_t CountedAllReduce::late() const {
  const std::scoped_lock lock(mutex_);
  std::uint64_t late = 0;
  for (const Tensor& tensor : tensors_) {
    for (const auto& lane : tensor.lanes) late += lane->late();
  }
  return late;
}

bool CountedAllReduce::step() {
  bool happened = transport_ && transport_->progress();
  const auto now = CountedLane::Clock::now();
  for (Tensor& tensor : tensors_) {
    for (const auto& lane : tensor.lanes) happened = lane->poll(now) || happened;
  }
  return happened;
}

void CountedAllReduce::serve() {
  try {
    while (true) {
      bool happened = false;
      {
        const std::scoped_lock lock(mutex_);
        if (stopping_) return;
        happened = step();
      }
      if (happened) {
        changed_.notify_all();
        std::this_thread::yield();  // others want the mutex
      } else {
        std::this_thread::sleep_for(kPause);
      }
    }
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    error_ = std::current_exception();
    changed_.notify_all();
  }
}

}  // namespace multitree::runtime
