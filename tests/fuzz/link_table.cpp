// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Measured times of links.
#include "algorithms/tuning/link_table.hpp"
#include "fuzz.hpp"
#include "topologies/registry.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Topology network = make_topology("ring:4");
  return fuzz::read(data, size, [](std::string_view text) {
    const LinkTable table = parse_link_table_json(text, fuzz::kFile);
    const std::string once = write_link_table_json(table);
    fuzz::expect(parse_link_table_json(once, fuzz::kFile) == table, "read as another table");
    static_cast<void>(cost_model(network, table));
    // Of a network that it lacks links of it says so by their names.
    try {
      static_cast<void>(with_times(network, table));
    } catch (const Error&) {
    }
  });
}
