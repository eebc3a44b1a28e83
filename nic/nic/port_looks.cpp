// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Round and round, in the order of urgency.
#include "nic/nic/port_looks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "generated/mt_pkg.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {

PortLooks::PortLooks(const std::vector<JobRow>& jobs, std::size_t ports)
    : jobs_(jobs.size()),
      urgency_(jobs.size(), kNone),
      fronts_(ports * jobs.size(), kNone),
      looks_(ports) {
  for (std::uint32_t j = 0; j < jobs.size(); ++j) {
    if (jobs[j].computing.empty()) job_at_.push_back(j);
  }
  if (job_at_.size() > mt_pkg::kNumGroups) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("pipelined reduction: expected at most {} groups, a doorbell each, got "
                            "{}",
                            mt_pkg::kNumGroups, job_at_.size()));
  }
  std::ranges::stable_sort(job_at_, {}, [&](std::uint32_t job) { return jobs[job].priority; });
  for (std::uint32_t u = 0; u < job_at_.size(); ++u) urgency_[job_at_[u]] = u;
}

void PortLooks::ring(std::uint32_t port, std::uint32_t job, std::uint64_t cycle) {
  if (front(port, job) == kNone) return;
  Look& look = looks_[port];
  const std::uint32_t before = cycle == 0 ? kNone : at(port, cycle);
  look.may |= 1U << urgency_[job];
  if (cycle == 0) {
    look.from = static_cast<std::uint32_t>(std::countr_zero(look.may));
  } else {
    look.from = before == kNone ? kNone : urgency_[before];
  }
  look.since = cycle;
}

void PortLooks::free(std::uint32_t port, std::uint32_t job, std::uint64_t cycle) {
  Look& look = looks_[port];
  if (front(port, job) == kNone) look.may &= ~(1U << urgency_[job]);
  look.from = look.may == 0 ? kNone : static_cast<std::uint32_t>(std::countr_zero(look.may));
  look.since = cycle;
}

std::uint32_t PortLooks::at(std::uint32_t port, std::uint64_t cycle) const {
  const Look& look = looks_[port];
  if (look.may == 0 || cycle < look.since || (look.from == kNone && cycle == look.since)) {
    return kNone;
  }
  const std::uint64_t passed = cycle - look.since;
  const auto count = static_cast<std::uint64_t>(std::popcount(look.may));
  // How many of them lie before the one that it looks at, from the most urgent on.
  std::uint64_t number = passed - 1;
  if (look.from != kNone) {
    number = passed + static_cast<std::uint64_t>(
                          std::popcount(look.may & ((std::uint32_t{1} << look.from) - 1)));
  }
  std::uint32_t rest = look.may;
  for (number %= count; number > 0; --number) rest &= rest - 1;
  return job_at_[static_cast<std::size_t>(std::countr_zero(rest))];
}

}  // namespace multitree::nic
