// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Failed assertions of verilated models as exceptions.
#pragma once

#include <stdexcept>

namespace multitree::rtl {

/// "file:line: scope" of the assertion.
struct AssertionFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace multitree::rtl
