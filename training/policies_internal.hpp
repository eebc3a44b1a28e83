// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The policies, each in a file of its own below policies/.
#pragma once

#include "topologies/spec.hpp"
#include "training/iteration.hpp"

namespace multitree::training {

Iteration run_bsp(const Model& model, const Costs& costs, const Spec& options);
Iteration run_wfbp(const Model& model, const Costs& costs, const Spec& options);
Iteration run_ddp(const Model& model, const Costs& costs, const Spec& options);
Iteration run_horovod(const Model& model, const Costs& costs, const Spec& options);
Iteration run_mg_wfbp(const Model& model, const Costs& costs, const Spec& options);
Iteration run_bytescheduler(const Model& model, const Costs& costs, const Spec& options);
Iteration run_dear(const Model& model, const Costs& costs, const Spec& options);
Iteration run_fsdp(const Model& model, const Costs& costs, const Spec& options);
Iteration run_pipe_sgd(const Model& model, const Costs& costs, const Spec& options);
Iteration run_local_sgd(const Model& model, const Costs& costs, const Spec& options);
Iteration run_cocod(const Model& model, const Costs& costs, const Spec& options);
Iteration run_diloco(const Model& model, const Costs& costs, const Spec& options);
Iteration run_bsp_ps(const Model& model, const Costs& costs, const Spec& options);
Iteration run_wfbp_ps(const Model& model, const Costs& costs, const Spec& options);
Iteration run_bytescheduler_ps(const Model& model, const Costs& costs, const Spec& options);
Iteration run_priority(const Model& model, const Costs& costs, const Spec& options);
/// That with `order=serial` or `order=overlapping`.
Iteration run_priority_in_turn(const Model& model, const Costs& costs, const Spec& options,
                               Order order);

/// An option in bytes with its unit, at least 1. \throws Error(InvalidArgument)
std::uint64_t bytes_option(const Spec& options, std::string_view key, std::string_view fallback);

}  // namespace multitree::training
