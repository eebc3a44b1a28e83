// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reading and writing lists of ranks, and networks restricted to them.
#include "topologies/group.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <unordered_map>

#include "topologies/draft_internal.hpp"
#include "topologies/error.hpp"
#include "topologies/name_internal.hpp"

namespace multitree {
namespace {

[[noreturn]] void fail_group(const std::string& what) {
  throw Error(ErrorCode::InvalidArgument, what);
}

std::optional<std::uint32_t> to_rank(std::string_view text) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

/// first[-last[:step]]
struct Range {
  std::uint32_t first = 0, last = 0, step = 1;
};

std::optional<Range> parse_range(std::string_view item) {
  const std::size_t dash = item.find('-'), colon = item.find(':');
  const auto first = to_rank(item.substr(0, std::min(dash, colon)));
  auto last = first;
  std::optional<std::uint32_t> step = 1;
  if (dash != std::string_view::npos) {
    const std::string_view rest = item.substr(dash + 1);
    last = to_rank(rest.substr(0, rest.find(':')));
  }
  if (colon != std::string_view::npos) step = to_rank(item.substr(colon + 1));
  const bool step_alone = dash == std::string_view::npos && colon != std::string_view::npos;
  if (!first || !last || !step || *step == 0 || step_alone) return std::nullopt;
  return Range{*first, *last, *step};
}

void check_members(std::span<const Rank> members, std::uint32_t num_ranks) {
  std::vector<bool> seen(num_ranks, false);
  if (members.empty()) fail_group("expected at least one rank, got none");
  for (const Rank rank : members) {
    if (index(rank) >= num_ranks) {
      fail_group(fmt::format("expected ranks below {}, got {}", num_ranks, index(rank)));
    }
    if (seen[index(rank)]) {
      fail_group(fmt::format("expected each rank once, got {} twice", index(rank)));
    }
    seen[index(rank)] = true;
  }
}

void check_end(std::uint32_t end, std::uint32_t num_ranks) {
  if (end >= num_ranks) fail_group(fmt::format("expected ranks below {}, got {}", num_ranks, end));
}

/// Reads a list whose items are ranges of ranks, or what `read_other` makes ranges of.
template <class ReadOther>
std::vector<Rank> parse_list(std::string_view text, std::uint32_t num_ranks, ReadOther read_other) {
  std::vector<Rank> ranks;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    const std::optional<Range> numbers = parse_range(item);
    const Range range = numbers ? *numbers : read_other(item);
    check_end(range.first, num_ranks);
    check_end(range.last, num_ranks);
    const std::int64_t step = range.first <= range.last ? range.step : -std::int64_t{range.step};
    for (std::int64_t rank = range.first; step > 0 ? rank <= range.last : rank >= range.last;
         rank += step) {
      ranks.push_back(Rank{static_cast<std::uint32_t>(rank)});
    }
    // Refused here already: a list with repetitions could be longer than memory is.
    if (ranks.size() > num_ranks) check_members(ranks, num_ranks);
    begin = end + 1;
  }
  check_members(ranks, num_ranks);
  return ranks;
}

/// The nodes of a network by their names, which are looked at only if one is asked for.
class NodeNames {
 public:
  explicit NodeNames(const Topology& topology) : topology_(topology) {}

  [[nodiscard]] const Node* find(std::string_view name) {
    if (nodes_.empty()) {
      for (const Node& node : topology_.nodes()) nodes_.emplace(node.name, &node);
    }
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? nullptr : found->second;
  }

 private:
  const Topology& topology_;
  std::unordered_map<std::string_view, const Node*> nodes_;
};

}  // namespace

std::vector<Rank> parse_ranks(std::string_view text, std::uint32_t num_ranks) {
  return parse_list(text, num_ranks, [](std::string_view item) -> Range {
    fail_group(fmt::format("expected ranks as in 0-15,32 or 0-30:2, got '{}'", item));
  });
}

std::vector<Rank> parse_ranks(std::string_view text, const Topology& topology) {
  NodeNames names(topology);
  return parse_list(text, topology.num_ranks(), [&](std::string_view item) -> Range {
    const Node* node = names.find(item);
    if (node == nullptr) {
      fail_group(
          fmt::format("expected ranks as in 0-15,32 or 0-30:2 or names of nodes, got '{}'", item));
    }
    if (!node->rank) fail_group(fmt::format("expected ranks, '{}' is a switch", item));
    return {index(*node->rank), index(*node->rank), 1};
  });
}

std::string ranks_text(std::span<const Rank> ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    const std::int64_t first = index(ranks[i]);
    const std::int64_t step = i + 1 < ranks.size() ? index(ranks[i + 1]) - first : 0;
    std::size_t last = i;
    while (last + 1 < ranks.size() &&
           index(ranks[last + 1]) - std::int64_t{index(ranks[last])} == step) {
      ++last;
    }
    if (last < i + 2 && std::abs(step) != 1) last = i;  // no range of two but "3-4"
    text += fmt::format("{}{}", text.empty() ? "" : ",", first);
    if (last > i) text += fmt::format("-{}", index(ranks[last]));
    if (last > i && std::abs(step) != 1) text += fmt::format(":{}", std::abs(step));
    i = last + 1;
  }
  return text;
}

Topology restrict_to(const Topology& topology, std::span<const Rank> members) {
  check_members(members, topology.num_ranks());
  Draft draft(topology);
  draft.members.emplace(members.begin(), members.end());
  return finish(draft, name_with_option(topology.name(), "ranks", ranks_text(members)));
}

}  // namespace multitree
