// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Compares measured times with the bound and with predictions.
#include "tools/explain/verdict.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "algorithms/bounds.hpp"
#include "algorithms/report.hpp"

namespace multitree::tools {
namespace {

constexpr double kAtBound = 0.9;    ///< a share from which on only the network limits
constexpr double kBeyond = 1.02;    ///< a share beyond which no measurement's error explains it
constexpr double kLargeSizes = 16;  ///< sizes down to this part of the largest tell the algorithm

/// How far predictions are from what was measured, over the largest sizes: means of
/// log(measured / predicted), and of its magnitude.
struct Distance {
  double ratio = 0, magnitude = 0;
};
Distance distance(const Prediction& prediction, const std::vector<VerdictRow>& rows) {
  const auto bytes = [](const VerdictRow& row) { return static_cast<double>(row.bytes); };
  const double largest = bytes(*std::ranges::max_element(rows, {}, bytes));
  Distance sum;
  int count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (bytes(rows[i]) * kLargeSizes < largest) continue;
    const double ratio = std::log(rows[i].seconds / std::max(prediction.seconds[i], 1e-12));
    sum.ratio += ratio;
    sum.magnitude += std::abs(ratio);
    ++count;
  }
  return {sum.ratio / count, sum.magnitude / count};
}

Limit limit_of(const VerdictRow& row, double predicted) {
  if (row.share > kBeyond) return Limit::Beyond;
  if (row.share >= kAtBound) return Limit::Network;
  if (row.least < row.best_seconds / 2) return Limit::Latency;
  const double by_schedule = predicted / row.best_seconds, by_hosts = row.seconds / predicted;
  return by_schedule > by_hosts ? Limit::Schedule : Limit::Hosts;
}

std::vector<VerdictRow> measured_rows(const LoggedRun& run, const Topology& topology,
                                      const Certificate& certificate) {
  const std::uint32_t ranks = topology.num_ranks();
  std::vector<VerdictRow> rows;
  for (const LoggedTime& time : run.times) {
    VerdictRow row;
    row.bytes = buffer_bytes(run, time, ranks);
    row.seconds = time.seconds;
    row.busbw = static_cast<double>(row.bytes) / row.seconds / 1e9 *
                busbw_factor(certificate.collective, ranks);
    row.least = seconds_of(certificate.bound, topology, row.bytes);
    row.share = row.least / row.seconds;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

std::uint64_t buffer_bytes(const LoggedRun& run, const LoggedTime& time, std::uint32_t ranks) {
  return time.bytes * (run.counts_shards ? ranks : 1);
}

std::string_view to_string(Limit limit) {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"the network", "latency", "schedule", "links or hosts", "nothing: wrong network?"});
  return kNames[static_cast<std::size_t>(limit)];
}

Verdict judge(const LoggedRun& run, const Topology& topology, const Certificate& certificate,
              const std::vector<Prediction>& all) {
  Verdict verdict;
  verdict.rows = measured_rows(run, topology, certificate);
  const auto named = std::ranges::find(all, run.algorithm, &Prediction::algorithm);
  verdict.named = named != all.end();
  const Prediction& own =
      verdict.named ? *named : *std::ranges::min_element(all, {}, [&](const Prediction& each) {
        return distance(each, verdict.rows).magnitude;
      });
  verdict.nearest = own.algorithm;
  verdict.times = std::exp(distance(own, verdict.rows).ratio);
  for (std::size_t i = 0; i < verdict.rows.size(); ++i) {
    VerdictRow& row = verdict.rows[i];
    const Prediction& best =
        *std::ranges::min_element(all, {}, [&](const Prediction& each) { return each.seconds[i]; });
    row.best = best.algorithm;
    row.best_seconds = best.seconds[i];
    row.limit = limit_of(row, own.seconds[i]);
  }
  return verdict;
}

}  // namespace multitree::tools
