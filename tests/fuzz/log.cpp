// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Logs of benchmarks, for `multitree explain`.
#include "tools/explain/log.hpp"
#include "fuzz.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::read(data, size, [](std::string_view text) {
    for (const tools::LoggedRun& run : tools::parse_log(text, fuzz::kFile)) {
      for (const tools::LoggedTime& time : run.times) {
        fuzz::expect(time.bytes > 0 && time.seconds > 0, "a size or a time of nothing");
      }
    }
  });
}
