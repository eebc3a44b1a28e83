// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The forms of tables that models are read from.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "topologies/error.hpp"
#include "topologies/io/text_internal.hpp"
#include "training/rows_internal.hpp"

namespace multitree::training {
namespace {

/// What tables may hold of multiplications and of numbers that a layer makes.
constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 53;

/// Each line behind the header as a layer.
template <typename ToLayer>
Model layers_of(std::span<const Line> lines, const std::string& file,
                std::span<const std::string_view> columns, const ToLayer& to_layer) {
  Model model;
  for (const Line& line : lines.subspan(1)) {
    const Row row{file, columns, line.number, split_at(line.text, ',')};
    row.check_width();
    if (model.layers.size() == kMaxLayers) {
      fail_at(file, line.number, fmt::format("expected at most {} layers", kMaxLayers));
    }
    model.layers.push_back(to_layer(row));
  }
  return model;
}

constexpr std::array<std::string_view, 4> kTimes{"name", "params", "forward", "backward"};
constexpr std::array<std::string_view, 6> kWork{"name",         "kind",     "params",
                                                "tensor_elems", "fwd_macs", "out_elems"};

/// A multiplication is two operations. A layer reads and writes its parameters and what it makes of
/// each sample once; the backward pass does twice what the forward pass does.
Layer layer_of_work(const Row& row, const Machine& machine) {
  Layer layer{row.name(0), 0, 0, row.tensors(3, machine.parameter_bytes)};
  const auto samples = static_cast<double>(machine.batch);
  const auto macs = static_cast<double>(row.count(4, kMaxWork));
  const auto made = static_cast<double>(row.count(5, kMaxWork));
  const double bytes = static_cast<double>(layer.bytes()) +
                       2 * made * samples * static_cast<double>(machine.parameter_bytes);
  const double work = roofline(machine, 2 * macs * samples, bytes);
  layer.forward = work + machine.launch;
  layer.backward = 2 * work + machine.launch;
  return layer;
}

constexpr std::array<std::string_view, 12> kAstraSim{"layer",
                                                     "reserved",
                                                     "forward cycles",
                                                     "forward collective",
                                                     "forward bytes",
                                                     "input gradient cycles",
                                                     "input gradient collective",
                                                     "input gradient bytes",
                                                     "weight gradient cycles",
                                                     "weight gradient collective",
                                                     "weight gradient bytes",
                                                     "update cycles"};

/// Only weight gradients may be summed up: those of data parallelism.
Layer layer_of_astra_sim(const Row& row, const Machine& machine) {
  constexpr std::size_t kForward = 2, kInput = 5, kWeight = 8;
  for (const std::size_t column : {kForward, kInput}) {
    if (row.cells[column + 1] != "NONE") {
      row.fail(column + 1, "NONE, as data parallelism has it");
    }
  }
  const std::string_view collective = row.cells[kWeight + 1];
  if (collective != "ALLREDUCE" && collective != "NONE") {
    row.fail(kWeight + 1, "ALLREDUCE or NONE");
  }
  const auto seconds = [&](std::size_t column) {
    return static_cast<double>(row.count(column, kMaxWork)) / machine.clock_hz;
  };
  Layer layer{row.name(0), seconds(kForward), seconds(kInput) + seconds(kWeight), {}};
  const std::uint64_t bytes = row.count(kWeight + 2, kMaxParameters);
  if (collective == "ALLREDUCE" && bytes > 0) layer.tensors = {bytes};
  return layer;
}

}  // namespace

double roofline(const Machine& machine, double operations, double bytes) {
  const double moving = machine.memory > 0 ? bytes / machine.memory : 0;
  return std::max(operations / machine.flops, moving);
}

Model parse_times(std::span<const Line> lines, const std::string& file, const Machine& machine) {
  return layers_of(lines, file, kTimes, [&](const Row& row) {
    return Layer{row.name(0), row.seconds(2), row.seconds(3),
                 row.tensors(1, machine.parameter_bytes)};
  });
}

Model parse_multiplications(std::span<const Line> lines, const std::string& file,
                            const Machine& machine) {
  if (!(machine.flops > 0)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{}:{}: the table has multiplications and no times: expected the "
                            "machine's operations a second (--flops)",
                            file, lines[0].number));
  }
  return layers_of(lines, file, kWork, [&](const Row& row) { return layer_of_work(row, machine); });
}

Model parse_astra_sim(std::span<const Line> lines, const std::string& file,
                      const Machine& machine) {
  constexpr std::array<std::string_view, 1> kCount{"number of layers"};
  if (lines.size() < 2) fail_at(file, lines[0].number, "expected the number of layers, found none");
  const std::uint64_t layers =
      Row{file, kCount, lines[1].number, {lines[1].text}}.count(0, kMaxLayers);
  if (lines.size() - 2 != layers) {
    fail_at(
        file, lines[1].number,
        fmt::format("expected as many lines as layers, {}, found {}", layers, lines.size() - 2));
  }
  Model model;
  for (const Line& line : lines.subspan(2)) {
    const Row row{file, kAstraSim, line.number, split_words(line.text)};
    row.check_width();
    model.layers.push_back(layer_of_astra_sim(row, machine));
  }
  return model;
}

}  // namespace multitree::training
