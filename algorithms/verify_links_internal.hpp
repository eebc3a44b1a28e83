// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whether links have room for what a schedule sends in a step, and switches can do their part.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "algorithms/verify.hpp"
#include "topologies/topology.hpp"

namespace multitree {

using ReportAt = std::function<void(ViolationKind kind, const Transfer& at, const std::string& what,
                                    std::optional<LinkId> link)>;

/// "link 3 (n0->leaf0)".
[[nodiscard]] std::string link_name(LinkId id, const Topology& topology);

/// Reports LinkConflict, CannotAdd, CannotCopy and SwitchOverload. `usable`: transfers whose route
/// lies in the pool; others, and links that do not exist, are passed over.
void check_links(const Schedule& schedule, const Topology& topology,
                 const std::vector<bool>& usable, const ReportAt& report);

}  // namespace multitree
