// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The network interface that NCCL is told of, and that connections use.
#pragma once

#include <netinet/in.h>

#include <string>
#include <string_view>

namespace multitree::nccl {

struct Interface {
  std::string name;  ///< "eth0"
  in_addr address{};
  int speed = 10'000;  ///< Mbit/s; this where the kernel does not know
};

/// The host's first IPv4 interface that is up and that NCCL_SOCKET_IFNAME, if set, does not leave
/// out (prefixes by commas, "=" for whole names, "^" for all but these); other than loopback unless
/// that is asked for by name or all there is. Looked up once. \throws std::runtime_error that says
/// what was looked for
const Interface& network_interface();

/// Whether a pattern of NCCL_SOCKET_IFNAME, "" for any, takes the interface.
bool is_chosen(std::string_view pattern, std::string_view name);

}  // namespace multitree::nccl
