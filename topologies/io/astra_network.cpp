// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A network of ASTRA-sim's dimensions.
#include <fmt/format.h>

#include <algorithm>

#include "topologies/io/astra_network_internal.hpp"

namespace multitree {
namespace {

class AstraGrid {
 public:
  AstraGrid(const std::vector<AstraDimension>& dims, const std::string& name)
      : dims_(dims), builder_(name) {}

  Topology build() {
    std::uint32_t ranks = 1;
    for (const AstraDimension& dim : dims_) ranks *= dim.size;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) builder_.add_endpoint();
    std::uint32_t next = ranks;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      first_switch_.push_back(next);
      if (dims_[d].kind != AstraKind::Switch) continue;
      for (std::uint32_t i = 0; i < ranks / dims_[d].size; ++i, ++next) {
        builder_.add_switch(fmt::format("dim{}sw{}", d, i));
      }
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      std::uint32_t stride = 1;
      for (std::size_t d = 0; d < dims_.size(); ++d) {
        join(rank, d, stride);
        stride *= dims_[d].size;
      }
    }
    const auto is_ring = [](const AstraDimension& dim) { return dim.kind == AstraKind::Ring; };
    if (std::ranges::all_of(dims_, is_ring)) {
      Shape shape{dims_.size() == 1 ? "ring" : "torus", {}};
      for (const AstraDimension& dim : dims_) shape.dims.push_back(dim.size);
      builder_.set_shape(std::move(shape));
    }
    return std::move(builder_).build();
  }

 private:
  // The links of a rank in a dimension that its lower peers have not made.
  void join(std::uint32_t rank, std::size_t d, std::uint32_t stride) {
    const AstraDimension& dim = dims_[d];
    const std::uint32_t coordinate = rank / stride % dim.size;
    const std::uint32_t origin = rank - coordinate * stride;  // the peer with coordinate 0
    const auto add = [&](std::uint32_t peer) {
      builder_.add_duplex(NodeId{rank}, NodeId{peer}, dim.bandwidth, dim.latency);
    };
    switch (dim.kind) {
      case AstraKind::Ring:
        if (coordinate + 1 < dim.size) {
          add(rank + stride);
        } else if (dim.size > 2) {
          add(origin);
        }
        break;
      case AstraKind::FullyConnected:
        for (std::uint32_t peer = coordinate + 1; peer < dim.size; ++peer) {
          add(origin + peer * stride);
        }
        break;
      case AstraKind::Switch:
        add(first_switch_[d] + rank % stride + origin / (stride * dim.size) * stride);
        break;
    }
  }

  const std::vector<AstraDimension>& dims_;
  TopologyBuilder builder_;
  std::vector<std::uint32_t> first_switch_;
};

}  // namespace

Topology astra_network(const std::vector<AstraDimension>& dims, const std::string& name) {
  return AstraGrid(dims, name).build();
}

}  // namespace multitree
