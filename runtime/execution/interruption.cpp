// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/execution/interruption_internal.hpp"

namespace multitree::runtime {

Interruption& interruption() {
  static thread_local Interruption mine;
  return mine;
}

}  // namespace multitree::runtime
