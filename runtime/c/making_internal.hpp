// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the functions that make communicators have in common.
#pragma once

#include <functional>
#include <memory>

#include "runtime/c/comm_internal.hpp"
#include "runtime/job/unique_id.hpp"

namespace multitree::runtime::c {

/// Makes a communicator by `join`: now, in the background, or when the group ends.
mtResult_t make(mtComm_t* handle, const std::shared_ptr<Comm>& comm, const Comm::Join& join);
/// The same after `before`, which is collective over `old` and comes first even where the rest is
/// left to the background.
mtResult_t make_from(const Comm& old, mtComm_t* handle, const std::shared_ptr<Comm>& comm,
                     const std::function<void()>& before, const Comm::Join& join);
/// Meets the others by id.
Comm::Join join_with(const UniqueId& id, Seat seat, std::uint32_t size);
UniqueId bytes_of(const mtUniqueId& id);
/// For a communicator of other ranks, whose network has other nodes.
Settings without_network(Settings settings);

}  // namespace multitree::runtime::c
