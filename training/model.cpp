// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums over layers, and which form a model's table has.
#include "training/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>

#include "algorithms/interchange/chakra_internal.hpp"
#include "study/systolic.hpp"
#include "topologies/error.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/text_internal.hpp"
#include "training/rows_internal.hpp"

namespace multitree::training {
namespace {

/// SCALE-Sim's tables: layers on the systolic arrays of the MULTITREE study, an array a sample.
Model parse_systolic(std::string_view text, const std::string& file, const Machine& machine) {
  const study::Workload workload = study::parse_workloads(text, file).front();
  const std::vector<study::LayerCycles> cycles =
      study::training_cycles(workload, {.arrays = machine.batch});
  Model model;
  for (std::size_t l = 0; l < cycles.size(); ++l) {
    const study::Layer& layer = workload.layers[l];
    model.layers.push_back({layer.name,
                            static_cast<double>(cycles[l].forward) / machine.clock_hz,
                            static_cast<double>(cycles[l].backward()) / machine.clock_hz,
                            {}});
    if (layer.parameters > 0) {
      model.layers.back().tensors = {layer.parameters * machine.parameter_bytes};
    }
  }
  return model;
}

/// A form by its first line.
struct Form {
  std::string_view header;
  Model (*parse)(std::span<const Line>, const std::string&, const Machine&);
};
constexpr std::array kForms{
    Form{"name,params,forward,backward", parse_times},
    Form{"name,kind,params,tensor_elems,fwd_macs,out_elems", parse_multiplications},
    Form{"DATA", parse_astra_sim},
};
constexpr std::string_view kSystolicHeader = "Layer name,";

/// Without blank lines and comments.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  std::size_t number = 0;
  for (const std::string_view line : split_at(text, '\n')) {
    ++number;
    if (!line.empty() && line.front() != '#') lines.push_back({number, line});
  }
  return lines;
}

Model parse_form(std::string_view text, const std::string& file, const Machine& machine) {
  const std::vector<Line> lines = lines_of(text);
  if (lines.empty()) fail_at(file, 1, "expected a table of layers, found nothing");
  if (lines[0].text.starts_with(kSystolicHeader)) return parse_systolic(text, file, machine);
  const auto form = std::ranges::find(kForms, lines[0].text, &Form::header);
  if (form == kForms.end()) {
    fail_at(file, lines[0].number,
            fmt::format("expected the line '{}', '{}', '{}...' (SCALE-Sim) or '{}' (ASTRA-sim), "
                        "found '{}'",
                        kForms[0].header, kForms[1].header, kSystolicHeader, kForms[2].header,
                        lines[0].text));
  }
  Model model = form->parse(lines, file, machine);
  if (model.layers.empty()) {
    fail_at(file, lines.back().number + 1, "expected a layer, found none");
  }
  return model;
}

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

Model parse_model(std::string_view text, const std::string& file, const Machine& machine) {
  Model model;
  if (is_chakra_trace(text)) {
    model = parse_chakra(text, file, machine);
  } else {
    check_text(text, file);
    model = parse_form(text, file, machine);
  }
  model.name = std::filesystem::path(file).stem().string();
  return model;
}

Model read_model(const std::string& path, const Machine& machine) {
  const std::string_view table = built_in_table(path);
  if (!table.empty() && !std::filesystem::exists(path)) return parse_model(table, path, machine);
  return parse_model(read_text_file(path), path == "-" ? "standard input" : path, machine);
}

}  // namespace multitree::training
