// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A bit a number, and what most ranks say.
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "training/compression/compressors_internal.hpp"

namespace multitree::training {
namespace {

/// Ranks that say plus are counted, in fields of words that no sum overflows: of 16 ranks 5 bits a
/// number. The sum is the sign that most have, 0 where neither is, times the mean magnitudes of
/// all ranks.
class Signs final : public Compressor {
 public:
  void sum(std::span<float> numbers, std::span<float> error, Exchange& exchange) override {
    add_error(numbers, error);
    const std::uint32_t ranks = exchange.ranks();
    const auto width = static_cast<std::size_t>(std::bit_width(ranks));
    const std::size_t fields = 32 / width;
    std::vector<std::int32_t> words((numbers.size() + fields - 1) / fields);
    double magnitudes = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      magnitudes += std::fabs(static_cast<double>(numbers[i]));
      const std::uint32_t plus = std::signbit(numbers[i]) ? 0U : 1U;
      auto word = static_cast<std::uint32_t>(words[i / fields]);
      word |= plus << (i % fields * width);
      words[i / fields] = static_cast<std::int32_t>(word);
    }
    auto mean = static_cast<float>(
        numbers.empty() ? 0.0 : magnitudes / static_cast<double>(numbers.size()));
    for (std::size_t i = 0; i < error.size(); ++i) {
      error[i] = numbers[i] - std::copysign(mean, numbers[i]);
      if (!std::isfinite(error[i])) error[i] = 0;
    }
    exchange.sum(words);
    exchange.sum(std::span(&mean, 1));
    const std::uint32_t mask = (std::uint32_t{1} << width) - 1;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::uint32_t plus =
          static_cast<std::uint32_t>(words[i / fields]) >> (i % fields * width) & mask;
      const float sign = 2 * plus > ranks ? 1.0F : -1.0F;
      numbers[i] = 2 * plus == ranks ? 0.0F * mean : sign * mean;
    }
  }
};

}  // namespace

std::unique_ptr<Compressor> make_sign(const Spec&, std::uint64_t) {
  return std::make_unique<Signs>();
}

}  // namespace multitree::training
