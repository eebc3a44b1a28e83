// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Packing, and which calls are packed.
#include "runtime/c/together_internal.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "runtime/kernels/data_type.hpp"

namespace multitree::runtime::c {
namespace {

/// What calls must have in common to be one.
auto kind_of(const Job& job) {
  const Call& call = job.spec.call;
  return std::tuple(job.comm.get(), call.collective, call.type, call.op, call.wire, call.summing,
                    call.root.value_or(Rank{0}));
}

std::size_t bytes_of_whole(const Job& job) {
  const Call& call = job.spec.call;
  const std::size_t shards = is_sharded(call.collective) ? job.comm->size() : 1;
  return call.count > kSmallMember ? SIZE_MAX : call.count * size_of(call.type) * shards;
}

bool can_be_together(const Job& job) {
  const bool plain = !job.spec.exchange && !job.streamed() && !job.persistent &&
                     job.spec.call.custom == nullptr &&
                     job.comm->settings().options.device == nullptr;
  return plain && job.spec.call.count > 0 && job.comm->size() > 1 &&
         bytes_of_whole(job) <= kSmallMember;
}

/// Calls that are to be one.
struct Bundle {
  std::vector<std::shared_ptr<Job>> calls;
  std::size_t bytes = 0;
};

std::shared_ptr<Job> as_one(const Bundle& bundle) {
  if (bundle.calls.size() == 1) return bundle.calls.front();
  auto together = std::make_shared<Together>(bundle.calls);
  auto job = std::make_shared<Job>(bundle.calls.front()->comm, together->one(), false);
  job->attended = std::ranges::all_of(bundle.calls, &Job::attended);
  job->together = std::move(together);
  return job;
}

}  // namespace

Together::Together(std::vector<std::shared_ptr<Job>> members)
    : members_(std::move(members)), comm_(*members_.front()->comm), width_(size_of(first().type)) {
  for (const auto& member : members_) shard_ += member->spec.call.count * width_;
}

CallSpec Together::one() {
  Call call = first();
  const Rank root = call.root.value_or(Rank{0});
  std::vector<std::uint64_t> counts;
  for (const auto& member : members_) counts.push_back(member->spec.call.count);
  const std::uint64_t digest = XXH3_64bits(counts.data(), counts.size() * sizeof counts[0]);
  call.several = static_cast<std::uint16_t>(digest % UINT16_MAX + 1);
  call.count = shard_ / width_;
  call.send = nullptr;
  call.recv = nullptr;
  if (sends(call.collective, comm_.rank(), root)) {
    const std::size_t shards = shards_sent(call.collective, comm_.size());
    send_.resize(shard_ * shards);
    call.send = send_.data();
    std::byte* to = send_.data();
    for (std::size_t shard = 0; shard < shards; ++shard) {
      for (const auto& member : members_) {
        const std::size_t bytes = member->spec.call.count * width_;
        std::memcpy(to, static_cast<const std::byte*>(member->spec.call.send) + shard * bytes,
                    bytes);
        to += bytes;
      }
    }
  }
  if (receives(call.collective, comm_.rank(), root)) {
    recv_.resize(shard_ * shards_received(call.collective, comm_.size()));
    call.recv = recv_.data();
  }
  return {.call = call};
}

void Together::hand_out() {
  const std::size_t shards = recv_.size() / shard_;
  const std::byte* from = recv_.data();
  for (std::size_t shard = 0; shard < shards; ++shard) {
    for (const auto& member : members_) {
      const std::size_t bytes = member->spec.call.count * width_;
      std::memcpy(static_cast<std::byte*>(member->spec.call.recv) + shard * bytes, from, bytes);
      from += bytes;
    }
  }
}

void Together::set(Job::State state) {
  for (const auto& member : members_) member->state = state;
}

void Job::begin() {
  state = State::Running;
  if (together != nullptr) together->set(state);
}

void Job::end(State as) {
  if (together != nullptr && as == State::Done) together->hand_out();
  if (together != nullptr) together->set(as);
  state = as;
}

std::vector<std::shared_ptr<Job>> put_together(const std::vector<std::shared_ptr<Job>>& calls) {
  std::vector<Bundle> bundles;
  std::map<decltype(kind_of(*calls.front())), std::size_t> open;  // only looked up
  for (const auto& job : calls) {
    if (!can_be_together(*job)) {
      bundles.push_back({{job}, 0});
      continue;
    }
    const std::size_t bytes = bytes_of_whole(*job);
    const auto [it, is_new] = open.try_emplace(kind_of(*job), bundles.size());
    if (is_new || bundles[it->second].bytes + bytes > kMostTogether) {
      it->second = bundles.size();
      bundles.emplace_back();
    }
    bundles[it->second].calls.push_back(job);
    bundles[it->second].bytes += bytes;
  }
  std::vector<std::shared_ptr<Job>> started;
  for (const Bundle& bundle : bundles) started.push_back(as_one(bundle));
  return started;
}

}  // namespace multitree::runtime::c
