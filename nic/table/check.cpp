// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From entries back to transfers.
#include "nic/table/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "algorithms/verify.hpp"
#include "nic/table/entries_internal.hpp"
#include "nic/table/with_interfaces.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

/// One group, or tables without groups.
class GroupCheck {
 public:
  GroupCheck(const Tables& tables, const Topology& topology, std::uint32_t group, std::size_t most,
             std::vector<TableViolation>& found)
      : tables_(tables), topology_(topology), group_(group), most_(most), found_(found) {}

  /// What comes later means nothing if what comes before is wrong.
  void run() {
    const std::size_t before = found_.size();
    check_places();
    if (found_.size() == before) add_transfers();
    if (found_.size() == before) check_counts();
    if (found_.size() == before) check_schedule();
  }
  /// Without pieces that are empty; with chunks for elements that no entry sends, so that verify()
  /// says whether somebody lacks them. \pre run() found nothing before it came to that
  [[nodiscard]] Schedule proved_schedule() const;

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // flow and piece
  /// Where a piece lies, and its chunk.
  struct Piece {
    std::uint64_t start = 0, size = 0;
    std::uint32_t chunk = 0;
  };

  void report(TableFault fault, const std::string& what) {
    if (most_ == 0) return;
    --most_;
    found_.push_back({fault, group_, fmt::format("group {}: {}", group_, what)});
  }
  void report(TableFault fault, std::uint32_t rank, std::size_t entry, const std::string& what) {
    report(fault, fmt::format("{}, entry {}: {}", tables_.name_of(rank), entry, what));
  }

  template <typename Visit>
  void for_each_message(const Visit& visit) const {
    for (std::uint32_t r = 0; r < tables_.of_rank.size(); ++r) {
      for (std::size_t i = 0; i < tables_.of_rank[r].size(); ++i) {
        const Entry& entry = tables_.of_rank[r][i];
        if (entry.op != Opcode::Nop) visit(r, i, entry);
      }
    }
  }

  void check_places();
  void add_transfers();
  void check_counts();
  void check_schedule();
  [[nodiscard]] std::optional<std::vector<LinkId>> links_of(std::uint32_t rank,
                                                            const Entry& entry) const;
  [[nodiscard]] Chunk chunk_of(std::uint64_t start, std::uint64_t size, std::uint32_t tree) const;

  const Tables& tables_;
  const Topology& topology_;
  std::uint32_t group_;
  std::size_t most_;
  std::vector<TableViolation>& found_;
  std::map<Key, Piece> pieces_;
  Schedule schedule_;  // a chunk for each piece, in the order of their keys
};

void GroupCheck::check_places() {
  for_each_message([&](std::uint32_t r, std::size_t i, const Entry& entry) {
    const auto [at, is_new] =
        pieces_.try_emplace({entry.flow, entry.piece}, Piece{entry.start, entry.size});
    const Piece& piece = at->second;
    if (piece.start != entry.start || piece.size != entry.size) {
      report(
          TableFault::BadPlace, r, i,
          fmt::format("expected {} elements from {} on, as elsewhere for piece {} of flow {}, "
                      "got {} from {} on",
                      piece.size, piece.start, entry.piece, entry.flow, entry.size, entry.start));
    }
    if (entry.start > tables_.elements || entry.size > tables_.elements - entry.start) {
      report(TableFault::BadPlace, r, i,
             fmt::format("expected elements up to {}, got {} from {} on", tables_.elements,
                         entry.size, entry.start));
    }
  });
  if (is_sharded(tables_.collective) && tables_.elements % tables_.contributors() != 0) {
    report(TableFault::BadPlace, fmt::format("expected a multiple of {} elements, got {}",
                                             tables_.contributors(), tables_.elements));
  }
  std::uint64_t end = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto& [key, piece] : pieces_) {
    if (piece.size > 0) ranges.emplace_back(piece.start, piece.size);
  }
  std::ranges::sort(ranges);
  for (const auto& [start, size] : ranges) {
    if (start < end) {
      report(TableFault::BadPlace,
             fmt::format("expected pieces apart, got two with element {}", start));
    }
    end = std::max(end, start + size);
  }
}

/// The links of an entry's route; none if it is wrong.
std::optional<std::vector<LinkId>> GroupCheck::links_of(std::uint32_t rank,
                                                        const Entry& entry) const {
  if (rank >= tables_.routes.size() || entry.route >= tables_.routes[rank].size()) return {};
  const TableRoute& route = tables_.routes[rank][entry.route];
  if (route.peer != entry.peer || index(route.peer) >= tables_.ranks || route.hops.empty()) {
    return {};
  }
  std::vector<LinkId> links;
  NodeId node = topology_.node_of(Rank{rank});
  for (const TableRoute::Hop& hop : route.hops) {
    const auto out = topology_.out_links(node);
    if (hop.port >= out.size()) return {};
    links.push_back(out[hop.port]);
    node = topology_.link(links.back()).dst;
  }
  const auto in = topology_.in_links(node);
  const bool arrives = node == topology_.node_of(route.peer) && route.ejection < in.size() &&
                       in[route.ejection] == links.back() && entry.port == route.hops.front().port;
  return arrives ? std::optional(links) : std::nullopt;
}

