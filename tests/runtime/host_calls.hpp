// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Small calls of ranks that share the memory of a host.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/communicator.hpp"

namespace multitree::runtime::test {

using Numbers = std::vector<std::int32_t>;

inline CommunicatorOptions in_shared_memory(Deadline timeout = Deadline(20'000)) {
  CommunicatorOptions options;
  options.host_path = HostPath::Required;
  options.transport = "loopback";
  options.timeout = timeout;
  return options;
}

inline int rank_of(const Communicator& communicator) {
  return static_cast<int>(index(communicator.rank()));
}

inline void run_rooted(Communicator& communicator, Collective collective, int root, Numbers& data) {
  Call call{collective, data.data(), data.data(), data.size(), DataType::Int32};
  call.root = Rank{static_cast<std::uint32_t>(root)};
  communicator.run(call);
}

}  // namespace multitree::runtime::test
