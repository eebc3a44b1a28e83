// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages between ranks of one host, by the memory that they share.
#pragma once

#include <memory>

#include "runtime/host/group_internal.hpp"
#include "runtime/messages/transport.hpp"

namespace multitree::runtime::host {

/// Small messages go through the receiver's inbox, in one part or several; large ones are read in
/// their sender's memory once they are awaited, or where that cannot be, sent in parts.
std::unique_ptr<Transport> make_mail(std::shared_ptr<Group> group);

}  // namespace multitree::runtime::host
