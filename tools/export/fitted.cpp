// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fewer pieces, and what they cost.
#include "tools/export/fitted.hpp"

#include <fmt/format.h>

#include <utility>

#include "algorithms/cost.hpp"
#include "algorithms/interchange/fewer_pieces.hpp"
#include "algorithms/registry.hpp"
#include "tools/command.hpp"
#include "topologies/error.hpp"

namespace multitree::tools {

std::optional<FittedText> fitted_text(const Schedule& schedule, const Topology& topology,
                                      const std::function<std::string(const Schedule&)>& write) {
  std::string text;
  const auto fits = [&](const Schedule& one) {
    try {
      text = write(one);
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Unsupported) throw;
      return false;
    }
  };
  // The last that is tried may be one that does not fit: text is of the last that does.
  std::optional<Schedule> fitted = fitting(schedule, topology, fits);
  if (!fitted) return std::nullopt;
  return FittedText{std::move(text), std::move(*fitted)};
}

void tell_change(const Schedule& schedule, const Topology& topology, const Schedule& fitted,
                 const std::string& channels) {
  std::string text = "export: the format has no room for the schedule as it is; written with ";
  if (fitted == schedule) {
    return print_error(fmt::format("{}{}, which changes no prediction\n", text, channels));
  }
  const CostModel cost{kMessageOverhead};
  const auto seconds = [&](const Schedule& one) {
    return predict_time(one, topology, kDefaultSize, cost).seconds();
  };
  print_error(fmt::format(
      "{}{} instead of {} pieces a tree{}: {} takes {:.3f} times as long (predicted)\n", text,
      pieces_of(fitted), pieces_of(schedule), channels.empty() ? "" : " and " + channels,
      format_bytes(kDefaultSize), seconds(fitted) / seconds(schedule)));
}

}  // namespace multitree::tools
