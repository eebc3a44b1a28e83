// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the models notice for timelines.
#pragma once

#include <cstdint>
#include <vector>

#include "nic/nic/endpoints.hpp"
#include "nic/simulate.hpp"

namespace multitree::nic {

/// Fills in the spans and records of a result.
class Trace {
 public:
  Trace(const Endpoints& endpoints, const Parameters& parameters, std::uint32_t links,
        Simulation& result)
      : endpoints_(endpoints),
        element_bytes_(parameters.element_bytes),
        result_(result),
        span_of_port_(endpoints.ports().size(), kNone),
        span_of_link_(links, kNone) {
    result.records.resize(endpoints.num_messages());
  }

  /// A message begins to leave its rank.
  void issued(std::uint32_t message, std::uint64_t cycle) {
    const Entry& entry = endpoints_.entry_of(message);
    result_.records[message] = {.src = Rank{endpoints_.message(message).rank},
                                .dst = entry.peer,
                                .op = entry.op == Opcode::Reduce ? Op::Reduce : Op::Copy,
                                .step = entry.step,
                                .flow = entry.flow,
                                .piece = entry.piece,
                                .bytes = entry.size * element_bytes_,
                                .issued = cycle,
                                .arrived = cycle};
  }
  /// A port sends the whole of it.
  void sends(std::uint32_t port, std::uint32_t message, std::uint64_t begin, std::uint64_t end) {
    const Endpoints::Port& place = endpoints_.ports()[port];
    result_.spans.push_back({.kind = Span::Kind::Interface,
                             .row = place.rank,
                             .port = place.number,
                             .message = message,
                             .begin = begin,
                             .end = end});
  }
  /// A flit of a port's message leaves.
  void sends(std::uint32_t port, std::uint32_t message, std::uint64_t cycle) {
    std::uint32_t& span = span_of_port_[port];
    if (span == kNone || result_.spans[span].message != message) {
      issued(message, cycle);
      sends(port, message, cycle, cycle + 1);
      span = static_cast<std::uint32_t>(result_.spans.size() - 1);
    }
    result_.spans[span].end = cycle + 1;
  }
  /// A packet of it has passed a link; those of one message that follow each other are one span.
  void passed(std::uint32_t link, std::uint32_t message, std::uint64_t begin, std::uint64_t end) {
    std::uint32_t& last = span_of_link_[link];
    if (last != kNone && result_.spans[last].message == message &&
        result_.spans[last].end == begin) {
      result_.spans[last].end = end;
      return;
    }
    last = static_cast<std::uint32_t>(result_.spans.size());
    result_.spans.push_back(
        {.kind = Span::Kind::Link, .row = link, .message = message, .begin = begin, .end = end});
  }
  /// Its last flit has arrived.
  void arrived(std::uint32_t message, std::uint64_t cycle) {
    result_.records[message].arrived = cycle;
  }

 private:
  static constexpr std::uint32_t kNone = Endpoints::kNone;

  const Endpoints& endpoints_;
  const std::uint64_t element_bytes_;
  Simulation& result_;
  std::vector<std::uint32_t> span_of_port_, span_of_link_;
};

}  // namespace multitree::nic
