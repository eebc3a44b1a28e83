// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Compares candidates on a grid of sizes, bisects where the winner changes, and leaves out windows
/// that gain too little.
#include "algorithms/tuning/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "algorithms/registry.hpp"
#include "algorithms/tuning/candidates_internal.hpp"
#include "algorithms/tuning/parallel_internal.hpp"
#include "algorithms/tuning/price_floor_internal.hpp"
#include "algorithms/tuning/size_ranges_internal.hpp"
#include "algorithms/written_out.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// Rough: where only winners are asked for. Around a crossover both take about the same time.
constexpr std::uint64_t kRoughGridFactor = 8, kRoughPrecision = 8;

/// Where only winners are asked for: every rank has to make what is chosen.
constexpr double kLeastRoughGain = 0.04;
/// What a schedule that is made for a size must be able to gain to be made at all.
constexpr double kWorthMaking = 1.03;
/// Beyond this many ranks a schedule in pieces takes so long to make that it is made for these
/// sizes only, which others are near enough to.
constexpr std::uint32_t kRanksForEverySize = 16;
constexpr std::pair<std::uint64_t, std::uint64_t> kMiddling{32 << 10, 4 << 20};
/// Below this size no generator cuts data into pieces, so they need not be told every size.
constexpr std::uint64_t kWhole = 32 << 10;
/// Candidates that are priced at once where only the fastest is wanted: more would seldom win.
constexpr std::size_t kAhead = 4;

class Tuner {
 public:
  Tuner(const Topology& topology, Collective collective, Rank root, const TuneOptions& options)
      : topology_(topology),
        priced_(options.priced == nullptr ? topology : *options.priced),
        collective_(collective),
        root_(root),
        options_(options),
        precision_(options.winners_only ? kRoughPrecision : kCrossoverPrecision),
        least_gain_(options.winners_only ? kLeastRoughGain : kLeastGain),
        message_(message_cost(topology, options)),
        least_message_(options.cost.element_bytes == 0 ? options.cost.message_overhead : Time{}),
        store_(topology) {
    const bool is_rough = options.winners_only && !has_few_trees();
    result_.sizes = grid_of(options.first, options.last, is_rough ? kRoughGridFactor : kGridFactor);
  }

  /// Each algorithm as it is for each of the sizes. Without all times those that ask for the size
  /// come second, for sizes at which there is something to gain.
  void add(const std::vector<std::string>& specs) {
    std::vector<std::string> made_now, made_then;
    for (const std::string& spec : specs) {
      const bool asks = !keeps_times() && told(spec, kWhole, message_) != spec;
      (!asks ? made_now : options_.winners_only ? asking_ : made_then).push_back(spec);
    }
    add_all(list_candidates(made_now, result_.sizes, kWhole, message_));
    if (made_then.empty()) return;
    price_contenders();
    std::vector<Made> all = list_candidates(made_then, result_.sizes, kWhole, message_);
    std::erase_if(all, [&](const Made& made) { return is_near_least(made.bytes, 1 + kLeastGain); });
    add_all(std::move(all));
  }

