// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which message waited for which.
#include "tools/simulate/arrows.hpp"

#include <map>
#include <optional>
#include <tuple>

namespace multitree::tools {

void add_arrows(report::Trace& trace, const std::vector<nic::MessageRecord>& records,
                const std::vector<std::uint64_t>& span_of) {
  using Key = std::tuple<Rank, std::uint32_t, std::uint32_t>;  // rank, flow, piece
  std::map<Key, std::vector<std::uint32_t>> arrivals;
  for (std::uint32_t m = 0; m < records.size(); ++m) {
    arrivals[{records[m].dst, records[m].flow, records[m].piece}].push_back(m);
  }
  for (std::uint32_t m = 0; m < records.size(); ++m) {
    const nic::MessageRecord& sent = records[m];
    const auto found = arrivals.find({sent.src, sent.flow, sent.piece});
    if (found == arrivals.end()) continue;
    std::optional<std::uint32_t> last;
    for (const std::uint32_t a : found->second) {
      const bool is_before = records[a].step < sent.step && records[a].arrived <= sent.issued;
      if (is_before && (!last || records[a].arrived > records[*last].arrived)) last = a;
    }
    if (last && span_of[*last] != kNoSpan && span_of[m] != kNoSpan) {
      trace.add_arrow(span_of[*last], span_of[m]);
    }
  }
}

}  // namespace multitree::tools
