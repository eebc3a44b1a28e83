// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages of a round: posted, awaited, and when each came.
#include "runtime/measure/rounds_internal.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <cstring>

#include "runtime/execution/recorder.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::measuring {
namespace {

/// The longest sleep, and the time between two looks for failures of who waits.
constexpr std::chrono::milliseconds kSleep{1};
constexpr std::chrono::nanoseconds kFailurePeriod{1'000'000};
constexpr std::uint64_t kMeasured = 0, kReady = 1;  // tags

}  // namespace

/// One message that is under way.
struct Rounds::Message {
  Seat peer{};  ///< of a message to be received
  Completion completion;
  std::vector<std::byte> data;
  std::int64_t done_at = 0;
};

Rounds::Rounds(Bootstrap& job, const Topology& topology, const MeasureOptions& options)
    : job_(job), timeout_(options.timeout) {
  for (const MeasuredPair& pair : pairs_to_measure(topology)) {
    if (seat_of(pair.src) == job.seat()) all_.targets.push_back(seat_of(pair.dst));
    if (seat_of(pair.dst) == job.seat()) all_.sources.push_back(seat_of(pair.src));
  }
  for (const MeasuredPair& pair : pairs_in_turn(topology)) {
    if (seat_of(pair.src) == job.seat()) in_turn_.targets.push_back(seat_of(pair.dst));
    if (seat_of(pair.dst) == job.seat()) in_turn_.sources.push_back(seat_of(pair.src));
  }
  Neighbours peers = all_;
  for (const Reach& reach : reaches_to_measure(topology)) {
    for (const Rank other : {reach.near, reach.far}) {
      if (seat_of(reach.from) == job.seat()) peers.targets.push_back(seat_of(other));
      if (seat_of(other) == job.seat()) peers.sources.push_back(seat_of(reach.from));
    }
  }
  transport_ =
      make_transport(options.transport, job,
                     {peers.all(), options.timeout, link_timeout(options.link_timeout),
                      on_link_failure(options.on_link_failure), encrypts(options.encrypt)});
}

std::vector<Span> Rounds::round(const Neighbours& who, const Kind& kind) {
  const std::size_t sources = who.sources.size();
  const std::vector<Seat> peers = who.all();
  std::vector<std::vector<Message>> incoming(kind.steps), outgoing(kind.steps);
  std::vector<Message> ready(peers.size()), go(peers.size());
  try {
    // Both ends of each first say that they are ready and wait: a rank that came late would note
    // the arrival of messages late.
    for (std::vector<Message>& step : incoming) {
      step.resize(sources * kind.count);
      receive(who.sources, step, kMeasured, kind.bytes);
    }
    receive(peers, ready, kReady, kSmallBytes);
    job_.barrier(timeout_);
    send(peers, go, kReady, {1, kSmallBytes});
    await(ready, go, &incoming.front());
    for (std::uint32_t step = 0; step < kind.steps; ++step) {
      outgoing[step].resize(who.targets.size() * kind.count);
      send(who.targets, outgoing[step], kMeasured, kind);
      await(incoming[step], outgoing[step], nullptr);
    }
  } catch (const Error&) {
    transport_->abort();  // while there are still messages that it may touch
    throw;
  }
  std::vector<Span> spans(sources);
  for (const std::vector<Message>& step : incoming) {
    for (std::size_t i = 0; i < step.size(); ++i) {
      std::int64_t sent = 0;
      std::memcpy(&sent, step[i].data.data(), sizeof sent);
      spans[i % sources].add({sent, step[i].done_at});
    }
  }
  for (std::size_t s = 0; kind.count > 1 && s < sources; ++s) {
    spans[s].second = incoming.front()[sources + s].done_at;
  }
  return spans;
}

void Rounds::watch(std::chrono::nanoseconds time) {
  job_.barrier(timeout_);
  for (const std::int64_t end = Recorder::now() + time.count(); Recorder::now() < end;) {
    if (!transport_->progress()) rest();
  }
}

void Rounds::rest() {
  if (!transport_->sleep(kSleep)) ::sched_yield();
}

void Rounds::close() {
  transport_->drain(timeout_);
  job_.barrier(timeout_);  // Nobody closes while a peer may still need this end.
}

void Rounds::receive(const std::vector<Seat>& from, std::vector<Message>& messages,
                     std::uint64_t tag, std::size_t bytes) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].data.resize(bytes);
    messages[i].peer = from[i % from.size()];
    transport_->receive(messages[i].peer, tag, messages[i].data.data(), bytes,
                        messages[i].completion);
  }
}

void Rounds::send(const std::vector<Seat>& to, std::vector<Message>& messages, std::uint64_t tag,
                  const Kind& kind) {
  for (Message& message : messages) message.data.resize(kind.bytes);
  const std::int64_t begin = Recorder::now();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    std::memcpy(messages[i].data.data(), &begin, sizeof begin);
    transport_->send(to[i % to.size()], tag, messages[i].data.data(), kind.bytes,
                     messages[i].completion);
    // Else each leaves by itself: what is posted at once may leave together.
    if (!kind.together) transport_->progress();
  }
}

void Rounds::await(std::vector<Message>& incoming, std::vector<Message>& outgoing,
                   std::vector<Message>* others) {
  std::int64_t moved_at = Recorder::now(), looked_at = moved_at;
  for (;;) {
    const bool moved = transport_->progress();
    const std::int64_t now = Recorder::now();
    if (others != nullptr) all_done(*others, now);
    const bool received = all_done(incoming, now);
    if (all_done(outgoing, now) && received) return;
    if (moved) {
      moved_at = now;
      continue;
    }
    if (now - looked_at > kFailurePeriod.count()) {
      looked_at = now;
      if (const auto failure = job_.failure()) {
        throw Error(ErrorCode::Transport, fmt::format("rank {}: {}", job_.seat(), *failure));
      }
      check_links();
      if (std::chrono::nanoseconds(now - moved_at) > timeout_) time_out(incoming);
    }
    rest();
  }
}

void Rounds::check_links() const {
  const auto silent = transport_->silent_links();
  if (!silent) return;
  const std::string why = "measuring links: " + words_of(*silent, job_.seat());
  job_.report_dead_links(silent->peers, silent->left, why);
  throw LinkError(link_between(job_.seat(), silent->peers.front()),
                  fmt::format("rank {}: {}", job_.seat(), why));
}

bool Rounds::all_done(std::vector<Message>& messages, std::int64_t now) const {
  bool all = true;
  for (Message& message : messages) {
    if (message.completion.state == Completion::State::Failed) {
      throw Error(ErrorCode::Transport, fmt::format("rank {}: {} while measuring links",
                                                    job_.seat(), message.completion.error));
    }
    const bool done = message.completion.state == Completion::State::Done;
    if (done && message.done_at == 0) message.done_at = now;
    all &= done;
  }
  return all;
}

void Rounds::time_out(const std::vector<Message>& incoming) const {
  for (std::size_t i = 0; i < incoming.size(); ++i) {
    if (incoming[i].done_at != 0) continue;
    throw Error(ErrorCode::Timeout,
                fmt::format("rank {}: measuring links: no message from rank {} within {} ms",
                            job_.seat(), incoming[i].peer, timeout_.count()));
  }
  throw Error(ErrorCode::Timeout,
              fmt::format("rank {}: measuring links: messages were not sent within {} ms",
                          job_.seat(), timeout_.count()));
}

}  // namespace multitree::runtime::measuring