  TuneResult run() {
    for (const std::string& spec : asking_) add_where_it_could_win(spec);
    if (live_.empty()) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("{}: expected an algorithm that serves this network, got none of {}",
                              topology_.name(), result_.candidates.size()));
    }
    if (!options_.winners_only) keeps_times() ? price_all() : price_contenders();
    if (keeps_times()) {
      for (const std::uint64_t size : result_.sizes) keep_times(size);
    }
    SizeRanges ranges([this](std::uint64_t bytes) { return fastest(bytes); },
                      [this](std::size_t c, std::uint64_t bytes) { return time(c, bytes); },
                      precision_, least_gain_);
    result_.ranges = ranges.run(result_.sizes);
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool keeps_times() const { return options_.all_times && !options_.winners_only; }

  void add_all(std::vector<Made> all) {
    make_all(all);
    bool served = true;
    for (Made& made : all) {
      if (served || !made.sized) served = add_made(std::move(made));
    }
    check_added();
  }

  /// Whether what is there takes at most so many times what the network takes at least.
  bool is_near_least(std::uint64_t bytes, double times) {
    if (live_.empty() || bytes == 0) return false;
    const Time least = least_time(priced_, collective_, root_, bytes);
    return time(fastest(bytes), bytes).seconds() <= times * least.seconds();
  }

  void make_all(std::vector<Made>& all) {
    const auto tell = [&](std::size_t over, std::string_view spec) {
      if (options_.on_candidate) {
        options_.on_candidate(spec, static_cast<double>(over) / static_cast<double>(all.size()));
      }
    };
    if (!options_.winners_only) {
      return make_candidates(all, topology_, collective_, root_, store_, tell);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      tell(i, all[i].spec);
      make_candidate(all[i], topology_, collective_, root_, store_);
    }
  }

  /// \returns whether the network allows it. What is like another `sized` one is not listed again;
  /// of two alike the one that is told no size stands for both.
  bool add_made(Made made) {
    const std::size_t self = result_.candidates.size();
    std::size_t twin = self;
    const bool is_served = made.unsupported.empty();
    if (is_served) {
      const auto same = std::ranges::find_if(live_, [&](std::size_t c) {
        return are_alike(result_.candidates[c].schedule, made.schedule);
      });
      if (same == live_.end()) {
        live_.push_back(self);
      } else if (made.sized) {
        return true;
      } else if (made.bytes == 0 && is_told_[*same] &&
                 static_cast<std::size_t>(same - live_.begin()) >= checked_) {
        std::ranges::replace(twin_, *same, self);
        *same = self;
      } else {
        twin = *same;
      }
    } else if (made.sized) {
      return false;
    }
    is_told_.push_back(made.bytes > 0);
    result_.candidates.push_back({.spec = std::move(made.spec),
                                  .schedule = std::move(made.schedule),
                                  .times = {},
                                  .unsupported = std::move(made.unsupported)});
    twin_.push_back(twin);
    return is_served;
  }

  /// Verifies what was added, and finds what it takes at least.
  void check_added() {
    floors_.resize(result_.candidates.size());
    each(live_.size() - checked_, [&](std::size_t i) {
      const Schedule& schedule = result_.candidates[live_[checked_ + i]].schedule;
      expect_verified(schedule, topology_);
      floors_[live_[checked_ + i]] = PriceFloor(schedule, priced_);
    });
    checked_ = live_.size();
  }

  /// A job that starts leaves processors to its other ranks.
  void each(std::size_t count, const std::function<void(std::size_t)>& work) const {
    if (!options_.winners_only) return in_parallel(count, work);
    for (std::size_t i = 0; i < count; ++i) work(i);
  }

  /// Nobody can be much faster than the fastest so far where that is near what the network takes.
  void add_where_it_could_win(const std::string& spec) {
    for (std::size_t i = 0; i < result_.sizes.size(); ++i) {
      const std::uint64_t bytes = result_.sizes[i];
      if (i + 1 < result_.sizes.size() && result_.sizes[i + 1] < kWhole) continue;
      if (!live_.empty()) {
        if (!is_worth_its_time(bytes) || is_near_least(bytes, kWorthMaking)) continue;
      }
      Made made{.spec = told(spec, bytes, message_),
                .sized = i > 0,
                .bytes = bytes,
                .schedule = {},
                .unsupported = {}};
      if (options_.on_candidate) options_.on_candidate(made.spec, 1);
      make_candidate(made, topology_, collective_, root_, store_);
      const bool is_served = add_made(std::move(made));
      check_added();
      if (!is_served) return;
    }
  }

  /// Of one root, which do not take long.
  [[nodiscard]] bool has_few_trees() const {
    return has_root(collective_) && !is_sharded(collective_);
  }

  [[nodiscard]] bool is_worth_its_time(std::uint64_t bytes) const {
    if (has_few_trees() || topology_.num_ranks() <= kRanksForEverySize) return true;
    return bytes >= kMiddling.first && bytes <= kMiddling.second;
  }

  /// Everything at every size of the grid.
  void price_all() {
    std::vector<Time> times(live_.size() * result_.sizes.size());
    in_parallel(times.size(), [&](std::size_t i) {
      times[i] = predict(live_[i % live_.size()], result_.sizes[i / live_.size()]);
    });
    for (std::size_t i = 0; i < times.size(); ++i) {
      floors_[live_[i % live_.size()]].note(result_.sizes[i / live_.size()], times[i]);
    }
  }

  /// Who could be the fastest at every size of the grid.
  void price_contenders() {
    std::vector<std::vector<std::pair<std::size_t, Time>>> priced(result_.sizes.size());
    in_parallel(priced.size(), [&](std::size_t i) {
      const std::uint64_t bytes = result_.sizes[i];
      Time least{std::numeric_limits<decltype(Time::picoseconds)>::max()};
      for (const auto& [floor, c] : by_floor(bytes)) {
        if (floor > least) break;
        const Time* const known = floors_[c].known(bytes);
        const Time time = known != nullptr ? *known : predict(c, bytes);
        priced[i].emplace_back(c, time);
        least = std::min(least, time);
      }
    });
    for (std::size_t i = 0; i < priced.size(); ++i) {
      for (const auto& [c, time] : priced[i]) floors_[c].note(result_.sizes[i], time);
    }
  }

  /// The most promising first, each with what it takes at least.
  [[nodiscard]] std::vector<std::pair<Time, std::size_t>> by_floor(std::uint64_t bytes) const {
    std::vector<std::pair<Time, std::size_t>> order;
    for (const std::size_t c : live_) order.emplace_back(floors_[c].at(bytes, least_message_), c);
    std::ranges::sort(order);
    return order;
  }

  [[nodiscard]] Time predict(std::size_t candidate, std::uint64_t bytes) const {
    return predict_time(result_.candidates[candidate].schedule, priced_, bytes, options_.cost,
                        floors_[candidate].rounds());
  }

  Time time(std::size_t candidate, std::uint64_t bytes) {
    PriceFloor& floor = floors_[candidate];
    if (const Time* const known = floor.known(bytes)) return *known;
    const Time time = predict(candidate, bytes);
    floor.note(bytes, time);
    return time;
  }

  /// Of all at a size of the grid.
  void keep_times(std::uint64_t bytes) {
    for (const std::size_t c : live_) result_.candidates[c].times.push_back(time(c, bytes));
    for (std::size_t c = 0; c < twin_.size(); ++c) {
      if (twin_[c] == c) continue;
      result_.candidates[c].times.push_back(result_.candidates[twin_[c]].times.back());
    }
  }

  /// Prices the first of these that could be faster than `least`, if there is one, and those right
  /// behind it that have not been priced, as many as there are processors for.
  void price_next(std::span<const std::pair<Time, std::size_t>> order, std::uint64_t bytes,
                  std::optional<Time> least) {
    const std::size_t ahead = std::min(kAhead, parallel_threads());
    std::vector<std::size_t> next;
    for (const auto& [floor, c] : order) {
      if ((least && floor > *least) || next.size() == ahead) break;
      if (floors_[c].known(bytes) == nullptr) next.push_back(c);
    }
    std::vector<Time> times(next.size());
    each(next.size(), [&](std::size_t i) { times[i] = predict(next[i], bytes); });
    for (std::size_t i = 0; i < next.size(); ++i) floors_[next[i]].note(bytes, times[i]);
  }

  /// Prices those that could be the fastest, the most promising first.
  std::size_t fastest(std::uint64_t bytes) {
    auto least = std::tuple(Time{}, std::size_t{0}, std::size_t{0});
    bool any = false;
    const auto order = by_floor(bytes);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto& [floor, c] = order[i];
      if (any && floor > std::get<Time>(least)) break;
      if (!options_.winners_only && floors_[c].known(bytes) == nullptr) {
        price_next(std::span(order).subspan(i), bytes,
                   any ? std::optional(std::get<Time>(least)) : std::nullopt);
      }
      const auto one =
          std::tuple(time(c, bytes), result_.candidates[c].schedule.transfers.size(), c);
      if (any && least <= one) continue;
      least = one;
      any = true;
    }
    return std::get<2>(least);
  }

  const Topology& topology_;
  const Topology& priced_;
  Collective collective_;
  Rank root_;
  const TuneOptions& options_;
  std::uint64_t precision_;  // of a crossover, as a part of its size
  double least_gain_;        // of a window
  Time message_;             // that generators are told
  Time least_message_;       // what each costs its sender; nothing is sent of no elements
  ScheduleStore store_;
  std::vector<std::string> asking_;  // for the size
  TuneResult result_;
  std::vector<std::size_t> live_;   // candidates that have a schedule, unlike those before
  std::size_t checked_ = 0;         // of those
  std::vector<PriceFloor> floors_;  // of each candidate
  std::vector<std::size_t> twin_;   // of each candidate, who has its schedule
  std::vector<bool> is_told_;       // and whether it was told a size
};

}  // namespace

TuneResult tune(const Topology& topology, Collective collective, Rank root,
                const TuneOptions& options) {
  if (options.first > options.last) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("sizes: expected a first size up to the last, {}, got {}", options.last,
                            options.first));
  }
  check_written_out(topology);
  Tuner tuner(topology, collective, root, options);
  tuner.add(options.algorithms.empty() ? candidate_specs() : options.algorithms);
  return tuner.run();
}

}  // namespace multitree
