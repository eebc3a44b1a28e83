// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Lists of edges, one a line: two nodes, and perhaps a rate and a latency; with the attributes of
/// networkx's write_edgelist(), or as a table with names of columns. The rules are in
/// docs/file-formats.md.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "topologies/families.hpp"
#include "topologies/io/attributes_internal.hpp"
#include "topologies/io/edge_cells_internal.hpp"
#include "topologies/io/io.hpp"
#include "topologies/io/listing_internal.hpp"
#include "topologies/io/text_internal.hpp"
#include "topologies/notes.hpp"
#include "topologies/words.hpp"

namespace multitree {
namespace {

/// A line that names an edge.
struct EdgeLine {
  std::size_t line;
  std::string a, b;
  EdgeAttributes attributes;
};

constexpr std::array<std::string_view, 2> kEdgeEnds = {"source", "target"};
constexpr std::array<Alias, 6> kOtherEdgeEnds = {{{"src", "source"},
                                                  {"from", "source"},
                                                  {"node1", "source"},
                                                  {"dst", "target"},
                                                  {"to", "target"},
                                                  {"node2", "target"}}};

/// The end of an edge that a column of that name holds.
std::optional<std::string_view> end_named(const std::string& column) {
  return meant(column, kEdgeEnds, kOtherEdgeEnds);
}

class EdgeListReader {
 public:
  EdgeListReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Topology read() {
    check_text(text_, file_);
    bool first = true;
    for (const TextLine& line : lines_of(text_)) {
      const EdgeCells row = cells_of(line, file_);
      if (row.cells.empty() && !row.attributes) continue;
      if (!std::exchange(first, false) || !take_header(row)) read_edge(row);
    }
    if (edges_.empty()) {
      fail_at(file_, 1, "expected a line 'a b' for each link between two nodes: there is none");
    }
    note_assumptions();
    return build();
  }

 private:
  /// Whether the line has names of columns, one of each end. Nodes between blanks may be called so.
  bool take_header(const EdgeCells& row) {
    if (row.separator == ' ') return false;
    std::map<std::string_view, std::size_t> ends;
    EdgeAttributes others;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (const auto end = end_named(row.cells[i])) {
        ends.emplace(*end, i);
      } else {
        put_attribute(row.cells[i], row.cells[i], others);
      }
    }
    if (ends.size() != kEdgeEnds.size()) return false;
    try {
      check_others(others);
    } catch (const Error& error) {
      fail_at(file_, row.line, error.what());
    }
    columns_ = row.cells;
    source_ = ends.at("source");
    target_ = ends.at("target");
    return true;
  }

  void read_edge(const EdgeCells& row) {
    EdgeLine edge{row.line, {}, {}, {}};
    if (columns_.empty()) {
      read_plain(row, edge);
    } else {
      read_columns(row, edge);
    }
    if (edge.a.empty() || edge.b.empty()) fail_at(file_, row.line, "the name of a node is empty");
    edges_.push_back(std::move(edge));
    if (edges_.size() > kMaxLinks / 2) {
      fail_at(file_, row.line, fmt::format("a topology has at most {} links", kMaxLinks));
    }
  }

  /// Two nodes, a rate, a latency.
  void read_plain(const EdgeCells& row, EdgeLine& edge) {
    const std::size_t count = row.cells.size();
    if (count < 2 || count > 4 || (row.attributes && count > 2)) {
      fail_at(file_, row.line,
              fmt::format("expected two nodes, and perhaps a rate and a latency, as in 'a b 50GB/s "
                          "500ns', got '{}'",
                          fmt::join(row.cells, " ")));
    }
    edge.a = row.cells[0];
    edge.b = row.cells[1];
    if (row.attributes) edge.attributes = *row.attributes;
    if (count > 2) edge.attributes.bandwidth = row.cells[2];
    if (count > 3) edge.attributes.latency = row.cells[3];
  }

