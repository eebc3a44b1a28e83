// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How a message is divided among several cables between two hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace multitree::runtime::tcp {

/// Bytes of a message of `bytes` that go over each cable, one behind the other in the message, so
/// that all end at the same time. `mbits`: rates in Mbit/s; a cable at 0 carries nothing. What
/// takes less time on all of them than another message costs goes over the fastest alone, of equals
/// the first, and a cable whose share is not worth a message is left out. Where no cable carries
/// anything all is for the first. \pre there is a cable
std::vector<std::size_t> shares_of(std::size_t bytes, std::span<const std::uint32_t> mbits);

}  // namespace multitree::runtime::tcp
