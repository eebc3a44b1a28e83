// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rounds of messages between all neighbours at once.
#include "runtime/link_measurement.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "runtime/clock_offsets.hpp"
#include "runtime/recorder.hpp"
#include "runtime/transport.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

constexpr std::int64_t kLeastRounds = 3, kMostRounds = 25;  // of each kind
/// Polls without success before the processor is offered to others, and between two looks for
/// failures.
constexpr int kSpins = 16, kPatience = 200;

/// One message that is under way.
struct Message {
  Completion completion;
  std::vector<std::byte> data;
  std::int64_t done_at = 0;
};

/// One rank's part.
class Exchange {
 public:
  Exchange(Bootstrap& job, const Topology& topology, const MeasureOptions& options)
      : job_(job), timeout_(options.timeout) {
    for (const MeasuredPair& pair : pairs_to_measure(topology)) {
      if (pair.src == job.rank()) targets_.push_back(pair.dst);
      if (pair.dst == job.rank()) sources_.push_back(pair.src);
    }
    std::vector<std::uint32_t> peers = targets_;
    peers.insert(peers.end(), sources_.begin(), sources_.end());
    std::ranges::sort(peers);
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    transport_ = make_transport(options.transport, job, {peers, options.timeout});
  }

  [[nodiscard]] const std::vector<std::uint32_t>& sources() const { return sources_; }

  /// `count` messages to each neighbour and from each, at the same time. \returns by source, ns
  /// from the first send of its rank (on that rank's clock) to the last arrival here
  std::vector<std::int64_t> round(std::uint32_t count, std::size_t bytes) {
    std::vector<Message> incoming(sources_.size() * count), outgoing(targets_.size() * count);
    std::vector<Message> ready(sources_.size()), go(targets_.size());
    try {
      // Neighbours are there, and look, when messages come: late ranks would note them late.
      receive(incoming, kMeasured, bytes);
      receive(ready, kReady, kSmallBytes);
      job_.barrier(timeout_);
      send(go, kReady, kSmallBytes);
      await(ready, go, &incoming);
      send(outgoing, kMeasured, bytes);
      await(incoming, outgoing, nullptr);
    } catch (const Error&) {
      transport_->abort();  // while there are still messages that it may touch
      throw;
    }
    std::vector<std::int64_t> times(sources_.size(), 0);
    for (std::size_t i = 0; i < incoming.size(); ++i) {
      std::int64_t sent = 0;
      std::memcpy(&sent, incoming[i].data.data(), sizeof sent);
      auto& time = times[i % sources_.size()];
      time = std::max(time, incoming[i].done_at - sent);
    }
    return times;
  }

  void close() {
    transport_->drain(timeout_);
    job_.barrier(timeout_);  // Nobody closes while a peer may still need this end.
  }

 private:
  static constexpr std::uint64_t kMeasured = 0, kReady = 1;  // tags

  void receive(std::vector<Message>& messages, std::uint64_t tag, std::size_t bytes) {
    for (std::size_t i = 0; i < messages.size(); ++i) {
      messages[i].data.resize(bytes);
      transport_->receive(sources_[i % sources_.size()], tag, messages[i].data.data(), bytes,
                          messages[i].completion);
    }
  }

  /// They carry when the first of them is sent.
  void send(std::vector<Message>& messages, std::uint64_t tag, std::size_t bytes) {
    for (Message& message : messages) message.data.resize(bytes);
    const std::int64_t begin = Recorder::now();
    for (std::size_t i = 0; i < messages.size(); ++i) {
      std::memcpy(messages[i].data.data(), &begin, sizeof begin);
      transport_->send(targets_[i % targets_.size()], tag, messages[i].data.data(), bytes,
                       messages[i].completion);
    }
  }

  /// Progresses until all are done, and notes when; also of `others` that come meanwhile.
  void await(std::vector<Message>& incoming, std::vector<Message>& outgoing,
             std::vector<Message>* others) {
    std::int64_t moved_at = Recorder::now();
    for (int idle = 0;; ++idle) {
      if (transport_->progress()) idle = 0;
      const std::int64_t now = Recorder::now();
      if (others != nullptr) all_done(*others, now);
      const bool received = all_done(incoming, now);
      if (all_done(outgoing, now) && received) return;
      if (idle == 0) moved_at = now;
      if (idle > kSpins) ::sched_yield();
      if (idle % kPatience != kPatience - 1) continue;
      if (const auto failure = job_.failure()) {
        throw Error(ErrorCode::Transport, fmt::format("rank {}: {}", job_.rank(), *failure));
      }
      if (std::chrono::nanoseconds(now - moved_at) > timeout_) time_out(incoming);
    }
  }

  bool all_done(std::vector<Message>& messages, std::int64_t now) const {
    bool all = true;
    for (Message& message : messages) {
      if (message.completion.state == Completion::State::Failed) {
        throw Error(ErrorCode::Transport, fmt::format("rank {}: {} while measuring links",
                                                      job_.rank(), message.completion.error));
      }
      const bool done = message.completion.state == Completion::State::Done;
      if (done && message.done_at == 0) message.done_at = now;
      all &= done;
    }
    return all;
  }