  /// By the names of the columns.
  void read_columns(const EdgeCells& row, EdgeLine& edge) {
    if (row.cells.size() != columns_.size()) {
      fail_at(file_, row.line,
              fmt::format("expected {} values, one for each of {}, got {}", columns_.size(),
                          fmt::join(columns_, ", "), row.cells.size()));
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i == source_) {
        edge.a = row.cells[i];
      } else if (i == target_) {
        edge.b = row.cells[i];
      } else {
        put_attribute(columns_[i], row.cells[i], edge.attributes);
      }
    }
  }

  /// Rates are written in all units; one without is what most tools leave out.
  void note_assumptions() const {
    const auto is_bare = [](const EdgeLine& edge) {
      const std::string& rate = edge.attributes.bandwidth;
      return !rate.empty() && rate.find_first_not_of("0123456789.eE+-") == std::string::npos;
    };
    const auto bare = std::ranges::count_if(edges_, is_bare);
    if (bare > 0) {
      Notes::add(
          fmt::format("{}: {} of {} rates have no unit: GB/s are taken (write 10Gb/s, or "
                      "1.25GB/s)",
                      file_, bare, edges_.size()));
    }
    UnreadWeights weights;
    for (const EdgeLine& edge : edges_) weights.look_at(edge.attributes);
    weights.note(LinkDefaults{}.bandwidth, file_);
  }

  /// Whether each line is one direction, as in files of directed graphs: then each has its reverse.
  [[nodiscard]] bool is_directed() const {
    std::map<std::pair<std::string_view, std::string_view>, std::vector<const EdgeLine*>> pairs;
    for (const EdgeLine& edge : edges_) {
      pairs[std::minmax<std::string_view>({edge.a, edge.b})].push_back(&edge);
    }
    const EdgeLine *there = nullptr, *back = nullptr, *lone = nullptr;
    for (const auto& [pair, lines] : pairs) {
      const auto reverse = std::ranges::find_if(
          lines, [first = lines.front()](const EdgeLine* one) { return one->a != first->a; });
      const auto same = std::ranges::count(lines, lines.front()->a, &EdgeLine::a);
      if (2 * static_cast<std::size_t>(same) != lines.size()) lone = lines.front();
      if (reverse == lines.end()) continue;
      there = lines.front();
      back = *reverse;
    }
    if (there == nullptr || lone == nullptr) return there != nullptr;
    fail_at(
        file_, back->line,
        fmt::format("'{} {}' is line {} the other way, and '{} {}' in line {} has no such line: "
                    "expected each cable once, or each of its two directions on a line, for "
                    "all alike",
                    back->a, back->b, there->line, lone->a, lone->b, lone->line));
  }

  Topology build() {
    const bool directed = is_directed();
    RawNetwork network;
    network.name = name_of_file(file_);
    std::map<std::string_view, NodeId, decltype(&natural_less)> ids(&natural_less);
    for (const EdgeLine& edge : edges_) {
      ids.emplace(edge.a, NodeId{});
      ids.emplace(edge.b, NodeId{});
    }
    for (auto& [name, id] : ids) {
      id = NodeId{static_cast<std::uint32_t>(network.nodes.size())};
      network.nodes.push_back({std::string(name), std::nullopt});
    }
    const LinkDefaults defaults;
    for (const EdgeLine& edge : edges_) {
      const NodeId a = ids.at(edge.a), b = ids.at(edge.b);
      try {
        network.links.push_back(to_link(a, b, edge.attributes, defaults));
      } catch (const Error& error) {
        fail_at(file_, edge.line, error.what());
      }
      const Link& link = network.links.back();
      if (!directed) network.links.push_back({b, a, link.bandwidth, link.latency});
    }
    const std::size_t links_per_line = directed ? 1 : 2;
    return build_topology(std::move(network),
                          [&](TopologyPart part, std::size_t i, const std::string& what) {
                            const bool is_link = part == TopologyPart::Link;
                            fail_at(file_, is_link ? edges_[i / links_per_line].line : 1, what);
                          });
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<std::string> columns_;  ///< names; empty: two nodes, a rate, a latency
  std::size_t source_ = 0, target_ = 1;
  std::vector<EdgeLine> edges_;
};

}  // namespace

Topology parse_topology_edge_list(std::string_view text, const std::string& file) {
  return EdgeListReader(text, file).read();
}

}  // namespace multitree
