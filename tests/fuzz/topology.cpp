// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Networks in files of one extension, which CMake tells: each format is a target of its own.
#include <algorithm>

#include "fuzz.hpp"
#include "topologies/io/io.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const TopologyFormat& format =
      *std::ranges::find(topology_formats(), MULTITREE_FUZZ_EXTENSION, &TopologyFormat::extension);
  return fuzz::read(data, size, [](std::string_view text) {
    const Topology topology = format.parse(text, fuzz::kFile);
    const std::string once = write_topology_json(topology);
    fuzz::expect(write_topology_json(parse_topology_json(once, fuzz::kFile)) == once,
                 "written in two ways");
    if (format.write == nullptr) return;
    const std::string own = format.write(topology);
    fuzz::expect(format.write(format.parse(own, fuzz::kFile)) == own, "written in two ways");
  });
}
