// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where to go on.
#include "tools/train/run/course.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "topologies/error.hpp"

namespace multitree::tools {

void Course::keep(std::uint32_t number, const training::Learner* learner) {
  done = number;
  if (learner != nullptr) learner->save(state);
}

bool Course::agree(runtime::Bootstrap& job, runtime::Deadline deadline) {
  const std::uint64_t own = std::uint64_t{plan} << 32 | done;
  const runtime::Gathered all =
      job.all_gather(std::string(reinterpret_cast<const char*>(&own), sizeof own), deadline);
  std::uint64_t farthest = own;
  std::size_t first = index(job.seat());
  for (std::size_t rank = all.size(); rank-- > 0;) {
    std::uint64_t other = 0;
    std::memcpy(&other, all[rank].data(), std::min(sizeof other, all[rank].size()));
    if (other < farthest) continue;
    farthest = other;
    first = rank;
  }
  const bool tells = first == index(job.seat());
  const std::string blob(reinterpret_cast<const char*>(state.data()),
                         tells ? state.size() * sizeof(float) : 0);
  const std::string told = job.all_gather(blob, deadline)[first];
  if (farthest >> 32 != plan) return false;
  if (told.size() != state.size() * sizeof(float)) {
    throw Error(ErrorCode::Transport, "parameters to go on from: expected " +
                                          std::to_string(state.size()) + " numbers, found " +
                                          std::to_string(told.size() / sizeof(float)));
  }
  if (!told.empty()) std::memcpy(state.data(), told.data(), told.size());
  done = static_cast<std::uint32_t>(farthest);
  // What this rank did not come to was no longer than what it waited for.
  seconds.resize(done > untimed ? done - untimed : 0);
  grades.resize(std::size_t{done} * passes, grades.empty() ? Pupil::Grade{} : grades.back());
  return true;
}

}  // namespace multitree::tools
