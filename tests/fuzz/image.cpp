// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Images of tables for interfaces. Their checksums are mended, as nothing else would come past
/// them.
#include "nic/encode/image.hpp"
#include "fuzz.hpp"
#include "nic/encode/format_internal.hpp"
#include "nic/table/check.hpp"
#include "topologies/registry.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Topology network = make_topology("ring:4");
  const auto read = [](std::string_view text) {
    const nic::Tables tables = nic::read_image(text, fuzz::kFile);
    static_cast<void>(nic::write_image(tables));
    if (tables.ranks == network.num_ranks()) static_cast<void>(nic::check_tables(tables, network));
  };
  fuzz::read(data, size, read);
  if (size < sizeof(std::uint32_t)) return 0;
  std::string mended(reinterpret_cast<const char*>(data), size - sizeof(std::uint32_t));
  const std::uint32_t checksum = nic::image_checksum(mended);
  for (const int shift : {0, 8, 16, 24}) mended += static_cast<char>(checksum >> shift & 0xffU);
  return fuzz::read(reinterpret_cast<const std::uint8_t*>(mended.data()), mended.size(), read);
}
