// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ping-pong between neighbours.
#include "tools/run/links.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "runtime/messages/transport.hpp"
#include "tools/command.hpp"
#include "topologies/error.hpp"

namespace multitree::tools {
namespace {

using runtime::Completion;
using runtime::Seat;
using Clock = std::chrono::steady_clock;

constexpr int kSmallRounds = 30, kLargeRounds = 5;
constexpr std::size_t kSmallBytes = 8;
constexpr std::chrono::milliseconds kNap{1};

using Pair = runtime::LinkBetween<Rank>;
using Rounds = std::vector<std::vector<Pair>>;

std::vector<LinkCheck> neighbours_of(const Topology& network) {
  std::map<std::pair<Rank, Rank>, LinkCheck> found;
  for (const Link& link : network.links()) {
    const auto src = network.node(link.src).rank, dst = network.node(link.dst).rank;
    if (!src || !dst) continue;
    LinkCheck& check = found[{*src, *dst}];
    check.src = *src;
    check.dst = *dst;
    check.said_alpha = std::max(check.said_alpha, link.latency.seconds());
    const auto rate = static_cast<double>(link.bandwidth.bytes_per_second);
    check.said_beta = check.said_beta == 0 ? 1 / rate : 1 / (1 / check.said_beta + rate);
  }
  std::vector<LinkCheck> all;
  for (const auto& [ends, check] : found) all.push_back(check);
  return all;
}

/// Pairs of neighbours, such that no rank is in two pairs of a round.
Rounds rounds_of(const std::vector<LinkCheck>& links) {
  std::set<Pair> pairs;
  for (const LinkCheck& link : links) pairs.insert(runtime::link_between(link.src, link.dst));
  Rounds rounds;
  std::vector<std::set<Rank>> busy;
  for (const Pair& pair : pairs) {
    std::size_t r = 0;
    while (r < rounds.size() && (busy[r].contains(pair.a) || busy[r].contains(pair.b))) ++r;
    if (r == rounds.size()) {
      rounds.emplace_back();
      busy.emplace_back();
    }
    rounds[r].push_back(pair);
    busy[r].insert({pair.a, pair.b});
  }
  return rounds;
}

/// Measured from one rank to another.
struct Sample {
  Rank src, dst;
  double alpha, beta;
};

/// One rank's measurements over one transport.
class Prober {
 public:
  Prober(runtime::Bootstrap& job, const runtime::CommunicatorOptions& options,
         std::vector<Seat> peers)
      : job_(job),
        timeout_(options.timeout),
        buffer_(kLinkBytes),
        transport_(runtime::make_transport(
            options.transport, job,
            {std::move(peers), timeout_, runtime::link_timeout(options.link_timeout),
             runtime::on_link_failure(options.on_link_failure),
             runtime::encrypts(options.encrypt)})) {}

  /// To `peer` if this rank measures, else back to it.
  Sample exchange(Seat peer, bool measures) {
    const double small = shortest(peer, measures, kSmallBytes, kSmallRounds) / 2;
    const double large = shortest(peer, measures, kLinkBytes, kLargeRounds) - small;
    const double beta = std::max(large - small, 0.0) / static_cast<double>(kLinkBytes);
    return {rank_at(job_.seat()), rank_at(peer), small, beta};
  }

  void finish() {
    transport_->drain(timeout_);
    job_.barrier(timeout_);
  }

