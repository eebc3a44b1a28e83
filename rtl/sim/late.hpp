// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Contributions that are late, for runs of the hardware.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nic/simulate.hpp"
#include "rtl/sim/data.hpp"
#include "rtl/sim/loader.hpp"
#include "rtl/sim/run.hpp"

namespace multitree::rtl {

/// What the driver writes, where there is a roll call.
Bounds bounds_of(const nic::Losses& losses, std::uint32_t ranks);

/// Doorbells as hosts ring them: that of the roll call at the start, that of the sum when the
/// contribution is there. \param doorbells of the groups, of which the sum is the last
std::vector<Ring> rings_of(const nic::Losses& losses, const std::vector<std::uint32_t>& doorbells,
                           std::uint32_t ranks);

/// What interfaces say, as the model does.
nic::LossReport report_of(const std::vector<Fate>& fates);

/// "rank 3: expected ..." for the first rank whose register does not say what the model does; empty
/// if there is none.
std::string find_difference(const nic::LossReport& expected, const nic::Losses& losses,
                            const std::vector<Fate>& fates);

/// Another content: what must not be looked at.
void spoil(std::vector<std::byte>& buffer);

}  // namespace multitree::rtl
