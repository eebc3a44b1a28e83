// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all paths do alike.
#include "runtime/execution/path_internal.hpp"

namespace multitree::runtime {

void Path::run(const Call& call, std::shared_ptr<const LoadedProgram> program,
               std::uint64_t sequence) {
  start(call, std::move(program), sequence)->wait();
}

void Path::call(const Call& call, std::uint64_t& sequence) {
  auto program = prepare(call);
  run(call, std::move(program), sequence++);
}

std::unique_ptr<Operation> Path::start_call(const Call& call, std::uint64_t& sequence) {
  auto program = prepare(call);
  return start(call, std::move(program), sequence++);
}

}  // namespace multitree::runtime
