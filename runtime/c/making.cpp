// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Making a communicator now, in the background, or at the end of a group.
#include "runtime/c/making_internal.hpp"

#include <cstring>

#include "runtime/c/group_internal.hpp"
#include "runtime/c/shared_bootstrap_internal.hpp"

namespace multitree::runtime::c {
namespace {

/// Makes a communicator when the group ends, after `before`; in turn with what else is to be done
/// in the group for `order`.
void add_to_group(mtComm_t* handle, const Comm* order, const std::shared_ptr<Comm>& comm,
                  const std::function<void()>& before, const Comm::Join& join) {
  *handle = enlist(comm);
  Group::of_this_thread().add(order, [comm, before, join, handle] {
    try {
      before();
      comm->set_up(join);
    } catch (...) {
      delist(*handle, false);
      *handle = nullptr;
      throw;
    }
  });
}

}  // namespace

mtResult_t make(mtComm_t* handle, const std::shared_ptr<Comm>& comm, const Comm::Join& join) {
  if (Group::of_this_thread().open()) {
    add_to_group(
        handle, comm.get(), comm, [] {}, join);
    return mtSuccess;
  }
  if (!comm->settings().blocking) {
    *handle = enlist(comm);
    comm->set_up_in_background(join);
    return mtInProgress;
  }
  comm->set_up(join);
  *handle = enlist(comm);
  return mtSuccess;
}

mtResult_t make_from(const Comm& old, mtComm_t* handle, const std::shared_ptr<Comm>& comm,
                     const std::function<void()>& before, const Comm::Join& join) {
  if (Group::of_this_thread().open()) {
    add_to_group(handle, &old, comm, before, join);
    return mtSuccess;
  }
  before();
  return make(handle, comm, join);
}

Settings without_network(Settings settings) {
  settings.topology.clear();
  if (!settings.plan_file.empty()) settings.algorithm = "auto";
  settings.plan_file.clear();
  return settings;
}

Comm::Join join_with(const UniqueId& id, Seat seat, std::uint32_t size) {
  return [=](const BootstrapOptions& options) {
    // What the ranks of this job know it by is the id.
    return Joined{.job = share(join_by_id(id, seat, size, options)),
                  .name = std::string(id.begin(), id.end())};
  };
}

UniqueId bytes_of(const mtUniqueId& id) {
  UniqueId bytes;
  static_assert(sizeof bytes == sizeof id);
  std::memcpy(bytes.data(), id.internal, sizeof id);
  return bytes;
}

}  // namespace multitree::runtime::c
