// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All numbers, rounded or packed where they travel.
#include <vector>

#include "runtime/kernels/wire.hpp"
#include "training/compression/compressors_internal.hpp"

namespace multitree::training {
namespace {

using runtime::WireType;

/// What it does not tell is what its own numbers lose by rounding; what sums lose on their way is
/// nobody's.
class Wired final : public Compressor {
 public:
  explicit Wired(WireType wire) : wire_(wire) {}

  void sum(std::span<float> numbers, std::span<float> error, Exchange& exchange) override {
    add_error(numbers, error);
    if (!error.empty()) {
      std::vector<float> told(numbers.begin(), numbers.end());
      runtime::round_to(wire_, told.data(), told.size());
      for (std::size_t i = 0; i < error.size(); ++i) {
        error[i] = numbers[i] - told[i];
        numbers[i] = told[i];
      }
    }
    exchange.sum(numbers, wire_);
  }

 private:
  WireType wire_;
};

}  // namespace

std::unique_ptr<Compressor> make_wired(WireType wire) { return std::make_unique<Wired>(wire); }

std::unique_ptr<Compressor> make_plain(const Spec&, std::uint64_t) {
  return make_wired(WireType::AsIs);
}

std::unique_ptr<Compressor> make_lossless(const Spec&, std::uint64_t) {
  return make_wired(WireType::Lossless);
}

std::unique_ptr<Compressor> make_fp8(const Spec& options, std::uint64_t) {
  const std::string format = options.get("format", "e4m3");
  if (format != "e4m3" && format != "e5m2") {
    options.fail("format: expected e4m3 or e5m2, got '" + format + "'");
  }
  return make_wired(runtime::parse_wire(format));
}

std::unique_ptr<Compressor> make_bfloat16(const Spec&, std::uint64_t) {
  return make_wired(WireType::BFloat16);
}

std::unique_ptr<Compressor> make_half(const Spec&, std::uint64_t) {
  return make_wired(WireType::Float16);
}

}  // namespace multitree::training
