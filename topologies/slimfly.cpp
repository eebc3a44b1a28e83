// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Slim Fly (Besta, Hoefler, SC 2014) with one rank a router: graphs of McKay, Miller and Siran, of
/// diameter two and nearly as many routers as that allows. Of prime numbers only, not of their
/// powers.
#include <fmt/format.h>

#include <vector>

#include "topologies/families.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kLeastPrime = 3, kMostPrime = 211;

bool is_prime(std::uint32_t number) {
  for (std::uint32_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return number > 1;
}

/// The powers of the least number whose powers are all of 1 to q-1, from its 0th on.
std::vector<std::uint32_t> powers_of_generator(std::uint32_t q) {
  for (std::uint32_t generator = 2;; ++generator) {
    std::vector<std::uint32_t> powers{1};
    while (powers.back() * generator % q != 1) powers.push_back(powers.back() * generator % q);
    if (powers.size() == q - 1) return powers;
  }
}

/// By which differences of their numbers the routers of a column are linked, in the two halves.
struct SlimFlyDifferences {
  std::vector<std::uint32_t> first, second;
};

/// Even powers, and odd ones, up to that which is minus one, each with its negative: of q = 4w + 1
/// all even and all odd powers, of q = 4w - 1 one and minus one are in both.
SlimFlyDifferences slimfly_differences(std::uint32_t q) {
  const std::vector<std::uint32_t> powers = powers_of_generator(q);
  const std::uint32_t minus_one = (q - 1) / 2;
  SlimFlyDifferences sets;
  for (std::uint32_t i = 0; i <= minus_one; ++i) {
    if (i % 2 == 0 && i == minus_one) continue;
    std::vector<std::uint32_t>& set = i % 2 == 0 ? sets.first : sets.second;
    set.push_back(powers[i]);
    set.push_back(powers[(i + minus_one) % (q - 1)]);
  }
  return sets;
}

std::uint32_t read_prime(const Spec& spec) {
  const std::uint32_t q = spec.dims(1, 1)[0];
  if (q < kLeastPrime || q > kMostPrime || !is_prime(q)) {
    spec.fail(fmt::format("dims: expected a prime number from {} to {}, got {}", kLeastPrime,
                          kMostPrime, q));
  }
  return q;
}

//  slimfly:Q     half 0: Q columns x of Q routers y     half 1: Q columns m of Q routers c
//
//    in a column of half 0 routers whose numbers differ by one of the first set are linked, in half
//    1 by one of the second; and (x, y) with (m, c) where y = m*x + c.
//    rank = Q*Q*half + Q*column + number
Topology make_slimfly(const Spec& spec) {
  const std::uint32_t q = read_prime(spec), half = q * q;
  const SlimFlyDifferences sets = slimfly_differences(q);
  check_size(spec, 2 * half, std::uint64_t{half} * 2 * (q + sets.first.size()));
  const LinkSpeed speed = read_speed(spec);
  TopologyBuilder builder(spec.text());
  builder.set_shape({spec.name(), {q}});
  for (std::uint32_t rank = 0; rank < 2 * half; ++rank) builder.add_endpoint();
  const auto link = [&](std::uint32_t a, std::uint32_t b) {
    builder.add_duplex(NodeId{a}, NodeId{b}, speed.bandwidth, speed.latency);
  };
  const auto link_column = [&](std::uint32_t first, const std::vector<std::uint32_t>& set) {
    for (std::uint32_t y = 0; y < q; ++y) {
      for (const std::uint32_t difference : set) {
        const std::uint32_t other = (y + difference) % q;
        if (y < other) link(first + y, first + other);
      }
    }
  };
  for (std::uint32_t column = 0; column < q; ++column) {
    link_column(q * column, sets.first);
    link_column(half + q * column, sets.second);
  }
  for (std::uint32_t x = 0; x < q; ++x) {
    for (std::uint32_t m = 0; m < q; ++m) {
      for (std::uint32_t c = 0; c < q; ++c) link(q * x + (m * x + c) % q, half + q * m + c);
    }
  }
  return std::move(builder).build();
}

}  // namespace

TopologyFamily slimfly_family() {
  return {
      .name = "slimfly",
      .dims = "Q",
      .summary = "Slim Fly: diameter two, Q a prime number",
      .ranks = "2*Q^2",
      .links = "3*Q/2 a rank, rounded: within the columns of two halves, and between the halves",
      .parameters = kLinkParameters,
      .example = "slimfly:3",
      .make = make_slimfly};
}

}  // namespace multitree
