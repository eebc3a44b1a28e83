// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where the C API meets kinds of memory and streams: the one place to teach it others.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "runtime/c/multitree.h"

namespace multitree::runtime::c {

/// What mtMemAlloc() has given out for a communicator: host memory, by page.
class Memory {
 public:
  /// \throws std::bad_alloc.
  void* allocate(std::size_t bytes);
  /// \throws Failure(mtInvalidArgument) if it is none of these.
  void free(void* pointer);

 private:
  struct Free {
    void operator()(void* pointer) const;
  };
  std::mutex mutex_;
  std::unordered_map<void*, std::unique_ptr<void, Free>> blocks_;
};

/// \throws Failure(mtInvalidUsage) for a stream that this build cannot serve: any but NULL.
void check_stream(mtStream_t stream);

}  // namespace multitree::runtime::c
