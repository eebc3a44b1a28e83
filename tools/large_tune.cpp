// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `tune` on networks whose ranks are all alike, in the words that it has for others.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/time_certificate.hpp"
#include "tools/large.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

/// A result, and the least time that is proved beside it.
class Tuned {
 public:
  Tuned(const LoadedNetwork& network, const AlikeTune& tune)
      : network_(network),
        tune_(tune),
        bound_(bound_of(*network.alike, tune.collective)),
        result_(tune_alike(*network.alike, tune.collective, tune.options)) {}

  [[nodiscard]] std::string crossovers() const {
    std::vector<std::vector<std::string>> rows = {{"algorithm", "from", "to", "time(from)",
                                                   "time(to)", "over least(from)", "over least(to)",
                                                   "busbw(to)", "steps", "transfers"}};
    for (const TunedRange& range : result_.ranges) {
      AlikeCandidate& candidate = *result_.candidates[range.candidate];
      rows.push_back({candidate.spec(), format_bytes(range.from), format_bytes(range.to),
                      microseconds(range.time_from), microseconds(range.time_to),
                      over_least(range.time_from, range.from), over_least(range.time_to, range.to),
                      fmt::format("{:.2f}", busbw(range.time_to, range.to)),
                      fmt::format("{}", candidate.steps()),
                      fmt::format("{}", candidate.transfers())});
    }
    return format_table(rows);
  }

  /// Every candidate at every size compared, in microseconds.
  [[nodiscard]] std::string comparison() const {
    std::vector<std::vector<std::string>> rows(1, {"us"});
    for (const std::uint64_t size : result_.sizes) rows[0].push_back(format_bytes(size));
    for (const auto& candidate : result_.candidates) {
      auto& row = rows.emplace_back(1, candidate->spec());
      for (const std::uint64_t size : result_.sizes) {
        row.push_back(fmt::format("{:.2f}", candidate->time(size).seconds() * 1e6));
      }
    }
    return format_table(rows);
  }

  /// For every size compared, what the choice is due to.
  [[nodiscard]] std::string reasons() const {
    std::vector<std::vector<std::string>> rows = {{"size", "algorithm", "time", "over least",
                                                   "proved by", "decided by", "bytes", "messages",
                                                   "latency", "next", "slower"}};
    for (const std::uint64_t size : result_.sizes) rows.push_back(reason(size));
    return format_table(rows);
  }

  [[nodiscard]] ordered_json json() const {
    ordered_json ranges = ordered_json::array(), candidates = ordered_json::array();
    ordered_json proved = ordered_json::array();
    for (const std::uint64_t size : result_.sizes) proved.push_back(least(size).seconds());
    for (const TunedRange& range : result_.ranges) {
      ranges.push_back({{"from", range.from},
                        {"to", range.to},
                        {"algorithm", result_.candidates[range.candidate]->spec()},
                        {"seconds_from", range.time_from.seconds()},
                        {"seconds_to", range.time_to.seconds()},
                        {"least_seconds_from", least(range.from).seconds()},
                        {"least_seconds_to", least(range.to).seconds()}});
    }
    for (const auto& candidate : result_.candidates) {
      ordered_json seconds = ordered_json::array();
      for (const std::uint64_t size : result_.sizes) {
        seconds.push_back(candidate->time(size).seconds());
      }
      candidates.push_back({{"algorithm", candidate->spec()}, {"seconds", std::move(seconds)}});
    }
    return {{"topology", network_.name},
            {"collective", to_string(tune_.collective)},
            {"ranks", network_.alike->graph.size()},
            {"model", "alpha-beta links with contention, predicted"},
            {"ranges", std::move(ranges)},
            {"sizes", result_.sizes},
            {"least_seconds", std::move(proved)},
            {"candidates", std::move(candidates)}};
  }

 private:
  static std::string microseconds(Time time) {
    return fmt::format("{:.3f}us", time.seconds() * 1e6);
  }
  [[nodiscard]] Time least(std::uint64_t bytes) const {
    return least_time(*network_.alike, bound_, bytes, tune_.options.message_overhead);
  }
  [[nodiscard]] std::string over_least(Time time, std::uint64_t bytes) const {
    const double seconds = least(bytes).seconds();
    return seconds > 0 ? fmt::format("{:.3f}", time.seconds() / seconds) : "-";
  }
  [[nodiscard]] double busbw(Time time, std::uint64_t bytes) const {
    if (time.picoseconds == 0) return 0;
    return static_cast<double>(bytes) / time.seconds() / 1e9 *
           busbw_factor(tune_.collective, network_.alike->graph.size());
  }

  [[nodiscard]] std::vector<std::string> reason(std::uint64_t bytes) const {
    const auto range = std::ranges::lower_bound(result_.ranges, bytes, {}, &TunedRange::to);
    AlikeCandidate& winner = *result_.candidates[range->candidate];
    const Time time = winner.time(bytes);
    AlikeCandidate* next = nullptr;
    for (const auto& other : result_.candidates) {
      if (other.get() == &winner) continue;
      if (next == nullptr || other->time(bytes) < next->time(bytes)) next = other.get();
    }
    const double whole = std::max(time.seconds(), 1e-15);
    const double links = std::min(seconds_of(winner.load(), *network_.alike, bytes) / whole, 1.0);
    const double messages = std::clamp(
        (time.seconds() - winner.time_of_links(bytes).seconds()) / whole, 0.0, 1 - links);
    const double latency = 1 - links - messages;
    std::string_view decides = messages >= latency ? "messages" : "latency";
    if (links >= messages && links >= latency) decides = "bytes";
    // Next to nothing crosses cuts in no time, so that the longest way is what is left.
    const bool by_cuts = least(bytes) > least(1);
    const auto percent = [](double part) { return fmt::format("{:.0f}%", part * 100); };
    return {format_bytes(bytes),
            winner.spec(),
            fmt::format("{:.2f}us", time.seconds() * 1e6),
            over_least(time, bytes),
            std::string(to_string(by_cuts ? TimeReason::Cuts : TimeReason::Path)),
            std::string(decides),
            percent(links),
            percent(messages),
            percent(latency),
            next == nullptr ? "-" : next->spec(),
            next == nullptr ? "-" : fmt::format("{:.2f}x", next->time(bytes).seconds() / whole)};
  }

  const LoadedNetwork& network_;
  const AlikeTune& tune_;
  AlikeBound bound_;
  AlikeTuneResult result_;
};

}  // namespace

int print_tuned(const LoadedNetwork& network, const AlikeTune& tune) {
  const Tuned tuned(network, tune);
  if (tune.json) {
    print_json(tuned.json());
    return kOk;
  }
  std::string text = fmt::format(
                         "# {} on {}, {} ranks; predicted (alpha-beta, contention); one "
                         "rank stands for all; all verified\n",
                         to_string(tune.collective), network.name, network.alike->graph.size()) +
                     tuned.crossovers();
  if (tune.all) text += "#\n" + tuned.comparison();
  if (tune.why) text += "#\n" + tuned.reasons();
  print(text);
  return kOk;
}

}  // namespace multitree::tools
