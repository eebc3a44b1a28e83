// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A bootstrap that several threads may use.
#pragma once

#include <memory>

#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime::c {

/// The same job, with calls that take turns: a communicator here is several of the runtime's on one
/// job, each of which may have a thread for its streams. failure() does not wait for its turn:
/// while another call is under way it knows of nothing.
std::shared_ptr<Bootstrap> share(std::shared_ptr<Bootstrap> job);

}  // namespace multitree::runtime::c
