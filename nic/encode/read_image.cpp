// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reading of images.
#include <fmt/format.h>

#include <iterator>

#include "nic/encode/format_internal.hpp"
#include "nic/encode/image.hpp"
#include "nic/encode/route_layout.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

constexpr std::uint32_t kMostRanks = 1U << 24;
constexpr std::uint32_t kMostClasses = 255;

/// All before routes and entries.
struct Header {
  Packing packing;
  RouteLayout routes;
  std::uint32_t ports = 0;
};

void check_version(BitReader& in, std::string_view image) {
  in.need(kImageMagic.size(), "the word MTTABLE");
  if (!image.starts_with(kImageMagic)) in.fail("expected the word MTTABLE, got something else");
  in.skip(kImageMagic.size());
  const auto version = in.number<std::uint16_t>("a version");
  if (version == kImageVersion) return;
  std::string_view why;
  if (version == 1) why = ", which has no routes: write it again from its schedule";
  if (version == 2) why = ", which has no groups: write it again from its schedule";
  in.fail(fmt::format("expected an image of version {}, got version {}{}", kImageVersion, version,
                      why));
}

void check_checksum(BitReader& in, std::string_view image, const std::string& path) {
  in.need(sizeof(std::uint32_t), "a checksum");
  const std::string_view covered = image.substr(0, image.size() - sizeof(std::uint32_t));
  const auto stored =
      BitReader(image.substr(covered.size()), path).number<std::uint32_t>("a checksum");
  const std::uint32_t found = image_checksum(covered);
  if (stored == found) return;
  in.fail(fmt::format("expected the checksum {:08x} of a whole image, got {:08x}", stored, found));
}

RouteLayout read_route_layout(BitReader& in) {
  constexpr std::uint8_t kMost = 32;
  RouteLayout layout;
  const auto read = [&](std::string_view name, std::uint8_t least) {
    const auto width = in.number<std::uint8_t>("a width");
    if (width >= least && width <= kMost) return width;
    in.fail(fmt::format("expected {} to {} bits for the {} of routes, got {}", least, kMost, name,
                        width));
  };
  layout.peer = read("peer", 1);
  layout.ejection = read("ejection", 0);
  layout.further = read("further hops", 0);
  layout.port = read("port", 1);
  layout.vc_class = read("class", 0);
  return layout;
}

/// What is said once for all ranks.
void read_meaning(BitReader& in, Tables& tables) {
  tables.root = Rank{in.number<std::uint32_t>("a root")};
  tables.ranks = in.number<std::uint32_t>("a number of ranks");
  if (tables.ranks == 0 || tables.ranks > kMostRanks) {
    in.fail(fmt::format("expected 1 to {} ranks, got {}", kMostRanks, tables.ranks));
  }
  if (index(tables.root) >= tables.ranks) {
    in.fail(fmt::format("expected a root below {}, got {}", tables.ranks, index(tables.root)));
  }
  tables.steps = in.number<std::uint32_t>("a number of steps");
  tables.elements = in.number<std::uint64_t>("a number of elements");
  tables.classes = in.number<std::uint32_t>("a number of classes");
  if (tables.classes == 0 || tables.classes > kMostClasses) {
    in.fail(fmt::format("expected 1 to {} classes, got {}", kMostClasses, tables.classes));
  }
}

Collective read_collective(BitReader& in) {
  const auto collective = in.number<std::uint8_t>("a collective");
  if (collective >= std::size(kFacts)) {
    in.fail(fmt::format("expected a collective below {}", std::size(kFacts)));
  }
  return static_cast<Collective>(collective);
}

