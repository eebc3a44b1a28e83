// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Times of calls, exchanged when a round is over.
#include "runtime/execution/refiner_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/execution/layout_internal.hpp"

namespace multitree::runtime {
Programs::Variant Refiner::variant(const std::string& spec, Collective collective,
                                   Rank root) const {
  return {spec, [refining = refining_, &spec, collective, root] {
            return refining->make(spec, collective, root);
          }};
}

Programs::Variant Refiner::to_compare() const {
  return variant(refining_->comparing, Collective::AllReduce, Rank{0});
}

Refiner::Kind* Refiner::kind_of(const Call& call, Rank root) {
  // What travels rounded is not what was predicted.
  if (call.wire != WireType::AsIs) return nullptr;
  const std::uint64_t bytes = elements_of(call, ranks_) * size_of(call.type);
  const auto known = std::ranges::find_if(kinds_, [&](const Kind& kind) {
    return kind.collective == call.collective && kind.root == root && kind.bytes == bytes;
  });
  if (known != kinds_.end()) return &*known;
  if (kinds_.size() >= kMostKinds) return nullptr;
  const auto list = refining_->candidates.find(call.collective);
  if (list == refining_->candidates.end()) return nullptr;
  const auto sized = std::ranges::lower_bound(list->second, bytes, {}, &SizedSpec::max_bytes);
  if (sized == list->second.end() || sized->rivals.size() < 2) return nullptr;
  return &kinds_.emplace_back(Kind{call.collective, root, bytes, 0, &sized->rivals, std::nullopt});
}

std::optional<RoundTimes> Refiner::to_sum(Kind& kind) const {
  if (first_sums_ < kFirstSums) return first_times_;
  if (!kind.refinement) {
    std::vector<double> predicted;
    for (const PricedSpec& one : *kind.rivals) predicted.push_back(one.seconds);
    kind.refinement.emplace(predicted, exchange_);
  }
  if (!kind.refinement->is_over()) return std::nullopt;
  return kind.refinement->times();
}

void Refiner::summed(Kind& kind, const RoundTimes& sum, std::chrono::nanoseconds time) {
  const auto nanoseconds = static_cast<std::uint64_t>(time.count());
  if (first_sums_ >= kFirstSums) {
    return kind.refinement->agree(mean_of(sum, ranks_), nanoseconds);
  }
  if (++first_sums_ == 2) first_times_.exchange = nanoseconds;
  exchange_ = static_cast<double>(mean_of(sum, ranks_).exchange + 1) * 1e-9;
}

Programs::Variant Refiner::next(Kind& kind) const {
  return variant((*kind.rivals)[kind.refinement->next()].spec, kind.collective, kind.root);
}

void Refiner::took(Kind& kind, std::chrono::nanoseconds time) {
  kind.refinement->took(static_cast<std::uint64_t>(time.count()));
  ++kind.calls;
}

std::vector<Refined> Refiner::refined() const {
  std::vector<Refined> all;
  for (const Kind& kind : kinds_) {
    if (!kind.refinement) continue;
    const Refinement& found = *kind.refinement;
    Refined one{kind.collective, kind.bytes,         kind.calls, (*kind.rivals)[found.used()].spec,
                found.seconds(), found.lost_share(), {}};
    for (std::size_t c = 0; c < kind.rivals->size(); ++c) {
      if (c == found.used()) continue;
      const Refinement::Seen seen = found.seen(c);
      one.rivals.push_back({(*kind.rivals)[c].spec, seen.ratio, seen.looks});
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::string Refined::words() const {
  std::string words = fmt::format("{} of {} B: {}", to_string(collective), bytes, used);
  if (seconds == 0)
    return words + fmt::format(" as predicted, nothing compared in {} calls", calls);
  words += fmt::format(" takes {:.1f}us", seconds * 1e6);
  for (const Rival& rival : rivals) {
    words += rival.looks == 0 ? fmt::format(", {} was not tried yet", rival.spec)
                              : fmt::format(", {} {:.2f} times that ({} looks)", rival.spec,
                                            rival.ratio, rival.looks);
  }
  return words + fmt::format("; {:.1f} % of {} calls to find out", lost_share * 100, calls);
}

}  // namespace multitree::runtime