void GroupCheck::add_transfers() {
  schedule_.collective = tables_.collective;
  schedule_.algorithm = "table";
  schedule_.root = tables_.root;
  schedule_.ranks = tables_.ranks;
  schedule_.helpers = tables_.ranks - tables_.contributors();
  for (auto& [key, piece] : pieces_) {
    piece.chunk = static_cast<std::uint32_t>(schedule_.chunks.size());
    schedule_.chunks.push_back(chunk_of(piece.start, piece.size, key.first));
  }
  for_each_message([&](std::uint32_t r, std::size_t i, const Entry& entry) {
    const auto links = links_of(r, entry);
    if (!links) {
      report(TableFault::BadRoute, r, i,
             fmt::format("expected a route over links of {} from port {} to rank {}, got route {}",
                         topology_.name(), entry.port, index(entry.peer), entry.route));
      return;
    }
    schedule_.add(entry.step, entry.op == Opcode::Reduce ? Op::Reduce : Op::Copy,
                  pieces_.at({entry.flow, entry.piece}).chunk, Rank{r}, entry.peer, *links);
  });
  schedule_.canonicalize();
}

/// A piece as a chunk; who starts and ends with it follows from the shard that it lies in.
Chunk GroupCheck::chunk_of(std::uint64_t start, std::uint64_t size, std::uint32_t tree) const {
  const auto [collective, name, begins, ends] = facts(tables_.collective);
  const std::uint32_t ranks = tables_.contributors();
  const std::uint64_t shard = std::max<std::uint64_t>(tables_.elements / ranks, 1);
  const Rank own{std::min(static_cast<std::uint32_t>(start / shard), ranks - 1)};
  const auto at = [&](Holder holder) { return holder == Holder::Own ? own : tables_.root; };
  Chunk chunk{.source = at(begins),
              .target = at(ends),
              .tree = tree,
              .weight = std::max<std::uint64_t>(size, 1)};
  // Equal pieces for every rank: tables say of a message whose it is, not where it ends.
  if (begins == Holder::Own && ends == Holder::Own) {
    chunk.target = Rank{static_cast<std::uint32_t>(start % shard * ranks / shard)};
  }
  // Where every rank is at one end, source and target are one: that of the other end.
  if (begins == Holder::Everyone) chunk.source = chunk.target;
  if (ends == Holder::Everyone) chunk.target = chunk.source;
  return chunk;
}

void GroupCheck::check_counts() {
  const auto placed = place_entries(schedule_, topology_, tables_.contributors());
  for (std::uint32_t r = 0; r < placed.size(); ++r) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < tables_.of_rank[r].size(); ++i) {
      const Entry& entry = tables_.of_rank[r][i];
      if (entry.op == Opcode::Nop) continue;
      const Entry& expected = placed[r][next++].entry;
      if (expected.step != entry.step || expected.op != entry.op || expected.flow != entry.flow ||
          expected.peer != entry.peer) {
        report(TableFault::BadPlace, r, i, "expected entries by step, op, flow, piece and peer");
        break;
      }
      if (expected.wait == entry.wait && expected.turn == entry.turn &&
          expected.after == entry.after) {
        continue;
      }
      report(TableFault::BadCounts, r, i,
             fmt::format("expected wait {}, turn {} and after {}, got {}, {} and {}", expected.wait,
                         expected.turn, expected.after, entry.wait, entry.turn, entry.after));
    }
  }
}

Schedule GroupCheck::proved_schedule() const {
  Schedule proved;
  proved.collective = schedule_.collective;
  proved.algorithm = schedule_.algorithm;
  proved.root = schedule_.root;
  proved.ranks = schedule_.ranks;
  proved.helpers = schedule_.helpers;
  std::vector<std::uint32_t> number(schedule_.chunks.size(), ~std::uint32_t{0});
  std::map<std::uint64_t, Piece> by_start;
  for (const auto& [key, piece] : pieces_) {
    if (piece.size > 0) by_start[piece.start] = piece;
  }
  const std::uint64_t shard =
      is_sharded(tables_.collective) ? tables_.elements / tables_.contributors() : tables_.elements;
  const auto fill = [&](std::uint64_t begin, std::uint64_t end) {
    while (begin < end) {
      const std::uint64_t next = std::min(end, (begin / shard + 1) * shard);
      proved.chunks.push_back(chunk_of(begin, next - begin, 0));
      begin = next;
    }
  };
  std::uint64_t end = 0;
  for (const auto& [start, piece] : by_start) {
    fill(end, start);
    number[piece.chunk] = static_cast<std::uint32_t>(proved.chunks.size());
    proved.chunks.push_back(schedule_.chunks[piece.chunk]);
    end = start + piece.size;
  }
  fill(end, tables_.elements);
  for (const Transfer& t : schedule_.transfers) {
    if (number[t.chunk] == ~std::uint32_t{0}) continue;
    proved.add(t.step, t.op, number[t.chunk], t.src, t.dst, schedule_.route(t));
  }
  proved.canonicalize();
  return proved;
}

