// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Runs a function in a process of its own, for libraries that a process can use only once.
#pragma once

#include <functional>

namespace multitree::test {

/// The value that `function` returns in a forked process. What it writes to standard error is seen;
/// its other effects are lost. \pre the process has one thread.
/// \throws std::runtime_error if the child throws, aborts or crashes.
double run_in_child(const std::function<double()>& function);

}  // namespace multitree::test
