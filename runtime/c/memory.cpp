// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mtMemAlloc(), mtMemFree().
#include "runtime/c/comm_turn_internal.hpp"
#include "runtime/c/group_internal.hpp"
#include "runtime/host/mapping_internal.hpp"

namespace multitree::runtime::c {
namespace {

/// What belongs to no communicator.
class Plain {
 public:
  void* allocate(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    auto mapping = host::Mapping::create_private(bytes);
    void* const memory = mapping->data();
    const std::scoped_lock lock(mutex_);
    blocks_.emplace(memory, std::move(mapping));
    return memory;
  }
  void free(void* memory) {
    if (memory == nullptr) return;
    const std::scoped_lock lock(mutex_);
    if (blocks_.erase(memory) != 0) return;
    throw Failure(mtInvalidArgument,
                  "pointer: expected one of mtMemAlloc() without a communicator, found another");
  }

 private:
  std::mutex mutex_;
  std::map<void*, std::shared_ptr<host::Mapping>> blocks_;
};

/// Never destroyed: memory may be in use until the very end.
Plain& plain() {
  static auto* const memory = new Plain();
  return *memory;
}

}  // namespace

void* Comm::allocate(std::size_t bytes) {
  check_usable();
  if (bytes == 0) return nullptr;
  // As in choose_rooted(): nothing progresses meanwhile.
  wait_for_all(Which::WithoutStream);
  const Turn turn(*this);
  check_usable();
  void* memory = nullptr;
  run([&] { memory = communicator_->allocate(bytes); });
  memory_.emplace(memory, communicator_->hold(memory));
  return memory;
}

void Comm::free(void* memory) {
  if (memory == nullptr) return;
  const bool alive = result_ == mtSuccess && !finalized_;
  if (alive) wait_for_all(Which::All);
  const Turn turn(*this);
  if (memory_.erase(memory) == 0) {
    throw Failure(mtInvalidArgument,
                  "pointer: expected one of mtMemAlloc() with this communicator, found another");
  }
  if (communicator_ != nullptr && result_ == mtSuccess)
    run([&] { communicator_->deallocate(memory); });
}

}  // namespace multitree::runtime::c

using namespace multitree::runtime::c;

mtResult_t mtMemAlloc(void** pointer, size_t bytes, mtComm_t comm) {
  return guarded([&] {
    require(pointer, "pointer");
    *pointer = nullptr;
    if (comm == nullptr) {
      *pointer = plain().allocate(bytes);
      return;
    }
    const auto found = find(comm);
    found->check_usable();
    if (!Group::of_this_thread().open()) {
      *pointer = found->allocate(bytes);
      return;
    }
    Group::of_this_thread().add(found.get(),
                                [found, pointer, bytes] { *pointer = found->allocate(bytes); });
  });
}

mtResult_t mtMemFree(void* pointer, mtComm_t comm) {
  return guarded([&] {
    if (comm == nullptr) return plain().free(pointer);
    find(comm)->free(pointer);
  });
}
