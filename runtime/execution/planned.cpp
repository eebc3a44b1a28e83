// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Calls checked, and their programs found.
#include "runtime/execution/planned_internal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/execution/layout_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {

Planned::Planned(std::shared_ptr<Engine> engine, std::shared_ptr<Programs> programs,
                 const CommunicatorOptions& options)
    : engine_(std::move(engine)), programs_(std::move(programs)), root_(options.root) {
  const TransportLimits limits = engine_->transport().limits();
  cut_ = {.segment_bytes = std::min(options.segment_bytes, limits.segment_bytes),
          .window_bytes = limits.window_bytes,
          .merge_bytes = limits.merge_bytes};
}

Rank Planned::root_of(const Call& call) const {
  const Rank usual = programs_->root_of(call.collective, root_);
  return has_root(call.collective) ? call.root.value_or(usual) : usual;
}

std::shared_ptr<const LoadedProgram> Planned::prepare(const Call& call,
                                                      const Programs::Variant* variant) {
  const auto guard = engine_->guard();
  return prepare_guarded(call, variant);
}

bool Planned::serves(const Call& call) const {
  return programs_->serves(call.collective) && programs_->serves(call.collective, root_of(call));
}

std::shared_ptr<const LoadedProgram> Planned::prepare_guarded(const Call& call,
                                                              const Programs::Variant* variant) {
  engine_->check_usable();
  // What is tried needs no schedule of the communicator.
  if (variant == nullptr && !programs_->serves(call.collective)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("the communicator has no {} schedule", to_string(call.collective)));
  }
  const Rank usual = programs_->root_of(call.collective, root_);
  const Rank root = root_of(call);
  if (index(root) >= engine_->bootstrap().size()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{}: expected a root below {}, found {}", to_string(call.collective),
                            engine_->bootstrap().size(), root));
  }
  if (variant == nullptr && !programs_->serves(call.collective, root)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{} from root {}: the communicator's schedule has root {}",
                            to_string(call.collective), root, usual));
  }
  check_buffers(call, rank_at(engine_->bootstrap().seat()), engine_->bootstrap().size(), root);
  return programs_->program_for(call, root, cut_, variant);
}

}  // namespace multitree::runtime
