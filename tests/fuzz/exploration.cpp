// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Results that an exploration goes on from, behind the first line that this version writes.
#include "fuzz.hpp"
#include "tools/explore/results.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string header = tools::explore_header();
  return fuzz::read(data, size, [](std::string_view lines) {
    const std::string text = header + std::string(lines);
    for (const auto& [content, outcome] : tools::parse_explore_results(text, fuzz::kFile)) {
      const std::string line = tools::explore_line(content, outcome);
      fuzz::expect(lines.find(line) != std::string_view::npos, "a result that is no line");
    }
  });
}
