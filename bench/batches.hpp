// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How a collective is timed, the same for us and for our peers; nothing but the standard library.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace bench {

/// Median over batches of the seconds that one call of `run` takes. `agree` gives all ranks rank
/// 0's number, `barrier` lets them start together, and ends a batch as well: a root may leave
/// before the others are done. A batch takes a few milliseconds or one call.
template <typename Run, typename Barrier, typename Agree>
double median_seconds(const Run& run, const Barrier& barrier, const Agree& agree) {
  using Clock = std::chrono::steady_clock;
  const auto batch = [&](int calls) {
    barrier();
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) run();
    barrier();
    const std::chrono::duration<double> time = Clock::now() - start;
    return time.count() / calls;
  };
  run();
  const double first = std::max(batch(3), 1e-7);
  const int calls = agree(static_cast<int>(std::clamp(10e-3 / first, 1.0, 20'000.0)));
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) times.push_back(batch(calls));
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace bench
