// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where in the user's program the call is in which a rank waits.
#pragma once

#include <cstddef>
#include <string>

namespace multitree::runtime {

/// Of the call that this thread is in: "train.cpp:88"; where the program was built without
/// debugging information "train_step in ./train"; empty if there is none, as in threads of the
/// library. Reads the program's file: for waits that have lasted long.
std::string call_place();

/// What knows better in this thread, an interpreter: writes words of at most `size` bytes with a
/// zero, and returns whether it could. Null: the stack is looked at.
struct PlaceTeller {
  int (*function)(char* words, std::size_t size, void* state) = nullptr;
  void* state = nullptr;
};
PlaceTeller& place_teller();

}  // namespace multitree::runtime
