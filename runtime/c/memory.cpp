// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mtMemAlloc(), mtMemFree(), and what a stream means.
#include <cstdlib>
#include <new>

#include "runtime/c/comm_internal.hpp"

namespace multitree::runtime::c {
namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

void Memory::Free::operator()(void* pointer) const { std::free(pointer); }

void* Memory::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  if (bytes > SIZE_MAX - kPage) throw std::bad_alloc();
  const std::size_t rounded = (bytes + kPage - 1) / kPage * kPage;
  std::unique_ptr<void, Free> block(std::aligned_alloc(kPage, rounded));
  if (block == nullptr) throw std::bad_alloc();
  void* const pointer = block.get();
  const std::scoped_lock lock(mutex_);
  blocks_.emplace(pointer, std::move(block));
  return pointer;
}

void Memory::free(void* pointer) {
  if (pointer == nullptr) return;
  const std::scoped_lock lock(mutex_);
  if (blocks_.erase(pointer) == 0) {
    throw Failure(mtInvalidArgument,
                  "pointer: expected one of mtMemAlloc() with this communicator, found another");
  }
}

void check_stream(mtStream_t stream) {
  if (stream == nullptr) return;
  throw Failure(mtInvalidUsage, "stream: expected NULL, as this build has no GPU support");
}

}  // namespace multitree::runtime::c

using namespace multitree::runtime::c;

mtResult_t mtMemAlloc(void** pointer, size_t bytes, mtComm_t comm) {
  return guarded([&] {
    require(pointer, "pointer");
    *pointer = nullptr;
    const auto found = find(comm);
    found->check_usable();
    *pointer = found->memory().allocate(bytes);
  });
}

mtResult_t mtMemFree(void* pointer, mtComm_t comm) {
  return guarded([&] { find(comm)->memory().free(pointer); });
}
