// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rings, tori and meshes of any number of dimensions.
#include <algorithm>
#include <limits>

#include "topologies/cayley.hpp"
#include "topologies/families.hpp"
#include "topologies/registry.hpp"
#include "topologies/spec.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

// The rank after `rank` in a dimension, if a link leads there.
//
//   dims 4x3: rank = x + 4*y        stride(x) = 1, stride(y) = 4
//    y=2   8 -- 9 --10 --11 --(8)   coordinate = rank / stride % size
//    y=1   4 -- 5 -- 6 -- 7 --(4)   step up   = rank + stride
//    y=0   0 -- 1 -- 2 -- 3 --(0)   wrap      = rank + stride - stride*size
//
// In a dimension of size 2 the wrap doubles the same pair: it is one only where `wrap_from` is 2.
std::optional<std::uint32_t> next_in_dim(std::uint32_t rank, std::uint32_t stride,
                                         std::uint32_t size, std::uint32_t wrap_from) {
  if (rank / stride % size + 1 < size) return rank + stride;
  if (size >= wrap_from) return rank + stride - stride * size;
  return std::nullopt;
}

/// Dimensions of size `wrap_from` and more are rings, others lines.
Topology make_grid(const Spec& spec, const std::vector<std::uint32_t>& dims,
                   std::uint32_t wrap_from, const LinkSpeed& usual = kStudyLink) {
  const std::vector<LinkSpeed> speeds = read_speeds(spec, dims.size(), usual);
  std::uint32_t ranks = 1;
  for (const std::uint32_t size : dims) ranks *= size;

  TopologyBuilder builder(spec.text());
  builder.set_shape({spec.name(), dims});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) builder.add_endpoint();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::uint32_t stride = 1;
    for (std::size_t dim = 0; dim < dims.size(); ++dim) {
      if (const auto next = next_in_dim(rank, stride, dims[dim], wrap_from)) {
        builder.add_duplex(NodeId{rank}, NodeId{*next}, speeds[dim].bandwidth, speeds[dim].latency);
      }
      stride *= dims[dim];
    }
  }
  return std::move(builder).build();
}

Topology make_ring(const Spec& spec) { return make_grid(spec, spec.dims(1, 1), 3); }

Topology make_torus(const Spec& spec) {
  const bool doubled = spec.get_number("double", 0, 0, 1) == 1;
  return make_grid(spec, spec.dims(1, SIZE_MAX), doubled ? 2 : 3);
}

Topology make_mesh(const Spec& spec) {
  return make_grid(spec, spec.dims(1, SIZE_MAX), std::numeric_limits<std::uint32_t>::max());
}

/// Links of a TPU v4 carry 400 Gb/s in each direction, six a chip (Jouppi et al., "TPU v4: An
/// Optically Reconfigurable Supercomputer for Machine Learning with Hardware Support for
/// Embeddings", ISCA 2023). No latency is published.
constexpr LinkSpeed kTpuV4Link{{50'000'000'000}, kStudyLink.latency};

/// Parts of rings are paths.
Structure rings(const std::vector<std::uint32_t>& dims) {
  return grid_structure(dims, Line::Ring, "mesh");
}

}  // namespace

TopologyFamily mesh_family() {
  return {.name = "mesh",
          .dims = "AxBx...",
          .summary = "grid without wrap-around links",
          .ranks = "A*B*...",
          .links = "a line in each dimension",
          .parameters = kGridParameters,
          .example = "mesh:4x4",
          .make = make_mesh,
          .structure = [](const auto& dims) { return grid_structure(dims, Line::Path, "mesh"); },
          .speeds_by_dimension = true};
}

TopologyFamily ring_family() {
  return {.name = "ring",
          .dims = "N",
          .summary = "each rank linked to the next, the last to the first",
          .ranks = "N",
          .links = "each rank to the next; none for N = 1, one pair for N = 2",
          .parameters = kLinkParameters,
          .example = "ring:8",
          .make = make_ring,
          .structure = rings,
          .graph = [](const Spec& spec, std::uint64_t most_ranks) {
            return CayleyGraph::torus(spec.dims(1, 1, 1, most_ranks));
          }};
}

TopologyFamily tpu_v4_family() {
  return {.name = "tpu-v4",
          .dims = "AxBxC",
          .summary = "slice of a TPU v4 pod: a torus of three dimensions",
          .ranks = "A*B*C",
          .links = "as torus:AxBxC; real slices wrap where a size is a multiple of 4",
          .parameters = "bw=50GB/s, lat=150ns: of every link, or a list with one value a dimension",
          .example = "tpu-v4:4x2x2",
          .make = [](const Spec& spec) { return make_grid(spec, spec.dims(3, 3), 3, kTpuV4Link); },
          .structure = rings,
          .graph =
              [](const Spec& spec, std::uint64_t most_ranks) {
                return CayleyGraph::torus(spec.dims(3, 3, 1, most_ranks));
              },
          .speeds_by_dimension = true,
          .bandwidth = kTpuV4Link.bandwidth};
}

TopologyFamily torus_family() {
  return {.name = "torus",
          .dims = "AxBx...",
          .summary = "grid with wrap-around links; a size-2 dimension has one link a pair",
          .ranks = "A*B*...",
          .links = "a ring in each dimension; a size-2 dimension has one pair, size 1 none",
          .parameters =
              "double=0: 1 for two links a pair in size-2 dimensions; bw=16GB/s, "
              "lat=150ns: of every link, or a list with one value a dimension",
          .example = "torus:4x4",
          .make = make_torus,
          .structure = rings,
          .graph =
              [](const Spec& spec, std::uint64_t most_ranks) {
                const bool doubled = spec.get_number("double", 0, 0, 1) == 1;
                return CayleyGraph::torus(spec.dims(1, SIZE_MAX, 1, most_ranks), doubled);
              },
          .speeds_by_dimension = true};
}

}  // namespace multitree