/// One behind the other, in flows and elements, up to the end of the buffer.
void read_groups(BitReader& in, Tables& tables) {
  constexpr std::uint64_t kGroupBytes = 29;
  const auto number = in.number<std::uint32_t>("a number of groups");
  in.need(kGroupBytes * number, "the groups");
  if (number > 0 && tables.relative) in.fail("expected no groups in relative tables");
  std::uint64_t elements = 0;
  for (std::uint32_t g = 0; g < number; ++g) {
    TableGroup group{.collective = read_collective(in)};
    group.root = Rank{in.number<std::uint32_t>("a root")};
    group.steps = in.number<std::uint32_t>("a number of steps");
    group.first_flow = in.number<std::uint32_t>("a flow");
    group.first_element = in.number<std::uint64_t>("an element");
    group.elements = in.number<std::uint64_t>("a number of elements");
    const std::uint32_t least = g == 0 ? 0 : tables.groups.back().first_flow;
    if (index(group.root) >= tables.ranks || group.steps > tables.steps ||
        group.first_flow < least || (g == 0 && group.first_flow > 0)) {
      in.fail(fmt::format(
          "group {}: expected a root below {}, at most {} steps and flows from {} "
          "on, got {}, {} and {}",
          g, tables.ranks, tables.steps, least, index(group.root), group.steps, group.first_flow));
    }
    if (group.first_element != elements || group.elements > tables.elements - elements) {
      in.fail(fmt::format("group {}: expected elements from {} to {} at most, got {} from {} on", g,
                          elements, tables.elements, group.elements, group.first_element));
    }
    elements += group.elements;
    tables.groups.push_back(group);
  }
  if (number > 0 && elements != tables.elements) {
    in.fail(
        fmt::format("expected groups of {} elements together, got {}", tables.elements, elements));
  }
}

/// Whether an entry keeps to its group's flows and elements, and to the steps.
void check_group(BitReader& in, const Entry& entry, const Tables& tables, std::uint32_t least) {
  if (tables.groups.empty()) {
    if (entry.group + entry.priority > 0) in.fail("expected neither group nor priority, got some");
    return;
  }
  if (entry.op == Opcode::Nop) in.fail("expected no nops in an image of groups, got one");
  if (entry.group < least || entry.group >= tables.groups.size()) {
    in.fail(fmt::format("expected a group from {} on and below {}, got {}", least,
                        tables.groups.size(), entry.group));
  }
  const TableGroup& group = tables.groups[entry.group];
  const bool is_last = entry.group + 1 == tables.groups.size();
  const std::uint64_t flows =
      is_last ? std::uint64_t{1} << 32 : tables.groups[entry.group + 1].first_flow;
  const std::uint64_t end = group.first_element + group.elements;
  if (entry.step >= group.steps || entry.flow < group.first_flow || entry.flow >= flows ||
      entry.start < group.first_element || entry.start + entry.size > end) {
    in.fail(
        fmt::format("group {}: expected a step below {}, a flow from {} on and below {} and "
                    "elements from {} to {}, got {}, {} and {} from {} on",
                    entry.group, group.steps, group.first_flow, flows, group.first_element, end,
                    entry.step, entry.flow, entry.size, entry.start));
  }
}

/// Names of the last ranks.
void read_switches(BitReader& in, Tables& tables) {
  const auto number = in.number<std::uint32_t>("a number of switches");
  in.need(std::uint64_t{2} * number, "the names of switches");
  if (number == 0 || number >= tables.ranks || tables.relative) {
    in.fail(fmt::format("expected 1 to {} switches in tables of each rank, got {}",
                        tables.ranks - 1, number));
  }
  for (std::uint32_t s = 0; s < number; ++s) {
    const auto size = in.number<std::uint8_t>("the bytes of a name");
    in.need(size, "the name of a switch");
    if (size == 0) in.fail("expected a switch with a name, got an empty one");
    std::string& name = tables.switches.emplace_back();
    for (std::size_t i = 0; i < size; ++i) {
      name.push_back(static_cast<char>(in.number<std::uint8_t>("a letter")));
    }
  }
  if (index(tables.root) >= tables.contributors()) {
    in.fail(
        fmt::format("expected a root below {}, got {}", tables.contributors(), index(tables.root)));
  }
}

