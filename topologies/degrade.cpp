// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reading changes to a network and applying them.
#include "topologies/degrade.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "topologies/draft_internal.hpp"
#include "topologies/error.hpp"
#include "topologies/families.hpp"
#include "topologies/group.hpp"
#include "topologies/name_internal.hpp"
#include "topologies/notes.hpp"

namespace multitree {
namespace {

[[noreturn]] void fail_change(const std::string& what) {
  throw Error(ErrorCode::InvalidArgument, what);
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> items;
  for (;;) {
    const std::size_t end = text.find(',');
    items.push_back(text.substr(0, end));
    if (items.back().empty()) fail_change("empty item in a list");
    if (end == std::string_view::npos) return items;
    text.remove_prefix(end + 1);
  }
}

template <class Number>
std::optional<Number> to_number(std::string_view text) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

/// Finds nodes and links by their names, which may contain the marks that separate them.
class Finder {
 public:
  explicit Finder(const Topology& topology) : topology_(topology) {
    for (std::uint32_t id = 0; id < topology.num_nodes(); ++id) {
      by_name_.emplace(topology.node(NodeId{id}).name, NodeId{id});
    }
  }

  [[nodiscard]] std::optional<NodeId> find_node(std::string_view text) const {
    if (const auto found = by_name_.find(text); found != by_name_.end()) return found->second;
    const auto rank = to_number<std::uint32_t>(text);
    if (!rank || *rank >= topology_.num_ranks()) return std::nullopt;
    return topology_.node_of(Rank{*rank});
  }

  [[nodiscard]] NodeId node(std::string_view text) const {
    if (const auto node = find_node(text)) {
      note_collision(text, *node, "the node of that name is meant");
      return *node;
    }
    fail_change(fmt::format("'{}' is neither a rank below {} nor the name of a node", text,
                            topology_.num_ranks()));
  }

  /// "A-B": the links there and those back; "A>B": those there. At least one.
  [[nodiscard]] std::pair<std::vector<LinkId>, std::vector<LinkId>> links(
      std::string_view item) const {
    std::size_t mark = item.find_first_of("->");
    if (mark == std::string_view::npos)
      fail_change(fmt::format("expected A-B or A>B, got '{}'", item));
    for (std::size_t at = mark; at != std::string_view::npos;
         at = item.find_first_of("->", at + 1)) {
      if (!find_node(item.substr(0, at)) || !find_node(item.substr(at + 1))) continue;
      mark = at;
      break;
    }
    const NodeId a = node(item.substr(0, mark)), b = node(item.substr(mark + 1));
    auto there = between(a, b);
    auto back = item[mark] == '-' ? between(b, a) : std::vector<LinkId>{};
    if (there.empty() && back.empty()) {
      fail_change(fmt::format("there is no link {}; {}", item, neighbours_words(a)));
    }
    return {std::move(there), std::move(back)};
  }

