// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The threads of a CUDA block in one thread of the host.
#pragma once

#include <functional>
#include <optional>

namespace multitree::runtime::test {

/// Runs `body` for each thread from 0 on. Each runs until it ends or meets a barrier, where it
/// waits for all others; who has the next turn differs from barrier to barrier, so that a barrier
/// that is missing shows. A barrier that some threads do not meet ends the program, with words.
/// Under sanitizers, which do not know of threads like these, blocks with barriers can have one
/// thread.
void run_block(unsigned threads, const std::function<void(unsigned)>& body);

/// The barrier, in `body`.
void sync_threads();

/// Set: of the kernels that this thread launches only this block runs. So the blocks of a kernel
/// run beside each other, each in a thread that launches it.
inline thread_local std::optional<unsigned> only_block;

}  // namespace multitree::runtime::test
