// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums over layers, and reading layer tables.
#include "training/model.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <numeric>

#include "topologies/error.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/text_internal.hpp"
#include "topologies/units.hpp"

namespace multitree::training {
namespace {

constexpr std::array<std::string_view, 4> kColumns{"name", "params", "forward", "backward"};
constexpr std::string_view kHeader = "name,params,forward,backward";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(trimmed(text.substr(0, at)));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

/// A line of a table, with the messages about it.
struct LayerRow {
  const std::string& file;
  std::size_t line;
  std::vector<std::string_view> cells;

  [[noreturn]] void fail(std::size_t column, const std::string& expected) const {
    fail_at(file, line,
            fmt::format("column '{}': expected {}, found '{}'", kColumns[column], expected,
                        cells[column]));
  }

  [[nodiscard]] std::vector<std::uint64_t> tensors(std::uint32_t bytes_per_parameter) const {
    std::vector<std::uint64_t> bytes;
    for (const std::string_view part : split_at(cells[1], '+')) {
      std::uint64_t parameters = 0;
      const auto [rest, error] =
          std::from_chars(part.data(), part.data() + part.size(), parameters);
      if (error != std::errc{} || rest != part.data() + part.size() ||
          parameters > kMaxParameters) {
        fail(1, fmt::format("whole numbers up to {}, joined by '+'", kMaxParameters));
      }
      if (parameters != 0) bytes.push_back(parameters * bytes_per_parameter);
    }
    return bytes;
  }

  [[nodiscard]] double seconds(std::size_t column) const {
    try {
      return parse_time(cells[column]).seconds();
    } catch (const Error&) {
      fail(column, "a time with its unit, as 1.5us");
    }
  }
};

}  // namespace

std::uint64_t Layer::bytes() const {
  return std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0});
}

double Model::forward() const {
  double sum = 0;
  for (const Layer& layer : layers) sum += layer.forward;
  return sum;
}

double Model::backward() const {
  double sum = 0;
  for (const Layer& layer : layers) sum += layer.backward;
  return sum;
}

std::uint64_t Model::bytes() const {
  std::uint64_t sum = 0;
  for (const Layer& layer : layers) sum += layer.bytes();
  return sum;
}

Model parse_model(std::string_view text, const std::string& file,
                  std::uint32_t bytes_per_parameter) {
  check_text(text, file);
  Model model{std::filesystem::path(file).stem().string(), {}};
  bool header = false;
  std::size_t number = 0;
  for (const std::string_view line : split_at(text, '\n')) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const LayerRow row{file, number, split_at(line, ',')};
    if (!header) {
      if (line != kHeader) {
        fail_at(file, number, fmt::format("expected the line '{}', found '{}'", kHeader, line));
      }
      header = true;
      continue;
    }
    if (row.cells.size() != kColumns.size()) {
      fail_at(file, number,
              fmt::format("expected {} columns ({}), found {}", kColumns.size(), kHeader,
                          row.cells.size()));
    }
    if (row.cells[0].empty()) row.fail(0, "the name of a layer");
    if (model.layers.size() == kMaxLayers) {
      fail_at(file, number, fmt::format("expected at most {} layers", kMaxLayers));
    }
    model.layers.push_back({std::string(row.cells[0]), row.seconds(2), row.seconds(3),
                            row.tensors(bytes_per_parameter)});
  }
  if (model.layers.empty()) fail_at(file, number, "expected a layer, found none");
  return model;
}

Model read_model(const std::string& path, std::uint32_t bytes_per_parameter) {
  return parse_model(read_file(path), path == "-" ? "standard input" : path, bytes_per_parameter);
}

}  // namespace multitree::training
