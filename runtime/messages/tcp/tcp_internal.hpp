// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The transport over TCP sockets of our own.
#pragma once

#include <memory>

#include "runtime/messages/transport.hpp"

namespace multitree::runtime {

/// Collective: exchanges addresses, connects to options.peers; other ranks are met when something
/// is first sent to them. \throws Error(Transport), Error(Timeout) naming the peers, LinkError
std::unique_ptr<Transport> make_tcp(Bootstrap& bootstrap, const TransportOptions& options);

}  // namespace multitree::runtime
