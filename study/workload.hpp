// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Networks that are trained: their layers as products of matrices, and tables of them.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace multitree::study {

/// A product of a rows x depth and a depth x columns matrix. All three are 0 where there is nothing
/// to multiply (a table lookup).
struct Gemm {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t depth = 0;
  auto operator<=>(const Gemm&) const = default;
};

/// Multiplications of a product.
inline std::uint64_t volume(const Gemm& gemm) { return gemm.rows * gemm.columns * gemm.depth; }

/// One layer, as one sample sees it.
struct Layer {
  std::string name;
  /// The forward pass: rows = output pixels, columns = filters, depth = filter area x channels.
  Gemm forward;
  /// What the layer reads: pixels of one channel, padding included, and channels.
  std::uint64_t input_pixels = 0;
  std::uint64_t channels = 0;
  /// How often a sample runs the layer (attention heads, regions of interest).
  std::uint64_t repeat = 1;
  /// Weights, each with a gradient. 0 for products of activations, and for weights that an earlier
  /// layer counts already.
  std::uint64_t parameters = 0;
  bool operator==(const Layer&) const = default;
};

/// A network: layers in forward order.
struct Workload {
  std::string name;
  std::vector<Layer> layers;
  bool operator==(const Workload&) const = default;
};

/// What tables may hold, so that the cycles of a product are far from leaving 64 bits.
/// \{
inline constexpr std::uint64_t kMaxVolume = std::uint64_t{1} << 40;  ///< of a layer and pass
inline constexpr std::uint64_t kMaxParameters = std::uint64_t{1} << 40;
inline constexpr std::size_t kMaxLayers = 4096;  ///< of a workload
/// \}

/// A convolution without padding: whoever pads gives the padded size.
struct Convolution {
  std::uint64_t input_height = 1;
  std::uint64_t input_width = 1;
  std::uint64_t filter_height = 1;
  std::uint64_t filter_width = 1;
  std::uint64_t channels = 1;
  std::uint64_t filters = 1;
  std::uint64_t stride = 1;
};

/// A layer of floor((input - filter) / stride) + 1 output pixels each way. A fully connected layer
/// is a 1x1 convolution of one pixel.
/// \pre all numbers are at least 1 and below 2^32, and the filter fits into the input.
/// \throws Error(InvalidArgument) if a pass takes more than kMaxVolume multiplications or the layer
/// has more than kMaxParameters weights.
Layer make_layer(std::string name, const Convolution& convolution, std::uint64_t repeat = 1);

std::uint64_t total_parameters(const Workload& workload);

/// Multiplications of the forward pass of one sample.
std::uint64_t total_multiplications(const Workload& workload);

/// Layer tables (docs/study.md), of either form, which the header line tells:
///  - SCALE-Sim's (Samajdar et al., ISPASS 2020) "Layer name, IFMAP Height, IFMAP Width, Filter
///    Height, Filter Width, Channels, Num Filter, Strides,", one workload, which is named by the
///    file. Two columns may follow: "Repeat" and "Parameters" (else the weights of the filters).
///    Rows with a first cell alone are titles and skipped.
///  - "workload,layer,params,fwd_macs,out_elems", several workloads, without shapes: the product
///    is recovered by depth = fwd_macs / out_elems, columns = params / depth, rows = out_elems /
///    columns, and filters count as 1x1. A row without fwd_macs is a table lookup: it has
///    gradients and costs no time.
/// Blank lines, spaces and a comma at the end of the line are ignored; no quotes.
/// \param file is only used in messages, and for the name of the workload.
/// \throws Error(InvalidInput) "file:line: column 'name': what was expected and found".
std::vector<Workload> parse_workloads(std::string_view text, const std::string& file);

/// The same from a file, or from standard input ("-"). \throws Error(Io) if it cannot be read.
std::vector<Workload> read_workloads(const std::string& path);

}  // namespace multitree::study
