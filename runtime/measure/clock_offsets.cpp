// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Clocks compared through the control connections.
#include "runtime/measure/clock_offsets.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <limits>

#include "runtime/execution/recorder.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// The same for processes that read the same CLOCK_MONOTONIC: the boot of the machine, and the
/// namespace that may shift the clock. Empty where the system does not say.
std::string clock_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  if (boot.empty()) return {};
  std::array<char, 64> name{};
  const ssize_t length = ::readlink("/proc/self/ns/time", name.data(), name.size());
  return boot + " " + std::string(name.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
}

std::vector<BarrierTimes> read_times(const std::string& blob, std::size_t rounds) {
  if (blob.size() != rounds * sizeof(BarrierTimes)) {
    throw Error(ErrorCode::Transport, "clock offsets: the ranks run different programs");
  }
  std::vector<BarrierTimes> times(rounds);
  std::memcpy(times.data(), blob.data(), blob.size());
  return times;
}

}  // namespace

ClockOffset offset_from_barriers(const std::vector<BarrierTimes>& rank0,
                                 const std::vector<BarrierTimes>& other) {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < rank0.size(); ++i) {
    least = std::max(least, other[i].entered - rank0[i].left);
    most = std::min(most, other[i].left - rank0[i].entered);
  }
  const std::int64_t width = std::max<std::int64_t>(most - least, 0);  // clocks drift a little
  return {least + width / 2, (width + 1) / 2};
}

std::vector<ClockOffset> measure_offsets(Bootstrap& bootstrap, Deadline deadline, int rounds,
                                         const std::function<std::int64_t()>& now) {
  std::vector<BarrierTimes> mine(static_cast<std::size_t>(std::max(rounds, 1)));
  for (BarrierTimes& times : mine) {
    times.entered = now();
    bootstrap.barrier(deadline);
    times.left = now();
  }
  const auto all = bootstrap.all_gather(
      {reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(BarrierTimes)}, deadline);
  std::vector<ClockOffset> offsets(all.size());
  for (std::size_t r = 1; r < all.size(); ++r) {
    offsets[r] =
        offset_from_barriers(read_times(all[0], mine.size()), read_times(all[r], mine.size()));
  }
  return offsets;
}

std::vector<ClockOffset> clock_offsets(Bootstrap& bootstrap, Deadline deadline, int rounds) {
  const Gathered identities = bootstrap.all_gather(clock_identity(), deadline);
  const bool same = !identities[0].empty() && std::ranges::all_of(identities, [&](const auto& one) {
    return one == identities[0];
  });
  if (same) return std::vector<ClockOffset>(identities.size());
  return measure_offsets(bootstrap, deadline, rounds, Recorder::now);
}

}  // namespace multitree::runtime
