// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Events of both sides in one form.
#include "rtl/sim/events.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rtl/sim/loader.hpp"

namespace multitree::rtl {
namespace {

constexpr std::uint32_t kTurnShift = 24, kPieceShift = 32;

std::uint64_t issue_detail(std::uint64_t piece, std::uint64_t turn, std::uint64_t pos) {
  return piece << kPieceShift | turn << kTurnShift | pos;
}

/// Flits of headers: the virtual channel, and what is counted.
constexpr std::uint32_t kCountShift = 8;
constexpr std::uint32_t kSrcBit = mt_pkg::kShortRouteW + mt_pkg::kStartW + 2 * mt_pkg::kLenW +
                                  mt_pkg::kPieceW + 2 * mt_pkg::kCountW;

std::uint64_t flit_detail(const LinkFlit& flit, const std::optional<FlitShape>& counted) {
  const auto bits = [&](std::uint32_t at, std::uint32_t count) {
    return flit.bits[at / 32] >> (at % 32) & ((1U << count) - 1);
  };
  static_assert(kSrcBit / 32 == (kSrcBit + mt_pkg::kSrcW - 1) / 32);
  const std::uint64_t count =
      counted && bits(counted->head_bit(), 1) != 0 ? bits(kSrcBit, mt_pkg::kSrcW) : 0;
  return flit.vc | count << kCountShift;
}

std::uint32_t narrow(std::uint64_t cycle) { return static_cast<std::uint32_t>(cycle); }

}  // namespace

std::string describe(const Event& e, const Topology& topology, const nic::Program& program) {
  const auto piece = [&](std::uint64_t number) {
    const auto& first = program.first_piece;
    const auto flow = std::ranges::upper_bound(first, number) - first.begin() - 1;
    return fmt::format("flow {} piece {}", flow, number - first[static_cast<std::size_t>(flow)]);
  };
  const auto name = [&] { return program.tables.name_of(e.place); };
  switch (e.kind) {
    case Event::Kind::Begun:
      return fmt::format("{} port {}: begins its next entry", name(), e.port);
    case Event::Kind::Flit: {
      const Link& link = topology.link(LinkId{e.place});
      const std::uint64_t count = e.detail >> kCountShift;
      return fmt::format("link {} ({}->{}): flit on virtual channel {}{}", e.place,
                         topology.node(link.src).name, topology.node(link.dst).name,
                         e.detail & ((1U << kCountShift) - 1),
                         count == 0 ? "" : fmt::format(" that counts {}", count));
    }
    case Event::Kind::Issued:
      return fmt::format("{} port {}: adds word {} of {}, turn {}", name(), e.port,
                         e.detail & ((1U << kTurnShift) - 1), piece(e.detail >> kPieceShift),
                         e.detail >> kTurnShift & 0xff);
    case Event::Kind::Taken:
      return fmt::format("{}: has taken in a message of {}", name(), piece(e.detail));
    case Event::Kind::Step:
      return fmt::format("{}: step {}", name(), e.detail);
    case Event::Kind::Over:
      return fmt::format("{}: group {} is over", name(), e.detail);
  }
  return {};
}

void Recorder::begun(std::uint64_t cycle, std::uint32_t rank, std::uint32_t port, std::uint32_t) {
  events_.push_back({narrow(cycle), Event::Kind::Begun, rank, port, 0});
}
void Recorder::passed(std::uint64_t cycle, std::uint32_t link, std::uint32_t vc, std::uint32_t src,
                      std::uint32_t entry, std::uint64_t number) {
  const std::uint64_t count = worm_ != 0 && number % worm_ == 0 ? counts_[src][entry] : 0;
  events_.push_back({narrow(cycle), Event::Kind::Flit, link, 0, vc | count << kCountShift});
}
void Recorder::counts(std::uint32_t rank, std::uint32_t entry, std::uint32_t count) {
  counts_.resize(std::max<std::size_t>(counts_.size(), rank + std::size_t{1}));
  counts_[rank].resize(std::max<std::size_t>(counts_[rank].size(), entry + std::size_t{1}));
  counts_[rank][entry] = count;
}
void Recorder::issued(std::uint64_t cycle, std::uint32_t rank, std::uint32_t port,
                      std::uint32_t piece, std::uint32_t turn, std::uint32_t pos) {
  events_.push_back(
      {narrow(cycle), Event::Kind::Issued, rank, port, issue_detail(piece, turn, pos)});
}
void Recorder::taken(std::uint64_t cycle, std::uint32_t rank, std::uint32_t piece, std::uint32_t) {
  events_.push_back({narrow(cycle), Event::Kind::Taken, rank, 0, piece});
}
void Recorder::step(std::uint64_t cycle, std::uint32_t rank, std::uint32_t step) {
  events_.push_back({narrow(cycle), Event::Kind::Step, rank, 0, step});
}

void Recorder::started(std::uint64_t cycle, std::uint32_t rank, std::uint32_t job) {
  starts_.push_back({cycle, rank, job});
}
void Recorder::over(std::uint64_t cycle, std::uint32_t rank, std::uint32_t job) {
  events_.push_back({narrow(cycle), Event::Kind::Over, rank, 0, job});
}

std::vector<Event> Recorder::take() {
  std::ranges::sort(events_);
  return std::move(events_);
}

HardwareEvents::HardwareEvents(const Hardware& network, const Topology& topology,
                               const nic::Program& program,
                               const std::vector<std::uint32_t>& doorbells,
                               const std::optional<FlitShape>& counted)
    : network_(network),
      topology_(topology),
      counted_(counted),
      piece_of_(kPieces, 0),
      group_of_(doorbells.size(), 0),
      active_(topology.num_ranks(), 0),
      steps_(topology.num_ranks(), 0),
      over_(topology.num_ranks(), 0) {
  for (std::uint32_t g = 0; g < doorbells.size(); ++g) group_of_[doorbells[g]] = g;
  for (std::size_t g = 0; g < doorbells.size(); ++g) {
    for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
      if (program.jobs[g].messages[r] > 0) active_[r] |= 1U << doorbells[g];
    }
  }
  const std::uint32_t pieces = pieces_per_flow(program.tables);
  for (const auto& entries : program.tables.of_rank) {
    for (const nic::Entry& entry : entries) {
      piece_of_[entry.flow * pieces + entry.piece] = program.piece_of(entry);
    }
  }
}

