// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The transport between threads of one process.
#pragma once

#include <memory>

#include "runtime/messages/transport.hpp"

namespace multitree::runtime {

/// Collective. Small messages are copied at once; large ones stay in the sender's buffer until the
/// receiver has posted theirs, as rendezvous does on a network.
/// \throws Error(InvalidArgument) if a rank is in another process.
std::unique_ptr<Transport> make_loopback(Bootstrap& bootstrap, const TransportOptions& options);

}  // namespace multitree::runtime
