// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// rsvg-convert as a filter.
#include "report/raster.hpp"

#include "report/filter_internal.hpp"

namespace multitree::report {

std::string png_of(const std::string& svg) {
  static const Filter convert{{"rsvg-convert", "--format=png", "--zoom=1.5"},
                              "pictures are turned into pixels",
                              "librsvg2-bin"};
  return run_filter(convert, svg);
}

}  // namespace multitree::report
