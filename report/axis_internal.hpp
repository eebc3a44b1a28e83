// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which part of the numbers an axis shows. gnuplot says where its ticks are and what they are
/// called; it is told only what it does not know: sizes in bytes, names of groups.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace multitree::report {

struct Tick {
  double at = 0;
  std::string label;  ///< empty for a minor tick
};

struct Axis {
  std::string range = "[0:1]";  ///< as gnuplot has it
  int base = 0;                 ///< of its logarithms; 0: linear
  std::vector<Tick> ticks{};    ///< ascending; none: gnuplot's
};

/// An axis for results: it ends at ticks and, unless logarithmic, includes 0.
/// Values are finite, up to 1e300 in magnitude and, if `log`, > 0 (also below). None: 0 to 1.
Axis value_axis(std::span<const double> values, bool log);

/// An axis for what is varied: it ends a little outside of the values or, if logarithmic, of the
/// powers between which they lie, so that there always are two to be marked. These are powers of
/// two if `bytes` or if all values are. Values within a factor of two have a linear axis: there may
/// be no power between them, and nobody sees the difference.
Axis argument_axis(std::span<const double> values, bool log, bool bytes);

}  // namespace multitree::report
