// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives between the ranks that NCCL hands over, one of each host or rail, on multitree's
/// communicators.
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/c/multitree.h"
#include "runtime/nccl/abi_internal.hpp"

namespace multitree::nccl {

/// Where a rank makes an id at which all can meet; that of rank 0 is taken. \throws
/// std::runtime_error
void make_handle(void* handle);

/// Whether Group can reduce this type of NCCL's by this operator.
bool reduces(int type, int op);

/// Bytes of an element; 0: not a type that is served.
std::size_t element_bytes(int type);

/// A part of the vector that ranks gather or scatter: of all their shards, one after the other, the
/// bytes from `offset` on. The same at all ranks.
struct Window {
  std::size_t bytes_per_rank = 0, offset = 0, bytes = 0;
};

/// A collective under way, a request of NCCL's.
struct Work {
  mtRequest_t request = nullptr;
  std::unique_ptr<char[]>
      sums;  ///< of a window, of which this rank wants `wanted` bytes from `from` on
  std::size_t from = 0, wanted = 0;
  void* to = nullptr;
  std::size_t bytes = 0;  ///< that NCCL is told of
};

class Group {
 public:
  /// Collective, and waits for all ranks. \throws std::runtime_error with the words of the C API
  Group(void* const* handles, int ranks, int rank);
  /// Collective, but waits for ranks that do not come for some seconds only.
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// These start. \throws Failed
  std::unique_ptr<Work> all_reduce(const void* send, void* receive, std::size_t count, int type,
                                   int op);
  /// `send` is where this rank's share of the window begins, `window_data` takes the window.
  std::unique_ptr<Work> all_gather(const void* send, void* window_data, const Window& window);
  /// `window_data` is this rank's window of the inputs, `receive` takes its share of the sums.
  std::unique_ptr<Work> reduce_scatter(const void* window_data, void* receive, const Window& window,
                                       int type, int op);

 private:
  /// The bytes of the window that are in this rank's shard, counted from the window's first.
  struct Share {
    std::size_t from = 0, bytes = 0;
  };
  [[nodiscard]] Share share_of(const Window& window) const;
  [[nodiscard]] bool is_whole(const Window& window) const;

  mtComm_t comm_ = nullptr;
  int rank_, ranks_;
};

/// What a call of the C API has failed with; its words are mtGetLastError(NULL)'s.
struct Failed {
  mtResult_t result;
};

/// Moves all collectives of its group on. Whether this one is complete; then it can be deleted.
/// \throws Failed
bool is_complete(Work& work);

}  // namespace multitree::nccl
