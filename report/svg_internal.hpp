// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Cleans what gnuplot draws.
#pragma once

#include <string>

namespace multitree::report {

/// gnuplot's SVG without its version and its many empty groups, named `title` for screen readers.
/// \throws Error(Io) if it is no SVG.
std::string tidy_svg(const std::string& drawn, const std::string& title);

}  // namespace multitree::report