  [[noreturn]] void time_out(const std::vector<Message>& incoming) const {
    for (std::size_t i = 0; i < incoming.size(); ++i) {
      if (incoming[i].done_at != 0) continue;
      throw Error(ErrorCode::Timeout,
                  fmt::format("rank {}: measuring links: no message from rank {} within {} ms",
                              job_.rank(), sources_[i % sources_.size()], timeout_.count()));
    }
    throw Error(ErrorCode::Timeout,
                fmt::format("rank {}: measuring links: messages were not sent within {} ms",
                            job_.rank(), timeout_.count()));
  }

  Bootstrap& job_;
  Deadline timeout_;
  std::vector<std::uint32_t> targets_, sources_;
  std::unique_ptr<Transport> transport_;
};

std::int64_t median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The kinds of a round: what is sent to each neighbour.
struct Kind {
  std::uint32_t count;
  std::size_t bytes;
};
constexpr Kind kKinds[] = {
    {1, kSmallBytes}, {kBurst, kSmallBytes}, {1, kLargeBytes}, {2, kLargeBytes}};

using ByKind = std::array<std::int64_t, std::size(kKinds)>;

/// Rounds of each kind for all ranks, so that each takes about its part of the budget. `round_ns`:
/// what one took here.
ByKind rounds_for(Bootstrap& job, const ByKind& round_ns, const MeasureOptions& options) {
  ByKind longest{};
  const std::string blob(reinterpret_cast<const char*>(round_ns.data()), sizeof round_ns);
  for (const std::string& other : job.all_gather(blob, options.timeout)) {
    ByKind theirs{};
    std::memcpy(theirs.data(), other.data(), std::min(other.size(), sizeof theirs));
    for (std::size_t k = 0; k < longest.size(); ++k) longest[k] = std::max(longest[k], theirs[k]);
  }
  const std::int64_t budget =
      std::chrono::nanoseconds(options.budget).count() / static_cast<std::int64_t>(longest.size());
  ByKind rounds{};
  for (std::size_t k = 0; k < rounds.size(); ++k) {
    rounds[k] =
        std::clamp(budget / std::max<std::int64_t>(longest[k], 1), kLeastRounds, kMostRounds);
  }
  return rounds;
}

std::vector<PairTimes> measure(Exchange& exchange, Bootstrap& job, const MeasureOptions& options) {
  // The first of each kind connects, the second shows how long one takes.
  for (const Kind& kind : kKinds) exchange.round(kind.count, kind.bytes);
  ByKind round_ns{};
  for (std::size_t k = 0; k < std::size(kKinds); ++k) {
    const std::int64_t begin = Recorder::now();
    exchange.round(kKinds[k].count, kKinds[k].bytes);
    round_ns[k] = Recorder::now() - begin;
  }
  const ByKind rounds = rounds_for(job, round_ns, options);
  const std::size_t sources = exchange.sources().size();
  std::vector<std::vector<std::int64_t>> times[std::size(kKinds)];
  for (std::size_t k = 0; k < std::size(kKinds); ++k) {
    times[k].resize(sources);
    for (std::int64_t i = 0; i < rounds[k]; ++i) {
      const auto round = exchange.round(kKinds[k].count, kKinds[k].bytes);
      for (std::size_t s = 0; s < sources; ++s) times[k][s].push_back(round[s]);
    }
  }
  std::vector<PairTimes> result;
  for (std::size_t s = 0; s < sources; ++s) {
    result.push_back({{exchange.sources()[s], job.rank()},
                      median(times[0][s]),
                      median(times[1][s]),
                      median(times[2][s]),
                      median(times[3][s])});
  }
  return result;
}

/// What all ranks have measured, on one clock, in the order of the pairs.
std::vector<PairTimes> gather(const std::vector<PairTimes>& mine, Bootstrap& job,
                              const std::vector<ClockOffset>& offsets, Deadline timeout) {
  std::vector<PairTimes> all;
  const std::string blob(reinterpret_cast<const char*>(mine.data()),
                         mine.size() * sizeof(PairTimes));
  for (const std::string& other : job.all_gather(blob, timeout)) {
    for (std::size_t at = 0; at + sizeof(PairTimes) <= other.size(); at += sizeof(PairTimes)) {
      PairTimes times;
      std::memcpy(&times, other.data() + at, sizeof times);
      const std::int64_t ahead = offsets[times.pair.dst].ns - offsets[times.pair.src].ns;
      times.small -= ahead;
      times.burst -= ahead;
      times.large -= ahead;
      times.two -= ahead;
      all.push_back(times);
    }
  }
  std::ranges::sort(all, {}, &PairTimes::pair);
  return all;
}

}  // namespace

LinkTable measure_links(Bootstrap& bootstrap, const Topology& topology,
                        const MeasureOptions& options) {
  if (bootstrap.size() != topology.num_ranks()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("measuring links of {}: expected {} ranks, got {}", topology.name(),
                            topology.num_ranks(), bootstrap.size()));
  }
  if (bootstrap.size() == 1) return table_of(topology, {});
  const auto offsets = clock_offsets(bootstrap, options.timeout);
  Exchange exchange(bootstrap, topology, options);
  try {
    const std::vector<PairTimes> mine = measure(exchange, bootstrap, options);
    exchange.close();
    return table_of(topology, gather(mine, bootstrap, offsets, options.timeout));
  } catch (const Error& error) {
    bootstrap.report_failure(error.what());
    throw;
  }
}

}  // namespace multitree::runtime
