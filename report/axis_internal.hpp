// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which part of the numbers an axis shows, and where its ticks are.
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
  double low = 0;
  double high = 1;  ///< > low
  bool log = false;
  std::vector<Tick> ticks{};  ///< within [low, high], ascending

  /// Where a value is: 0 at low, 1 at high.
  [[nodiscard]] double position(double value) const;
};

/// An axis for results: it ends at ticks and, unless logarithmic, includes 0.
/// Values are finite, up to 1e300 in magnitude and, if `log`, > 0 (also below). None: 0 to 1.
Axis value_axis(std::span<const double> values, bool log);

/// An axis for what is varied: it ends a little outside of the values. Ticks are at powers of two
/// if `bytes` or, if `log`, when all values are powers of two.
Axis argument_axis(std::span<const double> values, bool log, bool bytes);

}  // namespace multitree::report
