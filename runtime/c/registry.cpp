// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which handles are communicators.
#include <unordered_map>
#include <unordered_set>

#include "runtime/c/comm_internal.hpp"

namespace multitree::runtime::c {
namespace {

struct List {
  std::mutex mutex;
  std::atomic<std::uint64_t> delisted{0};  ///< how many
  std::uintptr_t last = 0;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Comm>> comms;
  std::unordered_set<std::uintptr_t> aborted;
};

/// Never destroyed: at the end of a process the network may be gone already.
List& list() {
  static auto* const list = new List();
  return *list;
}

std::uintptr_t number_of(mtComm_t handle) { return reinterpret_cast<std::uintptr_t>(handle); }

/// \pre the list is locked.
auto locate(mtComm_t handle) {
  if (handle == nullptr) throw Failure(mtInvalidArgument, "comm is NULL");
  const auto it = list().comms.find(number_of(handle));
  if (it != list().comms.end()) return it;
  if (list().aborted.contains(number_of(handle))) {
    throw Failure(mtAborted, "the communicator was aborted by this process");
  }
  throw Failure(mtInvalidArgument,
                "comm: expected a communicator, found a handle that is none or "
                "was destroyed");
}

/// What a thread has found last, which is still there as long as nothing was delisted since.
struct LastFound {
  mtComm_t handle = nullptr;
  std::uint64_t delisted = 0;
  std::weak_ptr<Comm> comm;
};

}  // namespace

mtComm_t enlist(const std::shared_ptr<Comm>& comm) {
  const std::scoped_lock lock(list().mutex);
  // Far from small numbers and odd, so that it is taken neither for a count nor for an address.
  list().last += 2;
  const std::uintptr_t number = (std::uintptr_t{0x6d74} << 32) + list().last + 1;
  list().comms.emplace(number, comm);
  return reinterpret_cast<mtComm_t>(number);
}

std::shared_ptr<Comm> find(mtComm_t handle) {
  static thread_local LastFound last;
  List& all = list();
  if (handle == last.handle && handle != nullptr && last.delisted == all.delisted) {
    if (auto comm = last.comm.lock()) return comm;
  }
  const std::scoped_lock lock(all.mutex);
  std::shared_ptr<Comm> comm = locate(handle)->second;
  last = {handle, all.delisted, comm};
  return comm;
}

std::shared_ptr<Comm> delist(mtComm_t handle, bool aborted) {
  const std::scoped_lock lock(list().mutex);
  const auto it = locate(handle);
  std::shared_ptr<Comm> comm = std::move(it->second);
  list().comms.erase(it);
  ++list().delisted;
  if (aborted) list().aborted.insert(number_of(handle));
  return comm;
}

}  // namespace multitree::runtime::c