Header read_header(BitReader& in, Tables& tables) {
  tables.collective = read_collective(in);
  const auto flags = in.number<std::uint8_t>("flags");
  if (flags > (kRelativeFlag | kUniformFlag | kSwitchesFlag)) {
    in.fail(
        fmt::format("expected flags 1 (relative), 2 (uniform) and 4 (switches), got {}", flags));
  }
  tables.relative = (flags & kRelativeFlag) != 0;
  read_meaning(in, tables);
  Header header;
  header.ports = in.number<std::uint32_t>("a number of ports");
  UniformPieces pieces;
  pieces.pieces_per_flow = in.number<std::uint32_t>("pieces of a flow");
  pieces.size = in.number<std::uint64_t>("elements of a piece");
  for (std::uint8_t& width : header.packing.layout.width) {
    width = in.number<std::uint8_t>("a width");
  }
  if (const std::string fault = layout_fault(header.packing.layout); !fault.empty()) {
    in.fail(fault);
  }
  const bool is_uniform = (flags & kUniformFlag) != 0;
  if (is_uniform == header.packing.layout.has_elements() ||
      is_uniform != (pieces.pieces_per_flow > 0) || (!is_uniform && pieces.size > 0)) {
    in.fail("expected either uniform pieces or widths of start and size, got both or none");
  }
  if (is_uniform) header.packing.uniform = pieces;
  header.routes = read_route_layout(in);
  read_groups(in, tables);
  if ((flags & kSwitchesFlag) != 0) read_switches(in, tables);
  return header;
}

TableRoute read_route(BitReader& in, const Header& header, const Tables& tables,
                      std::uint32_t rank) {
  const RouteLayout& widths = header.routes;
  const auto read = [&](std::uint32_t width) {
    return static_cast<std::uint32_t>(in.bits(width, "a route"));
  };
  TableRoute route;
  route.peer = Rank{read(widths.peer)};
  route.ejection = read(widths.ejection);
  const std::uint32_t further = read(widths.further);
  // A hop has a bit at least.
  in.need(further / 8, "the hops of a route");
  if (!tables.relative) route.hops.reserve(std::size_t{further} + 1);
  for (std::uint32_t h = 0; h <= further; ++h) {
    const TableRoute::Hop hop{.port = read(widths.port), .vc_class = read(widths.vc_class)};
    if (hop.port >= header.ports || hop.vc_class >= tables.classes) {
      in.fail(fmt::format("expected a port below {} and a class below {}, got {} and {}",
                          header.ports, tables.classes, hop.port, hop.vc_class));
    }
    if (h == 0) route.port = hop.port;
    if (!tables.relative) route.hops.push_back(hop);
    if (tables.relative && hop.vc_class > 0) in.fail("expected no class in a relative route");
  }
  in.align();
  if (index(route.peer) >= tables.ranks || index(route.peer) == rank) {
    in.fail(fmt::format("expected a route from rank {} to another below {}, got {}", rank,
                        tables.ranks, index(route.peer)));
  }
  if (route.ejection >= header.ports) {
    in.fail(fmt::format("expected an ejection below {}, got {}", header.ports, route.ejection));
  }
  if (tables.relative && (further > 0 || route.ejection > 0)) {
    in.fail("expected neither hops nor an ejection in a relative route");
  }
  return route;
}

/// Where the piece lies if the entry does not say.
void place(BitReader& in, Entry& entry, const UniformPieces& pieces, const Tables& tables) {
  const std::uint64_t number = pieces.number_of(entry);
  entry.size = pieces.size;
  if (entry.piece >= pieces.pieces_per_flow ||
      (pieces.size > 0 && number > tables.elements / pieces.size)) {
    in.fail("an entry has a piece that is out of range");
  }
  entry.start = tables.relative ? 0 : number * pieces.size;
}

