// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a rank says of itself when others ask where it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/job/links.hpp"

namespace multitree::runtime {

/// A rank that waits: in which call, and for whom.
struct Whereabouts {
  std::uint64_t call = 0;    ///< its number in the communicator
  std::string what;          ///< "allreduce #7 of 1024 float, sum"
  std::string how;           ///< "waiting to receive chunk 4 segment 0 from rank 1 at step 3"
  std::string place;         ///< of the call in the program: "train.cpp:88"; empty: not known
  std::vector<Seat> awaits;  ///< ranks without which it does not go on; ascending
  std::uint64_t job = 0;     ///< Bootstrap::name() of the communicator
  /// It is in no call of those who ask, but in this one of another communicator; `awaits` are
  /// those of them that it waits for there, as far as that is known.
  bool elsewhere = false;
};

}  // namespace multitree::runtime
