// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Names of nodes as far as there is room for them.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "view/drawing.hpp"

namespace multitree::view {
namespace {

/// What fits between two nodes that are a unit apart.
constexpr std::size_t kMostLetters = 14, kLastLetters = 7;

/// Where letters of UTF-8 begin.
std::vector<std::size_t> letters_of(std::string_view text) {
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) at.push_back(i);
  }
  return at;
}

/// Names differ at their ends, and hosts at their beginnings.
std::string shortened(const std::string& name) {
  const std::vector<std::size_t> letters = letters_of(name);
  if (letters.size() <= kMostLetters) return name;
  return name.substr(0, letters[kMostLetters - kLastLetters - 1]) + "\u2026" +
         name.substr(letters[letters.size() - kLastLetters]);
}

bool says_its_number(const Node& node) {
  const std::string number = std::to_string(index(*node.rank));
  return node.name == number || node.name == "n" + number;
}

bool has_own_names(const Topology& topology) {
  return std::ranges::any_of(topology.nodes(), [](const Node& node) {
    return !node.is_switch() && !says_its_number(node);
  });
}

}  // namespace

std::vector<std::string> labels_of(const Topology& topology) {
  std::vector<std::string> labels;
  if (!has_own_names(topology)) return labels;
  for (const Node& node : topology.nodes()) labels.push_back(shortened(node.name));
  return labels;
}

std::string words_of(const Topology& topology, Rank rank) {
  if (!has_own_names(topology)) return fmt::format("rank {}", index(rank));
  return fmt::format("rank {} ({})", index(rank), topology.node(topology.node_of(rank)).name);
}

}  // namespace multitree::view
