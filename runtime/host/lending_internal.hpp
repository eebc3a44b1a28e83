// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whether ranks of one host are to read and write each other's own memory.
#pragma once

#include "runtime/host/group_internal.hpp"

namespace multitree::runtime::host {

/// Collective: whether a rank gets its neighbour's data sooner by a copy that the kernel makes than
/// through shared areas, which take two copies but no look at every page. It depends on how fast
/// processors take cache lines from each other: measured, in less than a millisecond where every
/// rank has a processor. All ranks come to the same answer. \pre group.reaches(), and nothing has
/// been published since all ranks last agreed \throws Error(Timeout) naming a rank that does not
/// come, Error(Transport) after a failure elsewhere in the job
[[nodiscard]] bool is_lending_faster(Group& group, Bootstrap& bootstrap, Deadline deadline);

}  // namespace multitree::runtime::host
