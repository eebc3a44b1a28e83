// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The transport over UCX's tag-matching interface.
#pragma once

#include <memory>

#include "runtime/messages/transport.hpp"

namespace multitree::runtime {

/// Whether this process has UCX.
bool has_ucx();

/// Whether UCX between two hosts is TCP here, and nobody has chosen for it: no RDMA, and no
/// UCX_TLS or UCX_NET_DEVICES.
bool ucx_is_tcp();

/// Collective: exchanges worker addresses, connects to options.peers and waits for a first message
/// from each. \throws Error(Transport) with UCX's own words, Error(Timeout) naming the peers.
std::unique_ptr<Transport> make_ucx(Bootstrap& bootstrap, const TransportOptions& options);

}  // namespace multitree::runtime
