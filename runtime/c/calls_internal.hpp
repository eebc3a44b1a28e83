// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From the functions of the C API to jobs.
#pragma once

#include <functional>

#include "runtime/c/group_internal.hpp"

struct mtRequest {
  std::shared_ptr<multitree::runtime::c::Job> job;
};

namespace multitree::runtime::c {

enum class Mode : std::uint8_t { Blocking, NonBlocking, Persistent };

/// Does what a call of the C API asks for: starts it and waits, or fills *request; in a group,
/// notes it down. `make_spec` reads the arguments, of a communicator that is usable.
mtResult_t submit(mtComm_t comm, Mode mode, mtRequest_t* request,
                  const std::function<CallSpec(const std::shared_ptr<Comm>&)>& make_spec);

}  // namespace multitree::runtime::c