std::span<const Event> HardwareEvents::of(std::uint32_t cycle) {
  events_.swap(next_);
  next_.clear();
  using Kind = Event::Kind;
  for (std::uint32_t l = 0; l < topology_.num_links(); ++l) {
    // In the register behind the router: it was moved the cycle before.
    const LinkFlit& flit = network_.sent(LinkId{l});
    if (flit.valid && cycle > 0)
      events_.push_back({cycle - 1, Kind::Flit, l, 0, flit_detail(flit, counted_)});
  }
  for (std::uint32_t r = 0; r < topology_.num_ranks(); ++r) {
    const NodeTrace trace = network_.trace(Rank{r});
    if (trace.running && trace.step != steps_[r]) {
      steps_[r] = trace.step;
      next_.push_back({cycle, Kind::Step, r, 0, trace.step});
    }
    add_over(cycle + 1, r, trace.over & active_[r]);
    for (std::uint32_t p = 0; (trace.begun | trace.issued | trace.taken) >> p != 0; ++p) {
      if ((trace.begun >> p & 1) != 0) next_.push_back({cycle, Kind::Begun, r, p, 0});
      if (((trace.issued | trace.taken) >> p & 1) == 0) continue;
      const Hardware::RxTrace rx = network_.rx_trace(Rank{r}, p);
      if ((trace.issued >> p & 1) != 0) {
        next_.push_back(
            {cycle, Kind::Issued, r, p, issue_detail(piece_of_[rx.piece], rx.turn, rx.pos)});
      }
      // It counts from the next cycle on.
      if ((trace.taken >> p & 1) != 0) {
        next_.push_back({cycle + 1, Kind::Taken, r, 0, piece_of_[rx.taken_piece]});
      }
    }
  }
  // Of cycle - 1: all flits that have come now, and what was told then; what counts later waits.
  for (auto it = events_.begin(); it != events_.end();) {
    if (it->cycle >= cycle) {
      next_.push_back(*it);
      it = events_.erase(it);
    } else {
      ++it;
    }
  }
  std::ranges::sort(events_);
  return events_;
}

/// Groups that are over from that cycle on, and were not before.
void HardwareEvents::add_over(std::uint32_t cycle, std::uint32_t rank, std::uint32_t over) {
  for (std::uint32_t d = 0; (over & ~over_[rank]) >> d != 0; ++d) {
    if (((over & ~over_[rank]) >> d & 1) == 0) continue;
    next_.push_back({cycle, Event::Kind::Over, rank, 0, group_of_[d]});
  }
  over_[rank] = over;
}

}  // namespace multitree::rtl