Entry read_entry(BitReader& in, const Packing& packing, const Tables& tables, std::size_t rank) {
  in.take_ones();
  const auto at = [&](Field field) { return in.bits(packing.layout.of(field), "an entry"); };
  const auto small = [&](Field field) { return static_cast<std::uint32_t>(at(field)); };
  const std::uint64_t op = at(Field::Op);
  Entry entry{.op = static_cast<Opcode>(op), .step = small(Field::Step)};
  const std::uint32_t of_op_and_step = in.take_ones();
  entry.flow = small(Field::Flow);
  entry.piece = small(Field::Piece);
  entry.route = small(Field::Route);
  entry.wait = small(Field::Wait);
  entry.turn = small(Field::Turn);
  entry.after = small(Field::After);
  entry.start = at(Field::Start);
  entry.size = at(Field::Size);
  entry.group = small(Field::Group);
  entry.priority = small(Field::Priority);
  const std::uint32_t of_others = in.take_ones();
  if (at(Field::Parity) != (of_op_and_step + of_others) % 2) {
    in.fail("an entry has the wrong parity");
  }
  in.align();
  if (op > 2) in.fail("expected op 0 (nop), 1 (reduce) or 2 (gather), got 3");
  if (entry.step >= tables.steps) {
    in.fail(fmt::format("expected a step below {}, got {}", tables.steps, entry.step));
  }
  if (entry.op == Opcode::Nop) {
    if (of_others > 0) in.fail("expected nothing but a step in a nop, got more");
    return entry;
  }
  const std::vector<TableRoute>& routes = tables.routes[rank];
  if (entry.route >= routes.size()) {
    in.fail(fmt::format("expected a route below {}, got {}", routes.size(), entry.route));
  }
  entry.peer = routes[entry.route].peer;
  entry.port = routes[entry.route].port;
  if (packing.uniform) place(in, entry, *packing.uniform, tables);
  if (entry.start > tables.elements || entry.size > tables.elements - entry.start) {
    in.fail(fmt::format("expected elements up to {}, got {} from {} on", tables.elements,
                        entry.size, entry.start));
  }
  return entry;
}

}  // namespace

Tables read_image(std::string_view image, const std::string& path) {
  BitReader in(image, path);
  check_version(in, image);
  check_checksum(in, image, path);
  Tables tables;
  const Header header = read_header(in, tables);
  const std::uint32_t number = tables.relative ? 1 : tables.ranks;
  in.need(std::uint64_t{8} * number, "the sizes of the tables");
  std::vector<std::uint32_t> routes(number), entries(number);
  for (std::uint32_t r = 0; r < number; ++r) {
    routes[r] = in.number<std::uint32_t>("a number of routes");
    entries[r] = in.number<std::uint32_t>("a number of entries");
  }
  tables.routes.resize(number);
  for (std::uint32_t r = 0; r < number; ++r) {
    in.need(routes[r], fmt::format("the routes of rank {}", r));  // a byte each at least
    tables.routes[r].reserve(routes[r]);
    for (std::uint32_t i = 0; i < routes[r]; ++i) {
      tables.routes[r].push_back(read_route(in, header, tables, r));
    }
  }
  tables.of_rank.resize(number);
  for (std::uint32_t r = 0; r < number; ++r) {
    in.need(std::uint64_t{entries[r]} * header.packing.layout.bytes(),
            fmt::format("the table of rank {}", r));
    tables.of_rank[r].reserve(entries[r]);
    for (std::uint32_t i = 0; i < entries[r]; ++i) {
      const Entry entry = read_entry(in, header.packing, tables, r);
      check_group(in, entry, tables, i == 0 ? 0 : tables.of_rank[r].back().group);
      tables.of_rank[r].push_back(entry);
    }
  }
  if (in.left() != sizeof(std::uint32_t)) in.fail("expected the checksum, got more tables");
  return tables;
}

}  // namespace multitree::nic
