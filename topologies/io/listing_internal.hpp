// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What programs print about networks, line by line.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

/// A line of a text, without its end and without blanks around it.
struct TextLine {
  std::size_t number;  ///< from 1
  std::string_view text;
};
std::vector<TextLine> lines_of(std::string_view text);

/// Words between blanks.
std::vector<std::string_view> words_of(std::string_view text);

/// A whole number. \throws Error(InvalidInput) at that line, naming what it was to be.
std::uint32_t number_at(const std::string& file, std::size_t line, std::string_view text,
                        std::string_view what);

/// Builds the network; what is wrong with the whole is reported at line 1.
Topology build_listed(TopologyBuilder builder, const std::string& file);

}  // namespace multitree
