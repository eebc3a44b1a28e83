// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// SVG as pixels.
#pragma once

#include <string>

namespace multitree::report {

/// A PNG file, at one and a half pixels for each of the SVG's. \throws Error(Unsupported) where
/// rsvg-convert is not installed, Error(Io) if it fails, Error(Timeout) after 60 s.
std::string png_of(const std::string& svg);

}  // namespace multitree::report
