// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gathering and telling of failures, as the coordinator does.
#include "tests/world/meeting_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topologies/error.hpp"

namespace multitree::runtime::world {
namespace {

constexpr Nanoseconds kLongestWord = 300us;

}  // namespace

void MeetingPoint::tell(std::uint32_t rank, std::function<void(WorldBootstrap&)> what) {
  Nanoseconds& last = last_[rank];
  last = std::max(last, world_.now() + world_.random().delay(kLongestWord)) + 1ns;
  world_.at(last, [this, rank, what = std::move(what)]() mutable {
    if (ends_[rank] == nullptr) return;
    ends_[rank]->come_.push_back(std::move(what));
    world_.wake(rank);
  });
}

void MeetingPoint::hear(std::uint32_t rank, std::function<void()> what) {
  Nanoseconds& last = last_[rank + ends_.size()];
  last = std::max(last, world_.now() + world_.random().delay(kLongestWord)) + 1ns;
  world_.at(last, std::move(what));
}

void MeetingPoint::gather(std::uint32_t rank, const std::string& blob) {
  blobs_[rank] = blob;
  if (!std::ranges::all_of(blobs_, [](const auto& one) { return one.has_value(); })) return;
  std::vector<std::string> all;
  for (auto& one : blobs_) all.push_back(*std::exchange(one, std::nullopt));
  const Gathered gathered(std::move(all));
  for (std::uint32_t r = 0; r < ends_.size(); ++r) {
    tell(r, [gathered](WorldBootstrap& end) { end.gathered_ = gathered; });
  }
}

void MeetingPoint::fail(std::uint32_t except, const std::string& why, std::optional<Seat> lost,
                        std::optional<DeadLink> link) {
  if (std::exchange(failed_, true)) return;  // the first is the cause
  for (std::uint32_t r = 0; r < ends_.size(); ++r) {
    if (r == except) continue;
    tell(r, [why, lost, link](WorldBootstrap& end) {
      if (!end.failure_.empty()) return;
      end.failure_ = why;
      end.lost_ = lost;
      end.link_ = link;
    });
  }
}

void MeetingPoint::lose(std::uint32_t rank) {
  ends_[rank] = nullptr;
  hear(rank, [this, rank] {
    fail(rank, fmt::format("rank {} died (connection closed)", rank), Seat{rank}, std::nullopt);
  });
}

void MeetingPoint::say(std::uint32_t from, const std::string& words) {
  world_.note("said", from, words.size());
  for (std::uint32_t r = 0; r < ends_.size(); ++r) {
    tell(r, [from, words](WorldBootstrap& end) {
      if (!end.listener_) return;
      const std::string answer = end.listener_(Seat{from}, words);
      if (!answer.empty()) end.say(answer);
    });
  }
}

void MeetingPoint::ask_where(std::uint32_t rank, const Sighting& self) {
  if (askers_.empty()) {
    sightings_.assign(ends_.size(), {});
    for (std::uint32_t r = 0; r < ends_.size(); ++r) {
      tell(r, [](WorldBootstrap& end) { end.asked_where_ = true; });
    }
    world_.after(kWherePatience, [this] {
      const std::string words = blame(sightings_);
      for (const std::uint32_t asker : std::exchange(askers_, {})) {
        tell(asker, [words](WorldBootstrap& end) { end.stuck_ = words; });
      }
    });
  }
  askers_.push_back(rank);
  answer_where(rank, self);
}

void MeetingPoint::answer_where(std::uint32_t rank, const Sighting& self) {
  if (!sightings_.empty()) sightings_[rank] = self;
}

WorldBootstrap::WorldBootstrap(std::shared_ptr<MeetingPoint> meeting, Seat self, std::uint32_t size)
    : meeting_(std::move(meeting)), self_(self), size_(size) {
  meeting_->ends_[index(self)] = this;
}

WorldBootstrap::~WorldBootstrap() {
  if (meeting_->ends_[index(self_)] == this) meeting_->ends_[index(self_)] = nullptr;
}

void WorldBootstrap::receive() {
  while (!come_.empty()) {
    const auto one = std::move(come_.front());
    come_.pop_front();
    one(*this);
  }
}

Gathered WorldBootstrap::gather(const std::string& blob, Deadline deadline,
                                const Meanwhile& meanwhile) {
  World& world = meeting_->world();
  const Nanoseconds until = world.now() + deadline;
  gathered_.reset();
  meeting_->hear(index(self_), [this, blob, meeting = meeting_, rank = index(self_)] {
    if (meeting->ends_[rank] == this) meeting->gather(rank, blob);
  });
  while (true) {
    receive();
    if (gathered_) return *std::exchange(gathered_, std::nullopt);
    if (!failure_.empty() && !own_) {
      throw Error(ErrorCode::Transport, fmt::format("rank {}: {}", self_, failure_));
    }
    if (world.now() >= until) {
      std::string missing;
      for (std::uint32_t r = 0; r < size_; ++r) {
        if (!meeting_->blobs_[r])
          missing += fmt::format("{}rank {}", missing.empty() ? "" : ", ", r);
      }
      throw Error(ErrorCode::Timeout, fmt::format("rank {}: waited {} ms in vain for {}", self_,
                                                  deadline.count(), missing));
    }
    answer_at_barrier();
    if (meanwhile) meanwhile();
    world.await(std::min<Nanoseconds>(1ms, until - world.now()));
  }
}

void WorldBootstrap::answer_at_barrier() {
  if (!std::exchange(asked_where_, false)) return;
  const std::uint32_t rank = index(self_);
  meeting_->hear(rank, [meeting = meeting_, rank] {
    Sighting here;
    here.at_barrier = true;
    meeting->answer_where(rank, here);
  });
}

void WorldBootstrap::tell_where(const Whereabouts& self) {
  asked_where_ = false;
  const std::uint32_t rank = index(self_);
  meeting_->hear(rank,
                 [meeting = meeting_, rank, self] { meeting->answer_where(rank, {.call = self}); });
}

std::string WorldBootstrap::culprit(const std::optional<Whereabouts>& self) {
  World& world = meeting_->world();
  const Nanoseconds until = world.now() + kWherePatience + 400ms;
  stuck_.reset();
  const std::uint32_t rank = index(self_);
  meeting_->hear(rank, [meeting = meeting_, rank, self] {
    meeting->ask_where(rank, {.call = self, .at_barrier = !self.has_value()});
  });
  while (!stuck_ && failure_.empty() && world.now() < until) {
    world.await(1ms);
    receive();
  }
  return failure_.empty() ? stuck_.value_or("") : std::string();
}

std::optional<std::string> WorldBootstrap::failure() {
  receive();
  return failure_.empty() || own_ ? std::nullopt : std::optional(failure_);
}

void WorldBootstrap::report_failure(const std::string& reason) {
  receive();
  if (!failure_.empty()) return;
  failure_ = reason;
  own_ = true;
  const std::uint32_t rank = index(self_);
  meeting_->hear(rank, [meeting = meeting_, rank, reason] {
    meeting->fail(rank, fmt::format("rank {} gave up: {}", rank, reason), Seat{rank}, std::nullopt);
  });
}

void WorldBootstrap::report_dead_links(std::span<const Seat> peers, std::span<const Seat>,
                                       const std::string& reason) {
  receive();
  if (!failure_.empty() || peers.empty()) return;
  failure_ = reason;
  own_ = true;
  link_ = link_between(self_, peers.front());
  const std::uint32_t rank = index(self_);
  meeting_->hear(rank, [meeting = meeting_, rank, reason, link = *link_] {
    meeting->fail(rank, fmt::format("rank {}: {}", rank, reason), std::nullopt, link);
  });
}

void WorldBootstrap::say(const std::string& words) {
  const std::uint32_t rank = index(self_);
  meeting_->hear(rank, [meeting = meeting_, rank, words] { meeting->say(rank, words); });
}

Shrunk WorldBootstrap::shrink(Deadline, std::span<const Seat>) {
  throw Error(ErrorCode::Unsupported, "a world's job does not shrink");
}

NewPart WorldBootstrap::part(std::uint64_t, std::span<const Seat>) {
  throw Error(ErrorCode::Unsupported, "a world's job has no parts");
}

}  // namespace multitree::runtime::world
