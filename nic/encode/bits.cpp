// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What readers say.
#include <fmt/format.h>

#include "nic/encode/bits_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {

void BitReader::fail(const std::string& what) const {
  throw Error(ErrorCode::InvalidInput, fmt::format("{}: byte {}: {}", path_, at_, what));
}

void BitReader::fail_at_end(std::string_view what) const {
  fail(fmt::format("expected {}, got the end", what));
}

}  // namespace multitree::nic
