// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Makes a program one of another version, which says so as any does.
#include "runtime/job/build_internal.hpp"

namespace multitree::runtime {

const Build& own_build() {
  static const Build build{2, "99.1.0"};
  return build;
}

}  // namespace multitree::runtime
