// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Random and special networks for the tests of certificates.
#include "networks.hpp"

#include <string>
#include <utility>

namespace multitree::test {
namespace {

Bandwidth gigabytes(std::uint64_t count) { return Bandwidth{count * 1'000'000'000}; }

}  // namespace

Topology random_direct(std::mt19937_64& random, std::uint32_t ranks, std::uint32_t extra,
                       std::uint32_t most) {
  TopologyBuilder builder("random");
  const auto link = [&](std::uint32_t a, std::uint32_t b) {
    builder.add_duplex(NodeId{a}, NodeId{b}, gigabytes(1 + random() % most), Time{0});
  };
  for (std::uint32_t r = 0; r < ranks; ++r) builder.add_endpoint();
  for (std::uint32_t r = 1; r < ranks; ++r) link(static_cast<std::uint32_t>(random() % r), r);
  for (std::uint32_t i = 0; i < extra && ranks > 1; ++i) {
    const auto a = static_cast<std::uint32_t>(random() % ranks);
    link(a, static_cast<std::uint32_t>((a + 1 + random() % (ranks - 1)) % ranks));
  }
  return std::move(builder).build();
}

Topology random_switched(std::mt19937_64& random, std::uint32_t ranks, std::uint32_t switches,
                         std::uint32_t most) {
  TopologyBuilder builder("random");
  std::vector<NodeId> ring;
  for (std::uint32_t r = 0; r < ranks; ++r) ring.push_back(builder.add_endpoint());
  for (std::uint32_t s = 0; s < switches; ++s) {
    const auto at = static_cast<std::ptrdiff_t>(random() % (ring.size() + 1));
    ring.insert(ring.begin() + at, builder.add_switch("s" + std::to_string(s)));
  }
  const auto link = [&](std::size_t a, std::size_t b) {
    if (a != b) builder.add_link(ring[a], ring[b], gigabytes(1 + random() % most), Time{0});
  };
  for (std::size_t i = 0; i < ring.size(); ++i) link(i, (i + 1) % ring.size());
  for (std::size_t i = 0; i < 2 * ring.size(); ++i) {
    link(random() % ring.size(), random() % ring.size());
  }
  return std::move(builder).build();
}

Topology boxes(const std::vector<std::uint32_t>& gpus, std::uint32_t inside) {
  TopologyBuilder builder("boxes");
  const NodeId between = builder.add_switch("between");
  for (std::size_t box = 0; box < gpus.size(); ++box) {
    const NodeId within = builder.add_switch("box" + std::to_string(box));
    for (std::uint32_t g = 0; g < gpus[box]; ++g) {
      const NodeId gpu = builder.add_endpoint();
      builder.add_duplex(gpu, within, gigabytes(inside), Time{0});
      builder.add_duplex(gpu, between, gigabytes(1), Time{0});
    }
  }
  return std::move(builder).build();
}

}  // namespace multitree::test
