// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reading layer tables, in SCALE-Sim's form and as totals of layers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>

#include "study/workload.hpp"
#include "topologies/error.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/text_internal.hpp"

namespace multitree::study {
namespace {

constexpr std::array<std::string_view, 10> kShapeColumns{
    "Layer name", "IFMAP Height", "IFMAP Width", "Filter Height", "Filter Width",
    "Channels",   "Num Filter",   "Strides",     "Repeat",        "Parameters"};
constexpr std::size_t kShapes = 8;  // the others are optional
constexpr std::array<std::string_view, 5> kTotalColumns{"workload", "layer", "params", "fwd_macs",
                                                        "out_elems"};

using Cells = std::vector<std::string_view>;

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// Trimmed cells; the empty one after a comma at the end is none.
Cells split_line(std::string_view line) {
  Cells cells;
  for (;;) {
    const std::size_t comma = line.find(',');
    cells.push_back(trim(line.substr(0, comma)));
    if (comma == line.npos) break;
    line.remove_prefix(comma + 1);
  }
  if (cells.back().empty()) cells.pop_back();
  return cells;
}

/// One line of a table, with the messages about it.
struct Row {
  const std::string& file;
  std::size_t line;
  Cells cells;
  std::span<const std::string_view> columns;

  [[noreturn]] void fail(const std::string& what) const { fail_at(file, line, what); }

  [[noreturn]] void fail_column(std::size_t column, const std::string& expected) const {
    fail(fmt::format("column '{}': expected {}, found '{}'", columns[column], expected,
                     cells[column]));
  }

  [[nodiscard]] std::uint64_t number(
      std::size_t column, std::uint64_t least,
      std::uint64_t most = std::numeric_limits<std::uint32_t>::max()) const {
    std::uint64_t value = 0;
    const std::string_view cell = cells[column];
    const char* end = cell.data() + cell.size();
    const auto [rest, error] = std::from_chars(cell.data(), end, value);
    if (error != std::errc{} || rest != end || value < least || value > most) {
      fail_column(column, fmt::format("a whole number from {} to {}", least, most));
    }
    return value;
  }

  [[nodiscard]] std::string name(std::size_t column) const {
    if (cells[column].empty()) fail_column(column, "a name");
    return std::string(cells[column]);
  }
};

/// The Parameters column serves products without weights of their own, and tied weights.
void read_parameters(const Row& row, Layer& layer) {
  constexpr std::size_t kColumn = 9;
  if (row.cells.size() > kColumn) layer.parameters = row.number(kColumn, 0, kMaxParameters);
}

Layer parse_shape_row(const Row& row) {
  constexpr std::size_t kRepeat = 8;
  const Convolution shape{.input_height = row.number(1, 1),
                          .input_width = row.number(2, 1),
                          .filter_height = row.number(3, 1),
                          .filter_width = row.number(4, 1),
                          .channels = row.number(5, 1),
                          .filters = row.number(6, 1),
                          .stride = row.number(7, 1)};
  if (shape.filter_height > shape.input_height) {
    row.fail_column(3, fmt::format("at most the IFMAP Height {}", shape.input_height));
  }
  if (shape.filter_width > shape.input_width) {
    row.fail_column(4, fmt::format("at most the IFMAP Width {}", shape.input_width));
  }
  const std::uint64_t repeat = row.cells.size() > kRepeat ? row.number(kRepeat, 1) : 1;
  std::string name = row.name(0);
  try {
    Layer layer = make_layer(std::move(name), shape, repeat);
    read_parameters(row, layer);
    return layer;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::InvalidArgument) throw;
    row.fail(error.what());
  }
}

/// dividend / divisor, where that is a whole number.
std::uint64_t divide(const Row& row, std::uint64_t dividend, std::uint64_t divisor,
                     std::string_view what) {
  if (dividend % divisor != 0) {
    row.fail(
        fmt::format("expected {} to be a whole number, found {} / {}", what, dividend, divisor));
  }
  return dividend / divisor;
}

Layer parse_total_row(const Row& row) {
  constexpr std::size_t kParams = 2, kMacs = 3, kOuts = 4;
  Layer layer;
  layer.name = row.name(1);
  layer.parameters = row.number(kParams, 0, kMaxParameters);
  const std::uint64_t macs = row.number(kMacs, 0, kMaxVolume);
  if (macs == 0) {
    (void)row.number(kOuts, 0, kMaxVolume);
    return layer;
  }
  if (layer.parameters == 0) row.fail_column(kParams, "at least 1 for a layer with fwd_macs");
  const std::uint64_t outs = row.number(kOuts, 1, kMaxVolume);
  Gemm& gemm = layer.forward;
  gemm.depth = divide(row, macs, outs, "the depth fwd_macs / out_elems");
  gemm.columns = divide(row, layer.parameters, gemm.depth, "the columns params / depth");
  gemm.rows = divide(row, outs, gemm.columns, "the rows out_elems / columns");
  layer.input_pixels = gemm.rows;
  layer.channels = gemm.depth;
  return layer;
}

/// The columns that a header names, by the table's form; nothing if it is none.
std::optional<std::span<const std::string_view>> recognise(const Cells& header) {
  const auto matches = [&](std::span<const std::string_view> columns) {
    return std::ranges::equal(header, columns, same_word);
  };
  if (matches(kTotalColumns)) return kTotalColumns;
  for (std::size_t count = kShapes; count <= kShapeColumns.size(); ++count) {
    const auto columns = std::span(kShapeColumns).first(count);
    if (matches(columns)) return columns;
  }
  return std::nullopt;
}

/// "a.b/c.csv" -> "c".
std::string stem(const std::string& file) { return std::filesystem::path(file).stem().string(); }

class TableReader {
 public:
  explicit TableReader(const std::string& file) : file_(file) {}

