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

/// A layer table: the line "name,params,forward,backward", then a line a layer in forward order.
/// `params` are the parameters of a layer, those of its tensors joined by '+' ("23232+64"; 0 for
/// none); `forward` and `backward` are times with their unit ("213.1us"). Blank lines and those
/// that begin with '#' are skipped; no quotes.
/// \param file is only used in messages, and for the name of the model.
/// \throws Error(InvalidInput) "file:line: column 'name': what was expected and found".
Model parse_model(std::string_view text, const std::string& file,
                  std::uint32_t bytes_per_parameter = 4);

/// The same from a file, or from standard input ("-"). \throws Error(Io) if it cannot be read.
Model read_model(const std::string& path, std::uint32_t bytes_per_parameter = 4);

}  // namespace multitree::training
