// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Results that a study goes on from, behind the first line that this version writes.
#include "tools/study/results.hpp"
#include "fuzz.hpp"
#include "tools/study/plan.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string header = tools::results_header();
  return fuzz::read(data, size, [](std::string_view lines) {
    const std::string text = header + std::string(lines);
    const tools::ParsedResults results = tools::parse_results(text, fuzz::kFile);
    fuzz::expect(results.whole <= text.size(), "more whole lines than there are");
  });
}
