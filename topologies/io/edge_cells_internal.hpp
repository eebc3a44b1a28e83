// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A line of a list of edges, taken apart.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topologies/io/attributes_internal.hpp"
#include "topologies/io/listing_internal.hpp"

namespace multitree {

struct EdgeCells {
  std::size_t line;
  char separator = ' ';                      ///< of the cells
  std::vector<std::string> cells;            ///< without blanks and quotes; none: nothing is there
  std::optional<EdgeAttributes> attributes;  ///< of "{'weight': 3}" at the end, if that is there
};

/// Between commas, else semicolons, else blanks, of which tabs alone make a table; what follows a
/// '#' is a comment. \throws Error(InvalidInput) at the line, if attributes are no dictionary of
/// Python.
EdgeCells cells_of(const TextLine& line, const std::string& file);

/// Puts a value in its place by its name; one that is not read is kept by its name. Empty: none.
void put_attribute(const std::string& name, const std::string& value, EdgeAttributes& attributes);

}  // namespace multitree
