// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Event-driven alpha-beta replay of a schedule with link contention.
#include "algorithms/cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
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

/// When each rank's value of a chunk is complete, and when it was last read (a later write waits).
struct Value {
  Picoseconds ready = 0;
  Picoseconds read = 0;
};

/// When the last byte has left, and how long it travels on.
struct Departure {
  Picoseconds sent = 0;
  Picoseconds latency = 0;
};

/// Sends `size` bytes along a route, no earlier than `ready`: every link starts once it is free and
/// the link before it has started, and is done once it has sent all and the link before it is done.
Departure depart(std::span<const LinkId> route, const Topology& topology, Picoseconds ready,
                 double size, std::vector<Picoseconds>& busy_until) {
  Picoseconds start = ready;
  Departure departure{ready, 0};
  for (const LinkId id : route) {
    Picoseconds& busy = busy_until[index(id)];
    start = std::max(start, busy);
    busy = start + serialisation(size, topology.link(id).bandwidth);
    departure.sent = std::max(departure.sent, busy);
    departure.latency += static_cast<Picoseconds>(topology.link(id).latency.picoseconds);
  }
  return departure;
}

/// What messages wait for besides links: their sender, and processors that ranks of one host share.
class Processors {
 public:
  Processors(std::uint32_t ranks, const CostModel& model)
      : model_(model),
        overhead_(static_cast<Picoseconds>(model.message_overhead.picoseconds)),
        sender_free_(ranks, 0),
        host_of_(ranks, kNone),
        host_free_(model.hosts.size(), 0) {
    for (std::size_t h = 0; h < model.hosts.size(); ++h) {
      for (const Rank rank : model.hosts[h].ranks) {
        if (index(rank) < ranks) host_of_[index(rank)] = h;
      }
    }
  }

  /// When a message that could leave at `ready` does.
  Picoseconds send(const Transfer& t, double size, Picoseconds ready) {
    if (overhead_ > 0) {
      Picoseconds& free = sender_free_[index(t.src)];
      ready = free = std::max(ready, free) + overhead_;
    }
    const std::size_t h = host_of_[index(t.src)];
    if (h == kNone || h != host_of_[index(t.dst)]) return ready;
    const SharedHost& host = model_.hosts[h];
    auto work = static_cast<Picoseconds>(host.message.picoseconds);
    if (host.bandwidth.bytes_per_second != 0) work += serialisation(size, host.bandwidth);
    // The host works on the message while its sender does, not after that.
    Picoseconds& free = host_free_[h];
    free = std::max(ready - overhead_, free) + work;
    return std::max(ready, free);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  const CostModel& model_;
  Picoseconds overhead_;
  std::vector<Picoseconds> sender_free_;
  std::vector<std::size_t> host_of_;
  std::vector<Picoseconds> host_free_;
};

}  // namespace

Time predict_time(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                  const CostModel& model) {
  // Chunks are priced by their exact share of the size, so that tiny sizes do not round to nothing.
  const std::uint64_t grain = std::uint64_t{1} << 40;
  std::vector<double> share(schedule.chunks.size());
  const auto ranges = chunk_ranges(schedule, grain * schedule.ranks);
  for (std::size_t c = 0; c < share.size(); ++c) {
    share[c] = static_cast<double>(ranges[c].count) /
               (static_cast<double>(grain) * static_cast<double>(schedule.ranks));
  }
  std::vector<Value> values(std::size_t{schedule.ranks} * schedule.chunks.size());
  const auto value = [&](Rank rank, std::uint32_t chunk) -> Value& {
    return values[std::size_t{index(rank)} * schedule.chunks.size() + chunk];
  };
  std::vector<Picoseconds> busy_until(topology.num_links(), 0);
  Processors processors(schedule.ranks, model);
  Picoseconds end = 0;
  std::vector<Picoseconds> arrival(schedule.transfers.size());
  const auto& transfers = schedule.transfers;
  std::vector<std::size_t> order;  // of the transfers of a step
  for (std::size_t first = 0, next = 0; first < transfers.size(); first = next) {
    // All transfers of a step read the values from before it, so they are timed before any arrives.
    order.clear();
    for (next = first; next < transfers.size() && transfers[next].step == transfers[first].step;
         ++next) {
      order.push_back(next);
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
      return value(transfers[i].src, transfers[i].chunk).ready;
    });
    for (const std::size_t i : order) {
      const Transfer& t = transfers[i];
      Value& source = value(t.src, t.chunk);
      const double size = share[t.chunk] * static_cast<double>(bytes);
      const Picoseconds ready = processors.send(t, size, source.ready);
      const Departure departure = depart(schedule.route(t), topology, ready, size, busy_until);
      source.read = std::max(source.read, departure.sent);
      arrival[i] = departure.sent + departure.latency;
    }
    for (std::size_t i = first; i < next; ++i) {
      Value& target = value(transfers[i].dst, transfers[i].chunk);
      target.ready = std::max({target.ready, target.read, arrival[i]});
      end = std::max(end, target.ready);
    }
  }
  if (end >= static_cast<double>(std::numeric_limits<decltype(Time::picoseconds)>::max())) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: expected a time for {} bytes of at most 106 days, got {:.0f} days",
                            topology.name(), bytes, end / 1e12 / 86400));
  }
  return {static_cast<decltype(Time::picoseconds)>(end)};
}

}  // namespace multitree
