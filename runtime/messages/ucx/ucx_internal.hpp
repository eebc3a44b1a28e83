// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The transport over UCX's tag-matching interface.
#pragma once

#include <memory>

#include "runtime/messages/transport.hpp"

namespace multitree::runtime {

/// Whether this process has UCX.
bool has_ucx();

/// Collective: exchanges worker addresses, connects to options.peers and waits for a first message
/// from each. \throws Error(Transport) with UCX's own words, Error(Timeout) naming the peers.
std::unique_ptr<Transport> make_ucx(Bootstrap& bootstrap, const TransportOptions& options);

}  // namespace multitree::runtime
