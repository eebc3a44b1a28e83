// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How fast the kernel lets an interface send, where it has been told to.
#pragma once

#include <cstdint>
#include <map>

namespace multitree::runtime {

/// By interface index: Mbit/s, at least 1, of interfaces that a token bucket limits, as those of
/// containers and of emulated networks. What cannot be found out is left out.
std::map<int, std::uint32_t> shaped_mbits();

}  // namespace multitree::runtime
