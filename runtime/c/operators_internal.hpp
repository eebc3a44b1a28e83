// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Element types and operators by their numbers.
#pragma once

#include <memory>

#include "runtime/c/comm_internal.hpp"

namespace multitree::runtime::c {

/// \throws Failure(mtInvalidArgument)
DataType type_of(mtDataType_t type);

/// One that was not made at run time. \throws Failure(mtInvalidArgument)
ReduceOp built_in_operator(mtRedOp_t op);

/// Gives a call, whose type is set, its operator, built in or made for `comm`.
/// \throws Failure(mtInvalidArgument)
void set_operator(Call& call, mtRedOp_t op, const std::shared_ptr<Comm>& comm);

}  // namespace multitree::runtime::c
