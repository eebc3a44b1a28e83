// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which call of a process is to fail.
#pragma once

#include <cstdint>

namespace failing {

/// Classes of calls that are counted together; bits of a mask.
enum Kind : std::uint32_t {
  kMemory = 1,     ///< allocations
  kMapping = 2,    ///< memory of the system, and files that hold it
  kOpen = 4,       ///< descriptors that are not sockets
  kSocket = 8,     ///< sockets, and what they are told
  kTransfer = 16,  ///< bytes through sockets, from peers' memory
  kProcess = 32,   ///< threads, processes
  kFile = 64,      ///< files: written, read, renamed, closed
  kAsk = 128,      ///< what the system is asked about itself
  kSignal = 256,   ///< a signal came while it waited: EINTR
  kShort = 512,    ///< fewer bytes than were asked for
};

/// Counts a call from `caller`, if that is the library's or the program's own code and the call is
/// of a class that is asked for. \returns whether it is to fail, which is then written down
bool fails(Kind kind, const void* caller, const char* call);

}  // namespace failing
