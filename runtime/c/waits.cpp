// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mtSetInterrupt(), mtSetPlace().
#include "runtime/c/result_internal.hpp"
#include "runtime/execution/call_place_internal.hpp"
#include "runtime/execution/interruption_internal.hpp"

mtResult_t mtSetInterrupt(mtInterruptFunction_t function, void* state) {
  return multitree::runtime::c::guarded([&] {
    multitree::runtime::interruption() = {function, state};
  });
}

mtResult_t mtSetPlace(mtPlaceFunction_t function, void* state) {
  return multitree::runtime::c::guarded([&] {
    multitree::runtime::place_teller() = {function, state};
  });
}
