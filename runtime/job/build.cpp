// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// By itself, so that a test can be of another one.
#include "runtime/job/build_internal.hpp"

namespace multitree::runtime {

const Build& own_build() {
  static const Build& build = *new Build{1, MULTITREE_BUILD_VERSION};  // there to the very end
  return build;
}

}  // namespace multitree::runtime
