// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Meeting without a launcher: one process makes an id, the user hands it to the others by any
/// means, and all of them join with it. As ncclUniqueId.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime {

/// Where the meeting point listens, and a secret that keeps strangers out. Plain bytes.
using UniqueId = std::array<char, 128>;

/// Not collective. Opens a port of this host, at which join_by_id() of this process will let the
/// others in; until then they wait in line. Of ids that no job has begun with, the ports of the
/// latest 64 stay open, and older ones are of no use any more. \throws Error(Transport) if there is
/// no port.
UniqueId make_unique_id();

/// Collective over `size` processes or threads, one of which is (a thread of) the process that made
/// the id; each id serves one job. Waits until all ranks have come.
/// \throws Error(InvalidArgument) if this is no id or `seat` is not below `size`, Error(Timeout)
/// naming the ranks that are missing, Error(Transport).
std::shared_ptr<Bootstrap> join_by_id(const UniqueId& id, Seat seat, std::uint32_t size,
                                      const BootstrapOptions& options = {});

}  // namespace multitree::runtime