  /// "0 has links to n1, n3", the first of them.
  [[nodiscard]] std::string neighbours_words(NodeId of) const {
    constexpr std::size_t kMost = 8;
    std::vector<std::string> names;
    for (const LinkId link : topology_.out_links(of)) {
      const Node& other = topology_.node(topology_.link(link).dst);
      const std::string name = other.rank ? std::to_string(index(*other.rank)) : other.name;
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    const bool more = names.size() > kMost;
    if (more) names.resize(kMost);
    return fmt::format("{} has links to {}{}", topology_.node(of).name, fmt::join(names, ", "),
                       more ? ", ..." : "");
  }

  /// Ranks by number, as in "3" or "8-11", in a place where names are not looked up for them.
  [[nodiscard]] std::vector<Rank> ranks(std::string_view item) const {
    std::vector<Rank> found = parse_ranks(item, topology_.num_ranks());
    for (const Rank rank : found) {
      const auto named = by_name_.find(std::to_string(index(rank)));
      if (named == by_name_.end()) continue;
      note_collision(named->first, named->second, "the rank is meant");
    }
    return found;
  }

  [[nodiscard]] std::vector<LinkId> links_of(NodeId node) const {
    const auto out = topology_.out_links(node), in = topology_.in_links(node);
    std::vector<LinkId> all(out.begin(), out.end());
    all.insert(all.end(), in.begin(), in.end());
    return all;
  }

 private:
  [[nodiscard]] std::vector<LinkId> between(NodeId src, NodeId dst) const {
    std::vector<LinkId> found;
    for (const LinkId id : topology_.out_links(src)) {
      if (topology_.link(id).dst == dst) found.push_back(id);
    }
    return found;
  }

  [[nodiscard]] std::string describe(NodeId id) const {
    const Node& node = topology_.node(id);
    return node.rank ? fmt::format("rank {}", index(*node.rank)) : "a switch";
  }

  /// A node's name may be the number of a rank that is another node: says which is meant.
  void note_collision(std::string_view text, NodeId named, std::string_view meant) const {
    const auto rank = to_number<std::uint32_t>(text);
    if (!rank || *rank >= topology_.num_ranks()) return;
    const NodeId other = topology_.node_of(Rank{*rank});
    if (other == named) return;
    Notes::add(fmt::format("the node named '{}' is {}, and rank {} is named '{}'; {}", text,
                           describe(named), *rank, topology_.node(other).name, meant));
  }

  const Topology& topology_;
  std::map<std::string_view, NodeId> by_name_;
};

bool is_numbers(std::string_view item) {
  return item.find_first_not_of("0123456789-:") == std::string_view::npos;
}

/// "subject:value" at its last colon, as names may have colons; no value if the whole names a node.
std::pair<std::string_view, std::string_view> split_value(std::string_view item) {
  const std::size_t colon = item.rfind(':');
  if (colon == std::string_view::npos) return {item, {}};
  return {item.substr(0, colon), item.substr(colon + 1)};
}

void remove_links(Draft& draft, const Finder& finder, std::string_view item) {
  const auto [subject, value] = split_value(item);
  // "A-B:C" where C is no number: the colon belongs to a name.
  const auto number = to_number<std::uint32_t>(value);
  const auto [there, back] = finder.links(number ? subject : item);
  for (const auto& links : {there, back}) {
    const std::size_t count = number ? *number : links.size();
    if (links.empty()) continue;
    if (count > links.size() || count == 0) {
      fail_change(fmt::format("{}: expected 1 to {} links, got {}", subject, links.size(), count));
    }
    for (std::size_t i = links.size() - count; i < links.size(); ++i) {
      draft.copies[index(links[i])] = 0;
    }
  }
}

void remove_nodes(Draft& draft, const Finder& finder, std::string_view item) {
  const bool range = is_numbers(item) && item.find('-') != std::string_view::npos;
  if (range && !finder.find_node(item)) {
    for (const Rank rank : finder.ranks(item)) {
      draft.gone[index(draft.original.node_of(rank))] = true;
    }
  } else {
    draft.gone[index(finder.node(item))] = true;
  }
}

bool is_bandwidth(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.find("ps") != std::string_view::npos;
}

/// The bandwidth at which `text` leaves a link: a fraction of its own, or at most one given.
Bandwidth slowed(Bandwidth bandwidth, std::string_view text) {
  constexpr std::uint64_t kScale = 1'000'000'000;
  if (is_bandwidth(text)) {
    return std::min(bandwidth, parse_bandwidth(text));
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view after = point < text.size() ? text.substr(point + 1) : "";
  const auto whole = to_number<std::uint64_t>(text.substr(0, point));
  const auto digits = to_number<std::uint64_t>(
      std::string(after) + std::string(9, '0').substr(std::min<std::size_t>(after.size(), 9)));
  if (!whole || !digits || after.size() > 9 || (point < text.size() && after.empty()) ||
      *whole > 1 || *whole * kScale + *digits > kScale || *whole + *digits == 0) {
    fail_change(fmt::format(
        "expected a fraction above 0 and up to 1 of at most 9 decimals, or a bandwidth, got '{}'; "
        "use 'parallel' (A-B:2) for more",
        text));
  }
  const auto wide = static_cast<unsigned __int128>(bandwidth.bytes_per_second) *
                    (*whole * kScale + *digits) / kScale;
  return {std::max<std::uint64_t>(static_cast<std::uint64_t>(wide), 1)};
}

void slow_links(Draft& draft, const Finder& finder, std::string_view item) {
  const auto [subject, value] = split_value(item);
  if (value.empty()) {
    fail_change(
        fmt::format("expected NODE:FRACTION or A-B:FRACTION, as in 5:0.25, got '{}'", item));
  }
  std::vector<LinkId> links;
  if (finder.find_node(subject)) {
    links = finder.links_of(finder.node(subject));
  } else if (subject.find_first_of("->") == std::string_view::npos) {
    static_cast<void>(finder.node(subject));  // throws: no such node
  } else {
    auto [there, back] = finder.links(subject);
    links = std::move(there);
    links.insert(links.end(), back.begin(), back.end());
  }
  Bandwidth most{0};
  for (const LinkId link : links) {
    Bandwidth& bandwidth = draft.links[index(link)].bandwidth;
    most = std::max(most, bandwidth);
    bandwidth = slowed(bandwidth, value);
  }
  if (is_bandwidth(value) && parse_bandwidth(value) > most) {
    fail_change(
        fmt::format("{}: expected at most {}, which the fastest of these links has, got "
                    "'{}'; use 'parallel' (A-B:2) for more",
                    subject, to_string(most), value));
  }
}

void multiply_links(Draft& draft, const Finder& finder, std::string_view item) {
  const bool all = item.find_first_not_of("0123456789") == std::string_view::npos;
  const auto [subject, value] = all ? std::pair(std::string_view{}, item) : split_value(item);
  const auto count = to_number<std::uint32_t>(value);
  if (!count || *count == 0 || *count > kMaxLinks) {
    fail_change(
        fmt::format("expected A-B:COUNT or COUNT, from 1 to {}, got '{}'", kMaxLinks, item));
  }
  if (all) {
    for (std::uint64_t& copies : draft.copies) copies *= *count;
  } else {
    const auto [there, back] = finder.links(subject);
    for (const auto& links : {there, back}) {
      for (const LinkId link : links) draft.copies[index(link)] *= *count;
    }
  }
  std::uint64_t total = 0;
  for (const std::uint64_t copies : draft.copies) total += copies;
  if (total > kMaxLinks) fail_change(fmt::format("at most {} links, got {}", kMaxLinks, total));
}

/// "add", "copy" or a number of messages at once, of all switches or after "NODE:" of one.
void enable_switches(Draft& draft, const Finder& finder, std::string_view item) {
  if (!draft.original.has_switches()) {
    fail_change(
        fmt::format("expected a network that has switches, {} has ranks alone; take one "
                    "as fattree:4x4, or leave switches out",
                    draft.original.name()));
  }
  const auto [subject, value] = split_value(item);
  const std::string_view what = value.empty() ? item : value;
  const auto at_once = to_number<std::uint32_t>(what);
  if (what != "add" && what != "copy" && (!at_once || *at_once == 0)) {
    fail_change(
        fmt::format("expected add, copy or how many messages at once, of all switches or "
                    "as NODE:add of one, got '{}'",
                    item));
  }
  const auto enable = [&](std::uint32_t node) {
    SwitchAbilities& abilities = draft.abilities[node];
    if (at_once) abilities.at_once = *at_once;
    abilities.adds |= what == "add";
    abilities.copies |= what == "copy";
  };
  if (!value.empty()) {
    const NodeId node = finder.node(subject);
    if (!draft.original.node(node).is_switch()) {
      fail_change(fmt::format("expected a switch, '{}' is a rank", subject));
    }
    return enable(index(node));
  }
  for (std::uint32_t node = 0; node < draft.original.num_nodes(); ++node) {
    if (draft.original.node(NodeId{node}).is_switch()) enable(node);
  }
}

/// Applies one option.
void apply(Draft& draft, const Finder& finder, const std::string& option,
           const std::string& value) {
  if (option == "ranks") {
    draft.members = parse_ranks(value, draft.original);
    for (const std::string_view item : split(value)) {
      if (is_numbers(item)) static_cast<void>(finder.ranks(item));  // says what they are
    }
    for (const Rank rank : *draft.members) {
      if (!draft.gone[index(draft.original.node_of(rank))]) continue;
      fail_change(fmt::format("expected ranks that are not dead, got {}", index(rank)));
    }
    return;
  }
  for (const std::string_view item : split(value)) {
    if (option == "without") remove_links(draft, finder, item);
    if (option == "dead") remove_nodes(draft, finder, item);
    if (option == "slow") slow_links(draft, finder, item);
    if (option == "parallel") multiply_links(draft, finder, item);
    if (option == "switches") enable_switches(draft, finder, item);
  }
}

/// Applies one option, and begins its errors and notes with the option's name.
void apply_named(Draft& draft, const Finder& finder, const std::string& option,
                 const std::string& value) {
  std::vector<std::string> noted;
  try {
    const Notes notes;
    apply(draft, finder, option, value);
    noted = notes.all();
  } catch (const Error& error) {
    fail_change(fmt::format("{}: {}", option, error.what()));
  }
  for (const std::string& note : noted) Notes::add(fmt::format("{}: {}", option, note));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> NetworkChanges::given() const {
  std::vector<std::pair<std::string, std::string>> list;
  for (const auto& [key, value] : {std::pair("without", &without), std::pair("dead", &dead),
                                   std::pair("slow", &slow), std::pair("parallel", &parallel),
                                   std::pair("switches", &switches), std::pair("ranks", &ranks)}) {
    if (!value->empty()) list.emplace_back(key, *value);
  }
  return list;
}

Topology change_network(const Topology& topology, const NetworkChanges& changes, std::string name) {
  const auto given = changes.given();
  if (given.empty()) return topology;
  Draft draft(topology);
  const Finder finder(topology);
  std::vector<std::string> options;
  bool rename = name.empty();
  if (rename) name = topology.name();
  for (const auto& [option, value] : given) {
    options.push_back(option);
    if (rename) name = name_with_option(name, option, value);
    apply_named(draft, finder, option, value);
  }
  try {
    return finish(draft, std::move(name));
  } catch (const Error& error) {
    fail_change(fmt::format("{}: {}", fmt::join(options, ", "), error.what()));
  }
}

}  // namespace multitree
