// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Event-driven alpha-beta replay of a schedule with link contention.
#include "algorithms/cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/coalesced.hpp"
#include "algorithms/combined_routes.hpp"
#include "algorithms/cost_links_internal.hpp"
#include "algorithms/cost_servers_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// When each rank's value of a chunk is complete, its first message of it and the whole, and when
/// it was last read (a later write waits).
struct Value {
  Picoseconds first = 0;
  Picoseconds ready = 0;
  Picoseconds read = 0;
};

/// What messages wait for besides links: their sender, and processors that ranks of one host share.
class Processors {
 public:
  Processors(std::uint32_t ranks, const CostModel& model)
      : model_(model),
        overhead_(static_cast<Picoseconds>(model.message_overhead.picoseconds)),
        together_(model.together_percent / 100.0),
        senders_(ranks),
        leaving_(together_ < 1 ? ranks : 0),
        last_begun_(ranks, -1),
        host_of_(ranks, kNone),
        hosts_(model.hosts.size()) {
    for (std::size_t h = 0; h < model.hosts.size(); ++h) {
      for (const Rank rank : model.hosts[h].ranks) {
        if (index(rank) < ranks) host_of_[index(rank)] = h;
      }
    }
  }

  /// When the first and the last message of a transfer leave that could leave at `ready`.
  Times send(const Transfer& t, const Size& size, const Times& ready) {
    Picoseconds& last = last_begun_[index(t.src)];
    const bool is_awake = ready.first <= last;
    const Times sent = send(t, size, ready, is_awake ? Sender::Awake : Sender::Asleep);
    last = std::max(last, sent.first - overhead_);
    return sent;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  enum class Sender : std::uint8_t { Asleep, Awake };

  Times send(const Transfer& t, const Size& size, const Times& ready, Sender sender) {
    if (leaving_.empty()) return send(t, size, ready, sender, 1);
    Picoseconds& last = leaving_[index(t.src)].try_emplace(t.dst, -1).first->second;
    if (ready.first <= last) return send(t, size, ready, Sender::Asleep, together_);
    const Times sent = send(t, size, ready, sender, 1);
    last = sent.first - overhead_;
    return sent;
  }

  /// `part`: of what a message costs.
  Times send(const Transfer& t, const Size& size, Times ready, Sender sender, double part) {
    const Times asked = ready;
    if (overhead_ > 0) {
      Calendar& calendar = senders_[index(t.src)];
      const Picoseconds one = part * overhead_;
      ready.first = calendar.take(ready.first, one);
      ready.last = std::max(ready.last, ready.first);
      if (size.messages > 1) {
        ready.last = std::max(ready.last, calendar.take(ready.first, one * (size.messages - 1)));
      }
    }
    const std::size_t src = host_of_[index(t.src)], dst = host_of_[index(t.dst)];
    // The host works on the message while its sender does, not after that.
    const Picoseconds begin = std::max(asked.first, ready.first - part * overhead_);
    if (src == dst) {
      if (src != kNone) work(src, begin, part * of_host(src, sender), true, size, ready);
      return ready;
    }
    if (src != kNone) work(src, begin, part / 2 * of_host(src, sender), false, size, ready);
    if (dst != kNone) work(dst, begin, part / 2 * of_host(dst, sender), false, size, ready);
    return ready;
  }

  /// Of what a message costs that host.
  [[nodiscard]] double of_host(std::size_t h, Sender sender) const {
    return sender == Sender::Asleep ? 1 : model_.hosts[h].awake_percent / 100.0;
  }

  /// `part`: of a message that is the host's. `within`: both of its ends are here.
  void work(std::size_t h, Picoseconds begin, double part, bool within, const Size& size,
            Times& ready) {
    const SharedHost& host = model_.hosts[h];
    Picoseconds one = part * static_cast<Picoseconds>(host.message.picoseconds);
    if (within && host.bandwidth.bytes_per_second != 0) {
      one += serialisation(size.piece(), host.bandwidth);
    }
    const Picoseconds first = hosts_[h].serve(begin, one);
    ready.first = std::max(ready.first, first);
    ready.last = std::max(ready.last, first);
    if (size.messages > 1) {
      ready.last = std::max(ready.last, hosts_[h].serve(first, one * (size.messages - 1)));
    }
  }

  const CostModel& model_;
  Picoseconds overhead_;
  double together_;
  std::vector<Calendar> senders_;
  std::vector<std::map<Rank, Picoseconds>> leaving_;  ///< by sender: when one to a rank began to
  std::vector<Picoseconds> last_begun_;               ///< by sender: when any began to
  std::vector<std::size_t> host_of_;
  std::vector<Server> hosts_;
};

/// Of each chunk. By its exact share, so that tiny sizes do not round to nothing, unless it gets no
/// element at all: then 0 messages.
std::vector<Size> sizes_of(const Schedule& schedule, std::uint64_t bytes, const CostModel& model) {
  const std::uint64_t grain = std::uint64_t{1} << 40;
  const double whole = static_cast<double>(grain) * static_cast<double>(schedule.ranks);
  std::vector<Size> sizes;
  for (const ElementRange& range : chunk_ranges(schedule, grain * schedule.ranks)) {
    Size size{static_cast<double>(range.count) / whole * static_cast<double>(bytes), 1};
    if (model.segment_bytes > 0) {
      size.messages =
          std::max(1.0, std::ceil(size.bytes / static_cast<double>(model.segment_bytes)));
    }
    sizes.push_back(size);
  }
  if (model.element_bytes == 0 || is_sharded(schedule.collective)) return sizes;
  const std::uint64_t elements = bytes / model.element_bytes;
  if (elements == 0 || elements >= grain) return sizes;
  const std::vector<ElementRange> ranges = chunk_ranges(schedule, elements);
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    if (ranges[c].count == 0) sizes[c].messages = 0;
  }
  return sizes;
}

