// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Arrows of timelines, simulated and real.
#pragma once

#include <cstdint>
#include <vector>

#include "nic/simulate.hpp"
#include "report/trace.hpp"

namespace multitree::tools {

/// What `span_of` has for a message without a span.
inline constexpr std::uint64_t kNoSpan = ~std::uint64_t{0};

/// An arrow from what arrived last at a rank of a piece before a message of that piece was sent.
/// `span_of`: by message, its span.
void add_arrows(report::Trace& trace, const std::vector<nic::MessageRecord>& records,
                const std::vector<std::uint64_t>& span_of);

}  // namespace multitree::tools
