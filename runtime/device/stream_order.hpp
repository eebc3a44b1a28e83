// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How a collective comes to be in the order of a stream.
#pragma once

#include <cstdint>

namespace multitree::runtime {

/// The call waits for its end; the stream is held until then; or it is a kernel on the stream
/// (docs/runtime.md, "Streams"). Values are mtStreamOrder_t's.
enum class StreamOrder : std::uint8_t { Waits, Held, Kernel };

}  // namespace multitree::runtime
