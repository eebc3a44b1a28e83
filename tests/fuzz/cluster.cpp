// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Files of clusters.
#include "fuzz.hpp"
#include "topologies/io/cluster_file.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::read(data, size, [](std::string_view text) {
    static_cast<void>(is_cluster_file(text));
    const cluster::Cluster cluster = parse_cluster_json(text, fuzz::kFile);
    if (!cluster.network) return;
    const std::string once = write_cluster_json(cluster);
    fuzz::expect(is_cluster_file(once), "written as another kind of file");
    fuzz::expect(write_cluster_json(parse_cluster_json(once, fuzz::kFile)) == once,
                 "read as another cluster");
  });
}