double longest(const std::vector<Size>& sizes) {
  double bytes = 0;
  for (const Size& size : sizes) bytes = std::max(bytes, size.bytes);
  return bytes;
}

/// The replay: all transfers of a step read the values from before it, so they are timed before any
/// arrives.
class Replay {
 public:
  Replay(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
         const CostModel& model, const Rounds* rounds)
      : schedule_(schedule),
        rounds_(rounds),
        topology_(topology),
        sizes_(sizes_of(schedule, bytes, model)),
        most_(model.segment_bytes == 0 ? schedule.coalesces
                                       : std::min(model.segment_bytes, schedule.coalesces)),
        coalesces_(schedule.coalesces > 0 && !schedule.in_network &&
                   model.message_overhead.picoseconds > 0 && fit_together(longest(sizes_), most_)),
        values_(std::size_t{schedule.ranks} * schedule.chunks.size()),
        arrival_(schedule.transfers.size()),
        links_(topology, model, schedule),
        processors_(schedule.ranks, model) {}

  Picoseconds run() {
    if (coalesces_) return run_by_levels();
    const auto& transfers = schedule_.transfers;
    for (std::size_t first = 0, next = 0; first < transfers.size(); first = next) {
      while (next < transfers.size() && transfers[next].step == transfers[first].step) ++next;
      schedule_.in_network ? send_groups(first, next) : send_each(first, next);
      receive();
    }
    return std::max(end_, links_.most_load());
  }

