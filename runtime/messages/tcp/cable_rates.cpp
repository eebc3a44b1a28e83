// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From flows to shares.
#include "runtime/messages/tcp/cable_rates_internal.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace multitree::runtime::tcp {
namespace {

using Seconds = std::chrono::duration<double>;

/// A window ends when the cable that was busy longest was for so many seconds.
constexpr double kWindow = 0.15;
/// A cable tells something that was busy for so much of that, or has carried so many bytes.
constexpr double kLeastBusy = 0.03, kLeastBytes = 16 << 10;
/// Kernels count busy time in ticks, so that less than some tell nothing.
constexpr double kTicks = 0.01;
constexpr double kBytesPerMbit = 1e6 / 8;
/// Where the other end had no room for longer than this share of it, no cable is to blame.
constexpr double kHeld = 0.1;
/// Differences up to this are none: shares change where they are worth it.
constexpr double kAlike = 0.85;
/// What has been measured counts so much beside what was known.
constexpr double kNew = 0.7;
/// No less is believed of a cable that lets anything through.
constexpr double kLeastLeft = 0.005;
/// After which one that tells nothing gets so many times its share.
constexpr std::chrono::seconds kForgiven{5};
constexpr double kChance = 2;

}  // namespace

bool CableRates::Cable::tells() const {
  return declared > 0 && (busy >= kLeastBusy || bytes >= kLeastBytes);
}

/// What a cable had saved up while it carried little comes faster than it could bring it for long.
double CableRates::Cable::brings() const {
  return std::min(1.0, bytes / std::max(busy, kTicks) / (kBytesPerMbit * declared));
}

void CableRates::declare(const std::vector<std::uint32_t>& mbits) {
  cables_.resize(mbits.size());
  for (std::size_t i = 0; i < mbits.size(); ++i) {
    if (mbits[i] != cables_[i].declared) cables_[i].left = 1;
    cables_[i].declared = mbits[i];
    cables_[i].flow.reset();
    cables_[i].busy = cables_[i].bytes = 0;
  }
}

std::vector<std::uint32_t> CableRates::mbits() const {
  std::vector<std::uint32_t> rates;
  for (const Cable& cable : cables_) {
    const double rate = cable.declared * cable.left;
    rates.push_back(cable.declared == 0 ? 0 : std::max(1U, static_cast<std::uint32_t>(rate)));
  }
  return rates;
}

/// What has passed since the last look.
void CableRates::add(std::span<const std::optional<Flow>> flows) {
  bool held = false;
  for (std::size_t i = 0; i < cables_.size(); ++i) {
    Cable& cable = cables_[i];
    const std::optional<Flow> before = std::exchange(cable.flow, flows[i]);
    if (!before || !flows[i]) continue;
    const double busy = Seconds(flows[i]->busy - before->busy).count();
    held |= Seconds(flows[i]->held - before->held).count() > kHeld * busy;
    cable.busy += busy;
    cable.bytes += static_cast<double>(flows[i]->bytes - before->bytes);
  }
  if (!held) return;
  for (Cable& cable : cables_) cable.busy = cable.bytes = 0;
}

bool CableRates::look(std::span<const std::optional<Flow>> flows, Clock::time_point now) {
  looked_ = now;
  add(flows);
  const auto busiest = std::ranges::max_element(cables_, {}, &Cable::busy);
  if (busiest == cables_.end() || busiest->busy < kWindow) return false;
  const bool judged = judge(now), more = give_chances(now);
  for (Cable& cable : cables_) cable.busy = cable.bytes = 0;
  return judged || more;
}

bool CableRates::judge(Clock::time_point now) {
  double most = 0;
  for (Cable& cable : cables_) {
    if (!cable.tells()) continue;
    cable.seen = now;
    most = std::max(most, cable.brings());
  }
  if (most == 0) return false;
  bool changed = false;
  double best = 0;
  std::vector<double> left;
  for (const Cable& cable : cables_) {
    const double measured = cable.tells() ? cable.brings() / most : cable.left;
    const bool alike = measured >= kAlike * cable.left && measured <= cable.left / kAlike;
    left.push_back(alike ? cable.left
                         : std::max(kLeastLeft, std::lerp(cable.left, measured, kNew)));
    changed |= !alike;
    if (cable.declared > 0) best = std::max(best, left.back());
  }
  for (std::size_t i = 0; changed && i < cables_.size(); ++i) {
    cables_[i].left = left[i] / best >= kAlike ? 1 : left[i] / best;
  }
  return changed;
}

bool CableRates::give_chances(Clock::time_point now) {
  bool changed = false;
  for (Cable& cable : cables_) {
    if (cable.left == 1 || now - cable.seen < kForgiven) continue;
    cable.seen = now;
    cable.left = std::min(1.0, kChance * cable.left);
    changed = true;
  }
  return changed;
}

}  // namespace multitree::runtime::tcp