  void read_line(std::size_t line, std::string_view text) {
    Cells cells = split_line(text);
    if (std::ranges::all_of(cells, &std::string_view::empty)) return;
    if (columns_.empty()) {
      read_header(line, cells);
    } else {
      read_row({file_, line, std::move(cells), columns_});
    }
  }

  std::vector<Workload> finish(std::size_t line) {
    if (workloads_.empty() || workloads_.back().layers.empty()) {
      fail_at(file_, line, "expected rows of layers after the header, found none");
    }
    return std::move(workloads_);
  }

 private:
  [[nodiscard]] bool has_shapes() const { return columns_.size() >= kShapes; }

  void read_header(std::size_t line, const Cells& header) {
    const auto columns = recognise(header);
    if (!columns) {
      fail_at(file_, line,
              fmt::format("expected the header '{}' or '{}', found '{}'",
                          fmt::join(std::span(kShapeColumns).first(kShapes), ", "),
                          fmt::join(kTotalColumns, ","), fmt::join(header, ", ")));
    }
    columns_ = *columns;
    if (has_shapes()) workloads_.push_back({.name = stem(file_), .layers = {}});
  }

  void read_row(const Row& row) {
    if (has_shapes() && row.cells.size() == 1) return;  // a title
    if (row.cells.size() != columns_.size()) {
      row.fail(fmt::format("expected {} columns ({}), found {}", columns_.size(),
                           fmt::join(columns_, ", "), row.cells.size()));
    }
    if (!has_shapes()) open_workload(row);
    std::vector<Layer>& layers = workloads_.back().layers;
    if (layers.size() == kMaxLayers) {
      row.fail(fmt::format("expected at most {} layers of workload '{}', found more", kMaxLayers,
                           workloads_.back().name));
    }
    layers.push_back(has_shapes() ? parse_shape_row(row) : parse_total_row(row));
  }

  /// Rows of a workload follow each other.
  void open_workload(const Row& row) {
    std::string name = row.name(0);
    if (!workloads_.empty() && workloads_.back().name == name) return;
    if (std::ranges::find(workloads_, name, &Workload::name) != workloads_.end()) {
      row.fail_column(0,
                      fmt::format("more of '{}' or a new name, as rows of a workload lie together",
                                  workloads_.back().name));
    }
    workloads_.push_back({.name = std::move(name), .layers = {}});
  }

  const std::string& file_;
  std::span<const std::string_view> columns_;  // of the form that the header told
  std::vector<Workload> workloads_;
};

}  // namespace

std::vector<Workload> parse_workloads(std::string_view text, const std::string& file) {
  check_text(text, file);
  TableReader reader(file);
  std::size_t line = 0;
  while (!text.empty()) {
    const std::size_t length = text.find('\n');
    reader.read_line(++line, text.substr(0, length));
    text.remove_prefix(length == text.npos ? text.size() : length + 1);
  }
  return reader.finish(line);
}

std::vector<Workload> read_workloads(const std::string& path) {
  return parse_workloads(read_file(path), path);
}

}  // namespace multitree::study