void GroupCheck::check_schedule() {
  if (tables_.elements == 0) return;
  const VerifyReport report_of =
      verify(proved_schedule(), topology_, {.max_violations = most_, .replay_always = true});
  for (const Violation& violation : report_of.violations) {
    report(TableFault::BadSchedule,
           fmt::format("{}: {}", to_string(violation.kind), violation.message));
  }
}

void expect_tables_of(const Tables& tables, const Topology& topology) {
  if (tables.relative || tables.contributors() != topology.num_ranks() ||
      tables.of_rank.size() != tables.ranks) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("tables: expected those of each of the {} ranks of {}, got {}{}",
                            topology.num_ranks(), topology.name(),
                            tables.relative ? "a relative one for " : "", tables.contributors()));
  }
}

/// The network that the routes are of.
Topology network_of(const Tables& tables, const Topology& topology) {
  if (tables.switches.empty()) return topology;
  Topology with = with_interfaces(topology);
  const std::vector<std::string> names =
      names_of_last(with, with.num_ranks() - topology.num_ranks());
  if (names == tables.switches) return with;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("tables: expected those of the switches that add and copy in {}, {}, got "
                          "those of {}",
                          topology.name(),
                          names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
                          fmt::join(tables.switches, ", ")));
}

void expect_no_switches(const Tables& tables) {
  if (tables.switches.empty()) return;
  throw Error(ErrorCode::Unsupported,
              fmt::format("tables: expected those of ranks alone, got {} of switches that add and "
                          "copy, which only interfaces in a network can be",
                          tables.switches.size()));
}

}  // namespace

std::string_view to_string(TableFault fault) {
  constexpr std::array<std::string_view, 4> kNames = {"BadPlace", "BadRoute", "BadSchedule",
                                                      "BadCounts"};
  return kNames[static_cast<std::size_t>(fault)];
}

std::vector<TableViolation> check_tables(const Tables& tables, const Topology& whole,
                                         std::size_t most) {
  expect_tables_of(tables, whole);
  const Topology topology = network_of(tables, whole);
  std::vector<TableViolation> found;
  if (tables.groups.empty()) {
    GroupCheck(tables, topology, 0, most, found).run();
    return found;
  }
  for (std::uint32_t r = 0; r < tables.ranks; ++r) {
    for (std::size_t i = 0; i < tables.of_rank[r].size(); ++i) {
      const Entry& entry = tables.of_rank[r][i];
      const bool is_known = entry.group < tables.groups.size();
      if (is_known && entry.flow >= tables.groups[entry.group].first_flow &&
          entry.start >= tables.groups[entry.group].first_element) {
        continue;
      }
      found.push_back({TableFault::BadPlace, entry.group,
                       fmt::format("{}, entry {}: expected a group below {} and its flows and "
                                   "elements, got group {}, flow {} and element {}",
                                   tables.name_of(r), i, tables.groups.size(), entry.group,
                                   entry.flow, entry.start)});
    }
  }
  if (!found.empty()) return found;
  for (std::uint32_t g = 0; g < tables.groups.size(); ++g) {
    const Tables alone = tables_of_group(tables, g);
    GroupCheck(alone, topology, g, most, found).run();
  }
  return found;
}

Schedule schedule_of(const Tables& tables, const Topology& topology) {
  expect_no_switches(tables);
  expect_tables_of(tables, topology);
  if (!tables.groups.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("tables: expected those of one collective, got {} groups",
                            tables.groups.size()));
  }
  std::vector<TableViolation> found;
  GroupCheck check(tables, topology, 0, 1, found);
  check.run();
  if (!found.empty()) throw Error(ErrorCode::InvalidArgument, "tables: " + found.front().message);
  return check.proved_schedule();
}

Schedule schedule_of_group(const Tables& tables, const Topology& topology, std::uint32_t group) {
  return schedule_of(tables_of_group(tables, group), topology);
}

}  // namespace multitree::nic
