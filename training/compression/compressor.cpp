// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The table of ways of compressing.
#include "training/compression/compressor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "topologies/error.hpp"
#include "training/compression/compressors_internal.hpp"

namespace multitree::training {
namespace {

constexpr std::array kCompressions{
    Compression{"none", "floats as they are", "", "", make_plain},
    Compression{"bfloat16", "bfloat16 between ranks, sums in float", "", "", make_bfloat16},
    Compression{"lossless", "floats with Huffman codes for their exponents; nothing is lost", "",
                "", make_lossless},
    Compression{"half", "half between ranks, sums in float", "", "", make_half},
    Compression{"fp8", "floats of 8 bits between ranks, blocks of 64 with a scale, sums in float",
                "Micikevicius et al., FP8 Formats for Deep Learning, 2022",
                "format=e4m3: or e5m2, which has more range and a bit less", make_fp8},
    Compression{
        "int8", "whole numbers of 8 bits, a scale a block",
        "block scaling as in QSGD (Alistarh et al., NeurIPS 2017)",
        "form=agreed: scales that all ranks agree on first, sums exact; hop: quantised anew "
        "at each hop, blocks of 64; agreed: block=256: numbers of a scale; bits=8: of a "
        "sum, or 16",
        make_int8},
    Compression{"sign", "signs, and what most ranks say",
                "signSGD with majority vote (Bernstein et al., ICLR 2019)", "", make_sign},
    Compression{"top-k", "each rank's largest, gathered",
                "Deep Gradient Compression (Lin et al., ICLR 2018)",
                "share=0.01: of the numbers that travel", make_top_k},
    Compression{"random-k", "the same places at all ranks, drawn anew each time",
                "Stich et al., NeurIPS 2018", "share=0.01: of the numbers that travel",
                make_random_k},
    Compression{"powersgd", "a matrix as a product of two narrow ones",
                "PowerSGD (Vogels et al., NeurIPS 2019)", "rank=4: columns of each", make_powersgd},
};

}  // namespace

std::span<const Compression> compressions() { return kCompressions; }

std::unique_ptr<Compressor> make_compressor(std::string_view text, std::uint64_t seed) {
  const Spec spec = Spec::parse(text);
  const auto found =
      std::ranges::find(kCompressions, std::string_view(spec.name()), &Compression::name);
  if (found == kCompressions.end()) {
    std::string names;
    for (const Compression& row : kCompressions) names += fmt::format(" {}", row.name);
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("unknown compression '{}'; one of:{}", spec.name(), names));
  }
  auto compressor = found->make(spec, seed);
  spec.check_all_used();
  return compressor;
}

void add_error(std::span<float> numbers, std::span<const float> error) {
  if (!error.empty() && error.size() != numbers.size()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("error feedback: expected {} numbers or none, got {}", numbers.size(),
                            error.size()));
  }
  for (std::size_t i = 0; i < error.size(); ++i) numbers[i] += error[i];
}

}  // namespace multitree::training