 private:
  /// The same where messages hold several chunks: those of one level wait for none of each other.
  Picoseconds run_by_levels() {
    const Rounds found = rounds_ == nullptr ? rounds_of(schedule_) : Rounds{};
    const auto& [levels, order] = rounds_ == nullptr ? found : *rounds_;
    std::vector<std::uint32_t> all;
    for (const std::uint32_t i : order) {
      if (size_of(i).messages > 0) all.push_back(i);
    }
    for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
      while (end < all.size() && levels[all[end]] == levels[all[begin]]) ++end;
      send_together(std::span(all).subspan(begin, end - begin));
      receive();
    }
    return std::max(end_, links_.most_load());
  }

  /// What has left arrives.
  void receive() {
    for (const std::size_t i : order_) {
      const Transfer& transfer = schedule_.transfers[i];
      Value& target = value(transfer.dst, transfer.chunk);
      target.first = std::max(target.first, arrival_[i].first);
      target.ready = std::max({target.ready, target.read, arrival_[i].last});
      end_ = std::max(end_, target.ready);
    }
  }

  Value& value(Rank rank, std::uint32_t chunk) {
    return values_[std::size_t{index(rank)} * schedule_.chunks.size() + chunk];
  }
  Value& source(std::size_t i) {
    return value(schedule_.transfers[i].src, schedule_.transfers[i].chunk);
  }
  const Size& size_of(std::size_t i) const { return sizes_[schedule_.transfers[i].chunk]; }
  /// When a transfer could start.
  Picoseconds ready(std::size_t i) {
    return size_of(i).messages > 1 ? source(i).first : source(i).ready;
  }
  /// When its sender has it.
  Times send(std::size_t i) {
    return processors_.send(schedule_.transfers[i], size_of(i), {ready(i), source(i).ready});
  }
  void left(std::size_t i, const Links::Departure& departure) {
    source(i).read = std::max(source(i).read, departure.sent.last);
    arrival_[i] = departure.arrival();
  }

  void send_each(std::size_t first, std::size_t next) {
    starts_.clear();
    order_.clear();
    for (std::size_t i = first; i < next; ++i) {
      if (size_of(i).messages > 0) starts_.emplace_back(ready(i), i);
    }
    if (!std::ranges::is_sorted(starts_)) std::ranges::sort(starts_);
    for (const auto& [start, i] : starts_) {
      order_.push_back(i);
      left(i, links_.depart(schedule_.route(schedule_.transfers[i]), send(i), size_of(i)));
    }
  }

  using Together = std::span<const std::uint32_t>;  ///< transfers of one message

  /// Messages of a level.
  [[nodiscard]] std::vector<Together> messages_of(Together level) const {
    std::vector<Together> messages;
    const auto& all = schedule_.transfers;
    for (std::size_t begin = 0, end = 0; begin < level.size(); begin = end) {
      const Transfer& first = all[level[begin]];
      double bytes = 0;
      do {
        bytes += size_of(level[end++]).bytes;
      } while (end < level.size() && all[level[end]].src == first.src &&
               all[level[end]].dst == first.dst &&
               bytes + size_of(level[end]).bytes <= static_cast<double>(most_));
      messages.push_back(level.subspan(begin, end - begin));
    }
    return messages;
  }

  /// Each chunk has a route of its own; a message leaves when all of it is there, costs its sender
  /// one message, and has come when all of it has.
  void send_together(Together level) {
    std::vector<std::pair<Times, Together>> starts;
    for (const Together message : messages_of(level)) {
      Times start;
      for (const std::uint32_t i : message) {
        start = {std::max(start.first, ready(i)), std::max(start.last, source(i).ready)};
      }
      starts.emplace_back(start, message);
    }
    std::ranges::stable_sort(starts, {}, [](const auto& one) { return one.first.first; });
    order_.clear();
    for (const auto& [start, message] : starts) {
      Size whole = size_of(message.front());
      for (const std::uint32_t i : message.subspan(1)) whole.bytes += size_of(i).bytes;
      const Times sent = processors_.send(schedule_.transfers[message.front()], whole, start);
      Times came;
      for (const std::uint32_t i : message) {
        left(i, links_.depart(schedule_.route(schedule_.transfers[i]), sent, size_of(i)));
        came = {std::max(came.first, arrival_[i].first), std::max(came.last, arrival_[i].last)};
      }
      for (const std::uint32_t i : message) arrival_[i] = came;
      order_.insert(order_.end(), message.begin(), message.end());
    }
  }

  /// Where switches add and copy: what is one message is sent together.
  void send_groups(std::size_t first, std::size_t next) {
    std::vector<MessageGroup> groups = message_groups(schedule_, first, next);
    std::erase_if(groups, [&](const MessageGroup& group) {
      return size_of(group.transfers.front()).messages == 0;
    });
    std::ranges::stable_sort(groups, {}, [&](const MessageGroup& group) {
      Picoseconds last = 0;
      for (const std::size_t i : group.transfers) last = std::max(last, ready(i));
      return last;
    });
    order_.clear();
    for (const MessageGroup& group : groups) {
      order_.insert(order_.end(), group.transfers.begin(), group.transfers.end());
      const CombinedRoutes routes = group.routes(schedule_, topology_);
      const Size& size = size_of(group.transfers.front());
      if (group.op == Op::Copy) {
        const Times sent = send(group.transfers.front());
        const auto departures = links_.depart(routes, group.transfers.size(), sent, size);
        for (std::size_t k = 0; k < departures.size(); ++k) left(group.transfers[k], departures[k]);
      } else {
        std::vector<Times> sent;
        for (const std::size_t i : group.transfers) sent.push_back(send(i));
        const Links::Departure departure = links_.depart_together(routes, sent, size);
        for (const std::size_t i : group.transfers) left(i, departure);
      }
    }
  }

  const Schedule& schedule_;
  const Rounds* rounds_;  ///< null: to be found
  const Topology& topology_;
  std::vector<Size> sizes_;
  std::uint64_t most_;  ///< bytes of a message of several chunks
  bool coalesces_;      ///< and a message costs its sender something
  std::vector<Value> values_;
  std::vector<Times> arrival_;                               // by transfer
  std::vector<std::size_t> order_;                           // of the transfers of a step
  std::vector<std::pair<Picoseconds, std::size_t>> starts_;  // of the same, where each is a message
  Links links_;
  Processors processors_;
  Picoseconds end_ = 0;
};

}  // namespace

Time to_time(Picoseconds end, std::uint64_t bytes, std::string_view of) {
  if (end >= static_cast<double>(std::numeric_limits<decltype(Time::picoseconds)>::max())) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}{}expected a time for {} bytes of at most 106 days, got {:.0f} days",
                            of, of.empty() ? "" : ": ", bytes, end / 1e12 / 86400));
  }
  return {static_cast<decltype(Time::picoseconds)>(end)};
}

Time predict_time(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                  const CostModel& model, const Rounds* rounds) {
  return to_time(Replay(schedule, topology, bytes, model, rounds).run(), bytes, topology.name());
}

}  // namespace multitree
