// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What is trained, as communication sees it: layers that take time and have gradients.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace multitree::training {

/// One layer of a network. Its gradients are there when its backward pass is, and the next forward
/// pass of it needs their sum.
struct Layer {
  std::string name;
  double forward = 0;   ///< seconds
  double backward = 0;  ///< seconds
  /// Bytes of the gradients of each of its tensors (weights, bias, ...); none without parameters.
  std::vector<std::uint64_t> tensors;

  [[nodiscard]] std::uint64_t bytes() const;
  bool operator==(const Layer&) const = default;
};

/// A network: layers in forward order, at least one.
struct Model {
  std::string name;
  std::vector<Layer> layers;

  [[nodiscard]] double forward() const;   ///< seconds
  [[nodiscard]] double backward() const;  ///< seconds
  [[nodiscard]] std::uint64_t bytes() const;
  bool operator==(const Model&) const = default;
};

/// What tables may hold, so that sums of bytes are far from leaving 64 bits.
/// \{
inline constexpr std::uint64_t kMaxParameters = std::uint64_t{1} << 40;  ///< of a tensor
inline constexpr std::size_t kMaxLayers = 1 << 20;
/// \}

/// What computes, for tables that do not say how long.
struct Machine {
  std::uint32_t parameter_bytes = 4;  ///< of a gradient
  std::uint32_t batch = 16;           ///< samples a rank
  double flops = 0;                   ///< operations a second that layers reach
  double memory = 0;                  ///< bytes a second; 0: it does not count
  double launch = 0;                  ///< seconds to start a pass of a layer, beside its work
  double clock_hz = 1e9;              ///< of tables in cycles, and of systolic arrays
};

/// What built-in models are computed by where nobody says: 45 Tflop/s, 12 us to start a pass.
Machine reference_machine();

/// A model from a table, layers in forward order, of the form that its first line tells. Blank
/// lines and those that begin with '#' are skipped; no quotes.
///  - "name,params,forward,backward": measured times with their unit ("213.1us"). `params` are the
///    parameters of a layer, those of its tensors joined by '+' ("23232+64"; 0 for none).
///  - "name,kind,params,tensor_elems,fwd_macs,out_elems": multiplications of a sample and numbers
///    that it makes; times are a roofline of the machine, and a launch for each pass. Tensors as
///    above in tensor_elems.
///  - "Layer name, IFMAP Height, ...": shapes as SCALE-Sim has them (docs/study.md), on a systolic
///    array a sample.
///  - "DATA": ASTRA-sim's text workloads of data parallelism: the number of layers, then a line of
///    12 words a layer; times in cycles of the machine.
/// Or from one rank's Chakra execution trace of data parallelism, in binary form: computing before
/// the first all-reduces are waited for, split into layers by the all-reduces that it leads to.
/// \param file is only used in messages, and for the name of the model.
/// \throws Error(InvalidInput) "file:line: column 'name': what was expected and found", for traces
/// "file: node N ('name'): ...";
/// Error(InvalidArgument) if the table needs more of the machine.
Model parse_model(std::string_view text, const std::string& file, const Machine& machine = {});

/// Networks whose tables of multiplications the program has in it, by name.
/// \{
std::vector<std::string_view> built_in_models();
/// Empty if there is none of that name.
std::string_view built_in_table(std::string_view name);
/// \}

/// The same from a file, from standard input ("-"), or, where no file has that path, of a network
/// that is built in. \throws Error(Io) if it cannot be read.
Model read_model(const std::string& path, const Machine& machine = {});

}  // namespace multitree::training
