// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mtSetInterrupt().
#include "runtime/c/result_internal.hpp"
#include "runtime/execution/interruption_internal.hpp"

mtResult_t mtSetInterrupt(mtInterruptFunction_t function, void* state) {
  return multitree::runtime::c::guarded([&] {
    multitree::runtime::interruption() = {function, state};
  });
}
