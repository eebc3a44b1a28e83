// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The transport that nobody has named.
#pragma once

#include <memory>
#include <string>

#include "runtime/messages/transport.hpp"

namespace multitree::runtime {

/// What names it for the whole job, where the program does not.
inline constexpr const char* kTransportVariable = "MULTITREE_TRANSPORT";

/// What this rank would take of itself for `name`: that, or what is meant by "auto".
/// \throws Error(InvalidArgument) if MULTITREE_TRANSPORT names no transport
std::string transport_here(const std::string& name);

/// Of what ranks would take each, what all of them take: the same, or "tcp" where only some have
/// UCX. \throws Error(InvalidArgument) naming two ranks that were told different ones
std::string agreed_transport(const Gathered& wanted);

/// Collective: the transport that MULTITREE_TRANSPORT names, which is then the same at every rank;
/// else "ucx" where all ranks have it, "tcp" where one has not.
/// \throws Error(InvalidArgument) if there is no such transport, or another one elsewhere
std::unique_ptr<Transport> make_auto(Bootstrap& bootstrap, const TransportOptions& options);

}  // namespace multitree::runtime
