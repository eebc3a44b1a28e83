// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Each exchange is one call, a gathering two: how long the parts are, and the parts.
#include "tools/train/run/exchange.hpp"

#include <numeric>

namespace multitree::tools {

void CommunicatorExchange::all_reduce(const Vector& vector) {
  communicator_.run({.collective = Collective::AllReduce,
                     .send = vector.data,
                     .recv = vector.data,
                     .count = vector.count,
                     .type = vector.type,
                     .op = vector.op,
                     .wire = vector.wire});
}

std::vector<std::vector<std::byte>> CommunicatorExchange::all_gather(
    std::span<const std::byte> own) {
  std::vector<std::uint64_t> lengths(ranks());
  lengths[rank()] = own.size();
  communicator_.run({.collective = Collective::AllReduce,
                     .send = lengths.data(),
                     .recv = lengths.data(),
                     .count = lengths.size(),
                     .type = runtime::DataType::Uint64});
  std::vector<std::byte> all(std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0}));
  communicator_.run({.exchange = runtime::Exchange::AllGatherv,
                     .send = own.data(),
                     .recv = all.data(),
                     .type = runtime::DataType::Uint8,
                     .sent = runtime::Shares::one(own.size()),
                     .received = {{lengths.begin(), lengths.end()}, {}}});
  std::vector<std::vector<std::byte>> parts;
  auto begin = all.cbegin();
  for (const std::uint64_t length : lengths) {
    const auto end = begin + static_cast<std::ptrdiff_t>(length);
    parts.emplace_back(begin, end);
    begin = end;
  }
  return parts;
}

}  // namespace multitree::tools
