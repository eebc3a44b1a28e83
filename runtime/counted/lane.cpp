// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One tree's part of a tensor, sum after sum.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/counted/lane_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// Contributions that may be missing. 0.3 of 10 are 3, though 0.3 is a little less.
std::uint32_t allowed_of(double budget, std::uint32_t ranks) {
  constexpr double kRounding = 1e-9;
  return std::min(ranks - 1, static_cast<std::uint32_t>(budget * ranks + kRounding));
}

}  // namespace

CountedLane::CountedLane(PlaceInTree place, std::uint32_t ranks, std::size_t numbers,
                         std::uint64_t tag, const LossBounds& bounds, Transport* transport)
    : place_(std::move(place)),
      ranks_(ranks),
      allowed_(allowed_of(bounds.budget, ranks)),
      numbers_(numbers),
      tag_(2 * tag),
      bounds_(bounds),
      transport_(transport),
      wanted_(1, 1) {
  wanted_.insert(wanted_.end(), place_.of_child.begin(), place_.of_child.end());
  for (const Seat child : place_.children) sums_.push_back(expect(child, tag_));
  if (place_.source) result_ = expect(*place_.source, tag_ + 1);
}

std::unique_ptr<CountedLane::Incoming> CountedLane::expect(Seat from, std::uint64_t tag) {
  auto incoming = std::make_unique<Incoming>();
  incoming->from = from;
  incoming->tag = tag;
  incoming->bytes.resize(sizeof(Header) + numbers_ * sizeof(float));
  post(*incoming);
  return incoming;
}

void CountedLane::post(Incoming& incoming) {
  incoming.completion.state = Completion::State::Pending;
  transport_->receive(incoming.from, incoming.tag, incoming.bytes.data(), incoming.bytes.size(),
                      incoming.completion);
}

bool CountedLane::came(const Incoming& incoming, Header& header,
                       std::span<const float>& values) const {
  if (incoming.completion.state == Completion::State::Failed) {
    throw Error(ErrorCode::Transport, fmt::format("a sum from rank {}: {}", index(incoming.from),
                                                  incoming.completion.error));
  }
  if (incoming.completion.state != Completion::State::Done) return false;
  std::memcpy(&header, incoming.bytes.data(), sizeof header);
  values = {reinterpret_cast<const float*>(incoming.bytes.data() + sizeof header), numbers_};
  return true;
}

void CountedLane::send(Seat to, std::uint64_t tag, const Header& header,
                       std::span<const float> values) {
  Outgoing& outgoing = outgoing_.emplace_back();
  outgoing.bytes.resize(sizeof header + values.size_bytes());
  std::memcpy(outgoing.bytes.data(), &header, sizeof header);
  std::memcpy(outgoing.bytes.data() + sizeof header, values.data(), values.size_bytes());
  outgoing.completion.state = Completion::State::Pending;
  transport_->send(to, tag, outgoing.bytes.data(), outgoing.bytes.size(), outgoing.completion);
}

void CountedLane::contribute(std::uint64_t sum, std::span<const float> own) {
  gather(sum, 0, 1, own);
}

void CountedLane::gather(std::uint64_t sum, std::size_t part, std::uint32_t count,
                         std::span<const float> values) {
  // Who is late for one sum is waited for no longer, until it is nearly in time again.
  const std::uint32_t all = part == 0 ? 1 : place_.of_child[part - 1];
  if (sum < made_) {
    ++late_;
    if (sum + 1 == made_) wanted_[part] = all;
    return;
  }
  Gathered& gathered = gathered_[sum];
  if (gathered.passed > 0) wanted_[part] = all;
  if (gathered.counts.empty()) {
    gathered.first = Clock::now();
    gathered.parts.resize(1 + place_.children.size());
    gathered.counts.resize(gathered.parts.size());
    gathered.totals.resize(gathered.parts.size());
  }
  std::vector<float>& mine = gathered.parts[part];
  if (gathered.counts[part] == 0) {
    mine.assign(values.begin(), values.end());
  } else {
    std::ranges::transform(mine, values, mine.begin(), std::plus<>());
  }
  gathered.counts[part] += count;
  gathered.totals[part] += count;
  gathered.fresh += count;
}

std::vector<float> CountedLane::merged(Gathered& gathered) const {
  std::vector<float> values;
  for (std::size_t part = 0; part < gathered.parts.size(); ++part) {
    if (gathered.counts[part] == 0) continue;
    if (values.empty()) {
      values = std::move(gathered.parts[part]);
    } else {
      std::ranges::transform(values, gathered.parts[part], values.begin(), std::plus<>());
    }
    gathered.counts[part] = 0;
  }
  return values;
}

