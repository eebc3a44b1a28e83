// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a verilated model does when an assertion fails: throws, so that a test can expect it.
#include "rtl/sim/stop.hpp"

#include <verilated.h>

#include <string>

void vl_stop(const char* file, int line, const char* scope) {
  throw multitree::rtl::AssertionFailed(std::string(file) + ":" + std::to_string(line) + ": " +
                                        scope);
}

void vl_fatal(const char* file, int line, const char* scope, const char* what) {
  throw multitree::rtl::AssertionFailed(std::string(file) + ":" + std::to_string(line) + ": " +
                                        scope + ": " + what);
}
