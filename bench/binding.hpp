// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks on processors of their own, as mpirun of Open MPI places them; nothing but the system.
#pragma once

#include <sched.h>

namespace bench {

/// Keeps this process, rank `rank` of `ranks` on this host, on one processor, where there are
/// enough for all. Else a rank may find itself beside another one for as long as a stranger takes
/// the second processor.
inline void bind_rank(int rank, int ranks) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < ranks) return;
  int skipped = 0;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed) || skipped++ < rank) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

}  // namespace bench
