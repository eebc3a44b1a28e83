// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums of gradients that travel as fewer bytes, by name: "bfloat16", "top-k?share=0.01".
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "training/compression/exchange.hpp"

namespace multitree {
class Spec;
}

namespace multitree::training {

/// Of one rank and one vector, and may remember things from one call to the next: a model whose
/// layers travel apart has one for each. All ranks make theirs with the same spec and seed.
class Compressor {
 public:
  Compressor() = default;
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  virtual ~Compressor() = default;

  /// Collective. In place: of this rank's numbers about their sums over all ranks, the same bits at
  /// every rank. `error`, the caller's, is empty, or has one number for each: it is added before,
  /// and after the call has what this rank wanted to tell and could not, to be told the next time.
  /// Begins with zeros. \throws as Exchange; Error(InvalidArgument) if `error` has another length
  virtual void sum(std::span<float> numbers, std::span<float> error, Exchange& exchange) = 0;
};

/// A way of compressing. make() reads its parameters from `options`.
struct Compression {
  std::string_view name;
  std::string_view summary;          ///< one line
  std::string_view source;           ///< where it is from
  std::string_view parameters = {};  ///< its options, documented
  std::unique_ptr<Compressor> (*make)(const Spec& options, std::uint64_t seed);
};

/// All of them, the plain ones first.
std::span<const Compression> compressions();

/// \param seed where anything is random. \throws Error(InvalidArgument) listing the names, or
/// naming an option.
std::unique_ptr<Compressor> make_compressor(std::string_view spec, std::uint64_t seed = 1);

}  // namespace multitree::training
