// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A pure function.
#include "runtime/messages/tcp/shares_internal.hpp"

#include <algorithm>
#include <numeric>

namespace multitree::runtime::tcp {
namespace {

/// What a message costs that is sent beside another.
constexpr double kMicroseconds = 20;
constexpr double kBytesPerMicrosecond = 0.125;  // at 1 Mbit/s
/// About what a packet carries.
constexpr double kLeastShare = 1024;
/// Shares begin where memory is copied well.
constexpr std::size_t kAlignment = 64;

}  // namespace

std::vector<std::size_t> shares_of(std::size_t bytes, std::span<const std::uint32_t> mbits) {
  std::vector<std::size_t> shares(mbits.size());
  std::vector<double> rates(mbits.begin(), mbits.end());
  const auto sum = [&] { return std::accumulate(rates.begin(), rates.end(), 0.0); };
  const auto whole = static_cast<double>(bytes);
  const auto fastest = std::ranges::max_element(rates);
  const auto first = static_cast<std::size_t>(fastest - rates.begin());
  if (whole < kMicroseconds * kBytesPerMicrosecond * sum()) {
    shares[first] = bytes;
    return shares;
  }
  // The slowest first, as the others' shares grow when one is left out.
  while (true) {
    auto slowest = rates.end();
    for (auto rate = rates.begin(); rate != rates.end(); ++rate) {
      if (*rate > 0 && (slowest == rates.end() || *rate <= *slowest)) slowest = rate;
    }
    const bool others = std::ranges::count_if(rates, [](double rate) { return rate > 0; }) > 1;
    if (!others || whole * *slowest >= kLeastShare * sum()) break;
    *slowest = 0;
  }
  const double all = sum();
  const auto last =
      std::ranges::find_if(rates.rbegin(), rates.rend(), [](double rate) { return rate > 0; });
  if (last == rates.rend()) {
    shares.front() = bytes;
    return shares;
  }
  double before = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    before += rates[i];
    const bool is_last = &rates[i] == &*last;
    const auto end = static_cast<std::size_t>(whole * (before / all)) / kAlignment * kAlignment;
    const std::size_t until = is_last ? bytes : std::clamp(end, begin, bytes);
    shares[i] = rates[i] > 0 ? until - begin : 0;
    begin += shares[i];
    if (is_last) break;
  }
  return shares;
}

}  // namespace multitree::runtime::tcp
