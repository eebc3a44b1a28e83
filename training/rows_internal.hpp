// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rows of the tables that models are read from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "training/model.hpp"

namespace multitree::training {

/// Without spaces, tabs and carriage returns at both ends.
std::string_view trimmed(std::string_view text);
/// Cells, trimmed.
std::vector<std::string_view> split_at(std::string_view text, char separator);
/// Cells between runs of spaces and tabs.
std::vector<std::string_view> split_words(std::string_view text);

/// A line of a file.
struct Line {
  std::size_t number = 0;  ///< from 1
  std::string_view text;
};

/// A row, with the messages about it.
struct Row {
  const std::string& file;
  std::span<const std::string_view> columns;  ///< their names
  std::size_t line = 0;
  std::vector<std::string_view> cells;

  /// \throws Error(InvalidInput) "file:line: column 'name': expected ..., found ...".
  [[noreturn]] void fail(std::size_t column, const std::string& expected) const;
  /// \throws Error(InvalidInput) unless it has a cell for each column.
  void check_width() const;

  [[nodiscard]] std::string name(std::size_t column) const;
  /// A whole number from 0 to `most`.
  [[nodiscard]] std::uint64_t count(std::size_t column, std::uint64_t most) const;
  /// Bytes of tensors of "23232+64" parameters; those of 0 are left out.
  [[nodiscard]] std::vector<std::uint64_t> tensors(std::size_t column, std::uint32_t bytes) const;
  /// A time with its unit.
  [[nodiscard]] double seconds(std::size_t column) const;
};

/// Forms of tables. `lines` are those that are not blank, nor comments; the first is the header.
/// \{
Model parse_times(std::span<const Line> lines, const std::string& file, const Machine& machine);
Model parse_multiplications(std::span<const Line> lines, const std::string& file,
                            const Machine& machine);
Model parse_astra_sim(std::span<const Line> lines, const std::string& file, const Machine& machine);
/// \}

/// Of a Chakra trace (algorithms/interchange/chakra_internal.hpp).
Model parse_chakra(std::string_view text, const std::string& file, const Machine& machine);

/// The larger of what the machine's arithmetic and its memory take: a roofline (Williams et al.,
/// CACM 2009). Seconds. \pre machine.flops > 0
double roofline(const Machine& machine, double operations, double bytes);

}  // namespace multitree::training
