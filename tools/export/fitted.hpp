// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules in formats that have room for few pieces.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "algorithms/io/io.hpp"

namespace multitree::tools {

struct FittedText {
  std::string text;
  Schedule schedule;  ///< that the text is of
};

/// The text of the schedule, in fewer pieces where those are too many; nullopt if nothing fits.
/// `write` throws Error(Unsupported) of what doesn't fit.
std::optional<FittedText> fitted_text(const Schedule& schedule, const Topology& topology,
                                      const std::function<std::string(const Schedule&)>& write);

/// Says what it costs to have fewer pieces, or that there are more channels.
void tell_change(const Schedule& schedule, const Topology& topology, const Schedule& fitted,
                 const std::string& channels);

}  // namespace multitree::tools
