// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Event-driven alpha-beta replay of a schedule with link contention.
#include "algorithms/cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <ranges>
#include <utility>
#include <vector>

#include "topologies/error.hpp"

namespace multitree {
namespace {

/// Whole numbers: exact up to 2.5 hours, and without overflow beyond.
using Picoseconds = double;

/// Time of `bytes` over `bandwidth`, rounded.
Picoseconds serialisation(double bytes, Bandwidth bandwidth) {
  return std::round(bytes * 1e12 / static_cast<double>(bandwidth.bytes_per_second));
}

/// When each rank's value of a chunk is complete, its first message of it and the whole, and when
/// it was last read (a later write waits).
struct Value {
  Picoseconds first = 0;
  Picoseconds ready = 0;
  Picoseconds read = 0;
};

/// When something can be sent, or has been: its first message and its last.
struct Times {
  Picoseconds first = 0;
  Picoseconds last = 0;
};

/// Bytes of one transfer, and how many messages they are.
struct Size {
  double bytes = 0;
  double messages = 1;
  [[nodiscard]] double piece() const { return bytes / messages; }
};

/// What links have to carry. Each starts once it is free and the link before it has started, and is
/// done once it has sent all and the link before it is done; what it may send at once has been
/// sent so much earlier.
class Links {
 public:
  Links(const Topology& topology, const CostModel& model)
      : topology_(topology),
        burst_(static_cast<double>(model.burst_bytes)),
        pipes_(pipes_of(topology, model.pooled)),
        busy_until_(topology.num_links(), 0),
        load_(burst_ > 0 ? topology.num_links() : 0, 0) {}

  struct Departure {
    Times sent;
    Picoseconds latency = 0;
  };

  /// Sends along a route, the first message and the last no earlier than `ready`.
  Departure depart(std::span<const LinkId> route, const Times& ready, const Size& size) {
    Picoseconds start = ready.first, slowest = 0;
    Departure departure{ready, 0};
    for (const LinkId id : route) {
      const auto& [pipe, bandwidth] = pipes_[index(id)];
      const Picoseconds whole = serialisation(size.bytes, bandwidth);
      const Picoseconds piece = size.messages > 1 ? serialisation(size.piece(), bandwidth) : whole;
      const Picoseconds at_once = burst_ > 0 ? serialisation(burst_, bandwidth) : 0;
      Picoseconds& busy = busy_until_[pipe];
      const Picoseconds begin = std::max(start, busy);
      busy = begin + whole;
      start = std::max(start, begin - at_once);
      departure.sent.first = std::max({departure.sent.first, start, begin + piece - at_once});
      departure.sent.last = std::max({departure.sent.last, start, busy - at_once});
      departure.latency += static_cast<Picoseconds>(topology_.link(id).latency.picoseconds);
      slowest = std::max(slowest, piece - at_once);
      if (burst_ > 0) load_[pipe] += whole;
    }
    if (size.messages > 1) {
      departure.sent.last = std::max(departure.sent.last, ready.last + slowest);
    }
    return departure;
  }

  /// What the busiest takes for all that it carries; 0 without bursts, which alone could hide it.
  [[nodiscard]] Picoseconds most_load() const {
    return load_.empty() ? 0 : *std::ranges::max_element(load_);
  }

 private:
  /// What carries a link's bytes: itself, or the first of its parallel ones for all of them.
  struct Pipe {
    std::size_t link = 0;
    Bandwidth bandwidth{};
  };

  static std::vector<Pipe> pipes_of(const Topology& topology, bool pooled) {
    std::vector<Pipe> pipes(topology.num_links());
    std::map<std::pair<NodeId, NodeId>, std::size_t> first;
    for (std::size_t i = 0; i < pipes.size(); ++i) {
      const Link& link = topology.links()[i];
      pipes[i] = {i, link.bandwidth};
      if (!pooled) continue;
      pipes[i].link = first.try_emplace({link.src, link.dst}, i).first->second;
      if (pipes[i].link != i) {
        pipes[pipes[i].link].bandwidth.bytes_per_second += link.bandwidth.bytes_per_second;
      }
    }
    for (Pipe& pipe : pipes) pipe.bandwidth = pipes[pipe.link].bandwidth;
    return pipes;
  }

  const Topology& topology_;
  double burst_;
  std::vector<Pipe> pipes_;
  std::vector<Picoseconds> busy_until_, load_;
};

/// One piece of work after the other. Work that is asked for later, and could have been done in a
/// gap before, takes the time of the gap.
class Server {
 public:
  /// \returns when it is done
  Picoseconds serve(Picoseconds ready, Picoseconds work) {
    if (ready >= free_) {
      gaps_ += ready - free_;
      free_ = ready + work;
      return free_;
    }
    const Picoseconds found = std::min({gaps_, work, free_ - ready});
    gaps_ -= found;
    free_ += work - found;
    return found < work ? free_ : ready + work;
  }

