// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A share of the numbers, and zeros for the others.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "topologies/error.hpp"
#include "training/compression/compressors_internal.hpp"

namespace multitree::training {
namespace {

double share_of(const Spec& options) {
  const std::string text = options.get("share", "0.01");
  double share = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (fault != std::errc() || end != text.data() + text.size() || !(share > 0 && share <= 1)) {
    options.fail(fmt::format("share: expected a number above 0 and up to 1, got '{}'", text));
  }
  return share;
}

/// Rounded up: of a few numbers one.
std::size_t part(double share, std::size_t count) {
  const double wanted = std::ceil(share * static_cast<double>(count));
  return std::min(count, static_cast<std::size_t>(wanted));
}

/// A number with its place, as it travels.
struct Placed {
  std::uint32_t place = 0;
  float number = 0;
};

/// The largest of each rank, which every rank adds in the order of ranks.
class Largest final : public Compressor {
 public:
  explicit Largest(double share) : share_(share) {}

  void sum(std::span<float> numbers, std::span<float> error, Exchange& exchange) override {
    add_error(numbers, error);
    const std::vector<Placed> own = largest_of(numbers);
    if (!error.empty()) {
      std::ranges::copy(numbers, error.begin());
      for (const Placed& one : own) error[one.place] = 0;
    }
    std::ranges::fill(numbers, 0.0F);
    for (const auto& bytes : exchange.gather(std::as_bytes(std::span(own)))) {
      for (std::size_t at = 0; at < bytes.size(); at += sizeof(Placed)) {
        Placed one;
        std::memcpy(&one, bytes.data() + at, sizeof one);
        numbers[one.place] += one.number;
      }
    }
  }

 private:
  [[nodiscard]] std::vector<Placed> largest_of(std::span<const float> numbers) const {
    std::vector<std::uint32_t> places(numbers.size());
    std::iota(places.begin(), places.end(), 0U);
    // NaNs first, so that they are seen; equal ones by their place, so that it is always the same.
    const auto rank_of = [&](std::uint32_t place) {
      const float magnitude = std::fabs(numbers[place]);
      return std::isnan(magnitude) ? std::numeric_limits<float>::infinity() : magnitude;
    };
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      const float x = rank_of(a), y = rank_of(b);
      return x != y ? x > y : a < b;
    };
    const std::size_t wanted = part(share_, numbers.size());
    std::ranges::nth_element(places, places.begin() + static_cast<std::ptrdiff_t>(wanted), before);
    places.resize(wanted);
    std::ranges::sort(places);
    std::vector<Placed> chosen;
    for (const std::uint32_t place : places) chosen.push_back({place, numbers[place]});
    return chosen;
  }

  double share_;
};

/// The same places at all ranks, drawn anew in each call. Without error feedback they are made
/// larger by as much as there are fewer, which is right in the mean.
class Drawn final : public Compressor {
 public:
  Drawn(double share, std::uint64_t seed) : share_(share), random_(seed) {}

  void sum(std::span<float> numbers, std::span<float> error, Exchange& exchange) override {
    add_error(numbers, error);
    const std::vector<std::size_t> places = draw(numbers.size());
    std::vector<float> chosen;
    for (const std::size_t place : places) chosen.push_back(numbers[place]);
    if (!error.empty()) {
      std::ranges::copy(numbers, error.begin());
      for (const std::size_t place : places) error[place] = 0;
    }
    exchange.sum(std::span<float>(chosen));
    const float factor = error.empty() && !places.empty() ? static_cast<float>(numbers.size()) /
                                                                static_cast<float>(places.size())
                                                          : 1.0F;
    std::ranges::fill(numbers, 0.0F);
    for (std::size_t i = 0; i < places.size(); ++i) numbers[places[i]] = factor * chosen[i];
  }

 private:
  /// Ascending; every set of places is as likely as any other (Knuth, 3.4.2, algorithm S).
  std::vector<std::size_t> draw(std::size_t count) {
    std::vector<std::size_t> places;
    std::size_t wanted = part(share_, count);
    for (std::size_t i = 0; i < count && wanted > 0; ++i) {
      const double chance = static_cast<double>(random_() >> 11) * 0x1p-53;
      if (chance * static_cast<double>(count - i) >= static_cast<double>(wanted)) continue;
      places.push_back(i);
      --wanted;
    }
    return places;
  }

  double share_;
  std::mt19937_64 random_;
};

}  // namespace

std::unique_ptr<Compressor> make_top_k(const Spec& options, std::uint64_t) {
  return std::make_unique<Largest>(share_of(options));
}

std::unique_ptr<Compressor> make_random_k(const Spec& options, std::uint64_t seed) {
  return std::make_unique<Drawn>(share_of(options), seed);
}

}  // namespace multitree::training
