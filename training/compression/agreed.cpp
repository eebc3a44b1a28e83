// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whole numbers times scales that all ranks have agreed on, so that sums are exact.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/kernels/wire.hpp"
#include "topologies/error.hpp"
#include "training/compression/compressors_internal.hpp"

namespace multitree::training {
namespace {

/// Every rank's number is a whole one from -most to most, `most` the largest of which all ranks'
/// sum still fits: no sum on the way overflows, in whatever order they are added.
template <typename Integer>
class Agreed final : public Compressor {
 public:
  Agreed(const Spec& options, std::size_t block) : options_(options), block_(block) {}

  void sum(std::span<float> numbers, std::span<float> error, Exchange& exchange) override {
    add_error(numbers, error);
    const float most = most_for(exchange.ranks());
    std::vector<float> scales = largest(numbers);
    exchange.max(scales);
    for (float& scale : scales) scale /= most;
    std::vector<Integer> integers(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const float scale = scales[i / block_];
      const bool usable = scale > 0 && std::isfinite(scale);
      const float whole =
          usable ? std::clamp(std::nearbyint(numbers[i] / scale), -most, most) : 0.0F;
      integers[i] = static_cast<Integer>(whole);
      if (!error.empty()) error[i] = std::isfinite(scale) ? numbers[i] - whole * scale : 0.0F;
    }
    exchange.sum(std::span<Integer>(integers));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const float scale = scales[i / block_];
      numbers[i] = std::isfinite(scale) ? static_cast<float>(integers[i]) * scale
                                        : std::numeric_limits<float>::quiet_NaN();
    }
  }

 private:
  [[nodiscard]] float most_for(std::uint32_t ranks) const {
    const std::uint32_t most =
        static_cast<std::uint32_t>(std::numeric_limits<Integer>::max()) / ranks;
    if (most == 0) {
      throw Error(ErrorCode::Unsupported, options_.text() + ": expected at most " +
                                              std::to_string(std::numeric_limits<Integer>::max()) +
                                              " ranks, whose sums fit the bits; got " +
                                              std::to_string(ranks) +
                                              "; bits=16 or form=hop serve more");
    }
    return static_cast<float>(most);
  }

  /// By block; infinite where anything is not finite.
  [[nodiscard]] std::vector<float> largest(std::span<const float> numbers) const {
    std::vector<float> all((numbers.size() + block_ - 1) / block_);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const float magnitude = std::fabs(numbers[i]);
      float& most = all[i / block_];
      most = std::isfinite(magnitude) ? std::max(most, magnitude)
                                      : std::numeric_limits<float>::infinity();
    }
    return all;
  }

  Spec options_;
  std::size_t block_;
};

}  // namespace

std::unique_ptr<Compressor> make_int8(const Spec& options, std::uint64_t) {
  const std::string form = options.get("form", "agreed");
  if (form == "hop") return make_wired(runtime::WireType::Int8);
  if (form != "agreed") options.fail("form: expected agreed or hop, got '" + form + "'");
  const std::uint32_t block = options.get_number("block", 256, 1, 1U << 20);
  const std::uint32_t bits = options.get_number("bits", 8, 8, 16);
  if (bits == 8) return std::make_unique<Agreed<std::int8_t>>(options, block);
  if (bits == 16) return std::make_unique<Agreed<std::int16_t>>(options, block);
  options.fail("bits: expected 8 or 16, got " + std::to_string(bits));
}

}  // namespace multitree::training