bool CountedLane::is_due(const Gathered& gathered, Clock::time_point now) const {
  const auto patience = bounds_.deadline * place_.height / std::max(place_.root_height, 1U);
  if (gathered.passed > 0 || now >= gathered.first + patience) return true;
  for (std::size_t part = 0; part < wanted_.size(); ++part) {
    if (gathered.totals[part] < wanted_[part]) return false;
  }
  return true;
}

bool CountedLane::pass_on(std::uint64_t sum, Gathered& gathered, Clock::time_point now) {
  if (gathered.fresh == 0) return false;
  if (!is_due(gathered, now)) return false;
  if (gathered.passed == 0) wanted_ = gathered.totals;
  send(*place_.parent, tag_, {.sum = sum, .count = gathered.fresh}, merged(gathered));
  gathered.passed += gathered.fresh;
  gathered.fresh = 0;
  return true;
}

bool CountedLane::decide(Clock::time_point now) {
  const auto next = gathered_.find(made_);
  if (next == gathered_.end() || held()) return false;
  Gathered& gathered = next->second;
  const bool whole = gathered.fresh == ranks_;
  if (gathered.fresh + allowed_ < ranks_ || (!whole && !is_due(gathered, now))) return false;
  wanted_ = gathered.totals;
  const std::uint32_t count = gathered.fresh;
  std::vector<float> values = merged(gathered);
  if (!whole) {
    const float scale = static_cast<float>(ranks_) / static_cast<float>(count);
    for (float& value : values) value *= scale;
  }
  deliver({.sum = made_, .count = count}, std::move(values));
  return true;
}

void CountedLane::deliver(const Header& header, std::vector<float> values) {
  if (header.sum != made_ || header.count + allowed_ < ranks_ || header.count > ranks_) {
    throw Error(ErrorCode::Transport,
                fmt::format("expected sum {} of at least {} contributions, got sum {} of {}", made_,
                            ranks_ - allowed_, header.sum, header.count));
  }
  for (const Seat target : place_.targets) send(target, tag_ + 1, header, values);
  results_[header.sum] = {header.count, std::move(values)};
  made_ = header.sum + 1;
  // What is here of it has come too late.
  while (!gathered_.empty() && gathered_.begin()->first < made_) {
    late_ += gathered_.begin()->second.fresh > 0 ? 1 : 0;
    gathered_.erase(gathered_.begin());
  }
}

bool CountedLane::held() const {
  return results_.size() >= bounds_.most_behind ||
         outgoing_.size() >= std::size_t{bounds_.most_behind} * (1 + place_.targets.size());
}

bool CountedLane::poll(Clock::time_point now) {
  bool happened = false;
  Header header;
  std::span<const float> values;
  for (std::size_t child = 0; child < sums_.size(); ++child) {
    if (!came(*sums_[child], header, values)) continue;
    gather(header.sum, 1 + child, header.count, values);
    post(*sums_[child]);
    happened = true;
  }
  if (result_ && !held() && came(*result_, header, values)) {
    deliver(header, {values.begin(), values.end()});
    post(*result_);
    happened = true;
  }
  if (!place_.parent) {
    happened = decide(now) || happened;
  } else {
    for (auto& [sum, gathered] : gathered_) happened = pass_on(sum, gathered, now) || happened;
  }
  for (const Outgoing& outgoing : outgoing_) {
    if (outgoing.completion.state != Completion::State::Failed) continue;
    throw Error(ErrorCode::Transport, outgoing.completion.error);
  }
  std::erase_if(outgoing_, [](const Outgoing& outgoing) {
    return outgoing.completion.state == Completion::State::Done;
  });
  return happened;
}

CountedLane::Result CountedLane::take(std::uint64_t sum) {
  return std::move(results_.extract(sum).mapped());
}

std::string CountedLane::missing() const {
  const auto next = gathered_.find(made_);
  const std::uint32_t here = next == gathered_.end() ? 0 : next->second.fresh + next->second.passed;
  return fmt::format("{} of {} contributions to sum {} have come here{}", here, place_.below, made_,
                     place_.source
                         ? fmt::format(", and no result from rank {}", index(*place_.source))
                         : std::string());
}

}  // namespace multitree::runtime
