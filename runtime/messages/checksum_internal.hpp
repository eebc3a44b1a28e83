// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages that are checked on arrival, over any transport.
#pragma once

#include <memory>

#include "runtime/messages/transport.hpp"

namespace multitree::runtime {

/// This bit of a tag marks the message that carries another's checksum; tags given to a checked
/// transport must not have it.
inline constexpr std::uint64_t kChecksumTag = std::uint64_t{1} << (kTagBits - 1);

/// Sends with every message a second one, of 8 bytes: XXH3 of its contents, with the tag as seed so
/// that a message taken for another is noticed too. A receive whose contents do not fit fails:
/// "message from rank 3 is corrupted: ...". Costs a message each and a pass over the data at each
/// end.
std::unique_ptr<Transport> with_checksums(std::unique_ptr<Transport> transport);

}  // namespace multitree::runtime
