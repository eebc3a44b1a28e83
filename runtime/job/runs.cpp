// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Runs: how often, then the text.
#include "runtime/job/runs_internal.hpp"

#include <algorithm>

#include "runtime/job/wire_internal.hpp"

namespace multitree::runtime {

std::string pack_runs(const std::vector<const std::string*>& texts) {
  Writer writer;
  for (auto it = texts.begin(); it != texts.end();) {
    const auto end =
        std::find_if(it, texts.end(), [&](const std::string* other) { return *other != **it; });
    writer.number(static_cast<std::uint32_t>(end - it)).text(**it);
    it = end;
  }
  return writer.bytes();
}

std::vector<std::string> unpack_runs(const std::string& packed, std::size_t texts) {
  std::vector<std::string> all;
  all.reserve(texts);
  Reader reader(packed);
  while (const auto times = reader.number()) {
    const auto text = reader.text();
    if (!text) break;
    all.insert(all.end(), std::min<std::size_t>(*times, texts - all.size()), *text);
  }
  all.resize(texts);
  return all;
}

}  // namespace multitree::runtime