 private:
  /// Seconds from sending so many bytes to an answer of few.
  double shortest(Seat peer, bool measures, std::size_t bytes, int rounds) {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < rounds; ++i) {
      const auto start = Clock::now();
      if (measures) move(peer, true, bytes);
      move(peer, false, measures ? kSmallBytes : bytes);
      if (!measures) move(peer, true, kSmallBytes);
      least = std::min(least, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return least;
  }

  void move(Seat peer, bool send, std::size_t bytes) {
    Completion done;
    if (send) {
      transport_->send(peer, ++sent_[peer], buffer_.data(), bytes, done);
    } else {
      transport_->receive(peer, ++received_[peer], buffer_.data(), bytes, done);
    }
    const auto until = Clock::now() + timeout_;
    while (done.state == Completion::State::Pending) {
      if (transport_->progress()) continue;
      check(peer, until);
      if (!transport_->sleep(kNap)) ::sched_yield();
    }
    if (done.state == Completion::State::Failed) throw Error(ErrorCode::Transport, done.error);
  }

  void check(Seat peer, Clock::time_point until) {
    if (const auto silent = transport_->silent_links()) {
      job_.report_dead_links(silent->peers, silent->left, words_of(*silent, job_.seat()));
      throw Error(ErrorCode::Transport, words_of(*silent, job_.seat()));
    }
    if (const auto failure = job_.failure()) throw Error(ErrorCode::Transport, *failure);
    if (Clock::now() < until) return;
    throw Error(ErrorCode::Timeout, fmt::format("rank {}: nothing from rank {} for {} ms",
                                                job_.seat(), peer, timeout_.count()));
  }

  runtime::Bootstrap& job_;
  runtime::Deadline timeout_;
  std::vector<std::byte> buffer_;
  std::map<Seat, std::uint64_t> sent_, received_;
  std::unique_ptr<runtime::Transport> transport_;  // first to go: nothing touches the buffer then
};

/// Where the ranks of the network sit now.
using Numbers = std::map<Rank, Seat>;

void probe(runtime::Bootstrap& job, const runtime::CommunicatorOptions& options,
           const Rounds& rounds, const Numbers& now, const std::set<Pair>& dead,
           std::vector<Sample>& samples) {
  const auto is_up = [&](const Pair& pair) {
    return now.contains(pair.a) && now.contains(pair.b) && !dead.contains(pair);
  };
  std::vector<Seat> peers;
  for (const auto& round : rounds) {
    for (const Pair& pair : round) {
      if (!is_up(pair)) continue;
      if (now.at(pair.a) == job.seat()) peers.push_back(now.at(pair.b));
      if (now.at(pair.b) == job.seat()) peers.push_back(now.at(pair.a));
    }
  }
  std::ranges::sort(peers);
  Prober prober(job, options, peers);
  samples.clear();
  for (const auto& round : rounds) {
    for (const Pair& pair : round) {
      if (!is_up(pair)) continue;
      const Seat a = now.at(pair.a), b = now.at(pair.b);
      if (job.seat() != a && job.seat() != b) continue;
      const bool first = job.seat() == a;
      Sample sample{};
      for (const bool there : {true, false}) {
        const Sample one = prober.exchange(first ? b : a, there == first);
        if (there == first) sample = one;
      }
      samples.push_back(
          {first ? pair.a : pair.b, first ? pair.b : pair.a, sample.alpha, sample.beta});
    }
    prober.finish();
  }
}

std::vector<Sample> gather(runtime::Bootstrap& job, const std::vector<Sample>& mine,
                           runtime::Deadline deadline) {
  std::vector<Sample> all;
  const std::string blob(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(Sample));
  for (const std::string& other : job.all_gather(blob, deadline)) {
    const std::size_t begin = all.size();
    all.resize(begin + other.size() / sizeof(Sample));
    if (all.size() > begin) {
      std::memcpy(&all[begin], other.data(), (all.size() - begin) * sizeof(Sample));
    }
  }
  return all;
}

}  // namespace

double LinkCheck::slower() const {
  const auto bytes = static_cast<double>(kLinkBytes);
  return (alpha + bytes * beta) / (said_alpha + bytes * said_beta);
}

std::vector<LinkCheck> check_links(std::shared_ptr<runtime::Bootstrap>& job,
                                   const Topology& network,
                                   const runtime::CommunicatorOptions& options) {
  std::vector<LinkCheck> links = neighbours_of(network);
  if (links.empty()) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: no two ranks are neighbours: links to switches cannot be told "
                            "from each other by their ends",
                            network.name()));
  }
  const Rounds rounds = rounds_of(links);
  std::vector<Rank> members;  // by seat
  for (const Seat seat : runtime::Seats(job->size())) members.push_back(rank_at(seat));
  std::set<Pair> dead;
  std::vector<Sample> samples;
  while (true) {
    Numbers now;
    for (const Seat seat : runtime::Seats(job->size())) now[members[index(seat)]] = seat;
    try {
      probe(*job, options, rounds, now, dead, samples);
      samples = gather(*job, samples, options.timeout);
      break;
    } catch (const Error&) {
      if (!job->dead_link()) throw;
      runtime::Shrunk shrunk = job->shrink(options.timeout);
      job = std::move(shrunk.job);
      std::vector<Rank> left;
      for (const Seat seat : shrunk.survivors) left.push_back(members[index(seat)]);
      members = std::move(left);
      for (const auto& [a, b] : shrunk.dead_links) {
        dead.insert({members[index(a)], members[index(b)]});
      }
    }
  }
  for (const Sample& sample : samples) {
    for (LinkCheck& link : links) {
      if (link.src != sample.src || link.dst != sample.dst) continue;
      link.works = true;
      link.alpha = sample.alpha;
      link.beta = sample.beta;
    }
  }
  return links;
}

std::string links_table(const std::vector<LinkCheck>& links, const Topology& network,
                        double factor) {
  std::vector<std::vector<std::string>> rows{
      {"link", "alpha (us)", "declared", "beta (ns/B)", "declared", "slower"}};
  std::string notes;
  for (const LinkCheck& link : links) {
    const std::string name = fmt::format("{}>{}", link.src, link.dst);
    const auto show = [&](double value) {
      return link.works ? fmt::format("{:.3f}", value) : std::string("-");
    };
    rows.push_back({name, show(link.alpha * 1e6), fmt::format("{:.3f}", link.said_alpha * 1e6),
                    show(link.beta * 1e9), fmt::format("{:.3f}", link.said_beta * 1e9),
                    show(link.slower())});
    if (!link.works) {
      notes += fmt::format("# link {} does not work\n", name);
    } else if (link.slower() > factor) {
      notes += fmt::format("# link {} is {:.1f} times slower than declared\n", name, link.slower());
    }
  }
  return fmt::format(
      "# {} links of {}, messages of {} and {} bytes\n{}{}", links.size(), network.name(),
      kSmallBytes, kLinkBytes, format_table(rows),
      notes.empty() ? fmt::format("# all within {:g} times of what is declared\n", factor) : notes);
}

int report_links(std::shared_ptr<runtime::Bootstrap> job, const Topology& network,
                 const runtime::CommunicatorOptions& options, double factor) {
  const auto links = check_links(job, network, options);
  if (job->seat() == Seat{0}) print(links_table(links, network, factor));
  const auto is_good = [&](const LinkCheck& l) { return l.works && l.slower() <= factor; };
  return std::ranges::all_of(links, is_good) ? kOk : kNegativeAnswer;
}

}  // namespace multitree::tools