 private:
  Picoseconds free_ = 0, gaps_ = 0;
};

/// What messages wait for besides links: their sender, and processors that ranks of one host share.
class Processors {
 public:
  Processors(std::uint32_t ranks, const CostModel& model)
      : model_(model),
        overhead_(static_cast<Picoseconds>(model.message_overhead.picoseconds)),
        sender_free_(ranks, 0),
        host_of_(ranks, kNone),
        hosts_(model.hosts.size()) {
    for (std::size_t h = 0; h < model.hosts.size(); ++h) {
      for (const Rank rank : model.hosts[h].ranks) {
        if (index(rank) < ranks) host_of_[index(rank)] = h;
      }
    }
  }

  /// When the first and the last message of a transfer leave that could leave at `ready`.
  Times send(const Transfer& t, const Size& size, Times ready) {
    const Times asked = ready;
    if (overhead_ > 0) {
      Picoseconds& free = sender_free_[index(t.src)];
      const Picoseconds begin = std::max(ready.first, free);
      free = begin + overhead_ * size.messages;
      ready.first = begin + overhead_;
      ready.last = std::max(ready.last, free);
    }
    const std::size_t src = host_of_[index(t.src)], dst = host_of_[index(t.dst)];
    // The host works on the message while its sender does, not after that.
    const Picoseconds begin = std::max(asked.first, ready.first - overhead_);
    if (src == dst) {
      if (src != kNone) work(src, begin, 1, size, ready);
      return ready;
    }
    if (src != kNone) work(src, begin, 0.5, size, ready);
    if (dst != kNone) work(dst, begin, 0.5, size, ready);
    return ready;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  /// `part`: of a message that is the host's.
  void work(std::size_t h, Picoseconds begin, double part, const Size& size, Times& ready) {
    const SharedHost& host = model_.hosts[h];
    Picoseconds one = part * static_cast<Picoseconds>(host.message.picoseconds);
    if (part == 1 && host.bandwidth.bytes_per_second != 0) {
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
  std::vector<Picoseconds> sender_free_;
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

}  // namespace

Time predict_time(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                  const CostModel& model) {
  const std::vector<Size> sizes = sizes_of(schedule, bytes, model);
  std::vector<Value> values(std::size_t{schedule.ranks} * schedule.chunks.size());
  const auto value = [&](Rank rank, std::uint32_t chunk) -> Value& {
    return values[std::size_t{index(rank)} * schedule.chunks.size() + chunk];
  };
  Links links(topology, model);
  Processors processors(schedule.ranks, model);
  Picoseconds end = 0;
  std::vector<Times> arrival(schedule.transfers.size());
  const auto& transfers = schedule.transfers;
  // Of the transfers of a step: by when they could start, then as they are listed.
  std::vector<std::pair<Picoseconds, std::size_t>> order;
  for (std::size_t first = 0, next = 0; first < transfers.size(); first = next) {
    // All transfers of a step read the values from before it, so they are timed before any arrives.
    order.clear();
    for (next = first; next < transfers.size() && transfers[next].step == transfers[first].step;
         ++next) {
      const double messages = sizes[transfers[next].chunk].messages;
      if (messages <= 0) continue;
      const Value& source = value(transfers[next].src, transfers[next].chunk);
      order.emplace_back(messages > 1 ? source.first : source.ready, next);
    }
    std::ranges::sort(order);
    for (const std::size_t i : order | std::views::values) {
      const Transfer& t = transfers[i];
      Value& source = value(t.src, t.chunk);
      const Size& size = sizes[t.chunk];
      const Times first_ready{size.messages > 1 ? source.first : source.ready, source.ready};
      const Times ready = processors.send(t, size, first_ready);
      const Links::Departure departure = links.depart(schedule.route(t), ready, size);
      source.read = std::max(source.read, departure.sent.last);
      arrival[i] = {departure.sent.first + departure.latency,
                    departure.sent.last + departure.latency};
    }
    for (const std::size_t i : order | std::views::values) {
      Value& target = value(transfers[i].dst, transfers[i].chunk);
      target.first = std::max(target.first, arrival[i].first);
      target.ready = std::max({target.ready, target.read, arrival[i].last});
      end = std::max(end, target.ready);
    }
  }
  end = std::max(end, links.most_load());
  if (end >= static_cast<double>(std::numeric_limits<decltype(Time::picoseconds)>::max())) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: expected a time for {} bytes of at most 106 days, got {:.0f} days",
                            topology.name(), bytes, end / 1e12 / 86400));
  }
  return {static_cast<decltype(Time::picoseconds)>(end)};
}

}  // namespace multitree
