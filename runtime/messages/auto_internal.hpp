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

/// What a rank says of itself.
struct TransportWish {
  std::string told;   ///< named by MULTITREE_TRANSPORT; else empty
  std::string needs;  ///< why this rank can take one transport only; empty: it can take any
  bool has_ucx = false;
  bool goes_on = false;   ///< where a link fails (OnLinkFailure)
  bool encrypts = false;  ///< TransportOptions::encrypt
  std::string host;       ///< pack() of Host, with a free choice
};
std::string pack(const TransportWish& wish);

/// One transport for all ranks, and why it is that.
struct AgreedTransport {
  std::string name;
  std::string why;
};

/// Of what ranks have said, each pack() of TransportWish: as they were told; "tcp" where one
/// encrypts, where one has no UCX, where one goes on when links fail, and where each is on a host
/// of its own that only slow networks lead to; else "ucx". \throws Error(InvalidArgument) naming
/// two ranks that were told different ones, Error(Transport) if one has said something else
AgreedTransport agreed_transport(const Gathered& wishes);

/// Collective: what make_transport() takes for `name`: that, or what is meant by "auto".
/// \throws Error(InvalidArgument) if MULTITREE_TRANSPORT names no transport, or another one
/// elsewhere
AgreedTransport transport_of_job(const std::string& name, Bootstrap& bootstrap,
                                 const TransportOptions& options);

/// Collective: the transport of transport_of_job("auto"). \throws as that, and make_transport()
std::unique_ptr<Transport> make_auto(Bootstrap& bootstrap, const TransportOptions& options);

}  // namespace multitree::runtime
