// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which partial sums may be lost.
#include <fmt/format.h>

#include <cmath>

#include "topologies/error.hpp"
#include "training/loss/counted_sums.hpp"

namespace multitree::training {
namespace {

bool is_front(const PartialSum& message) { return 2 * message.layer < message.layers; }

bool is_small(const PartialSum& message) {
  double square = 0;
  for (const float value : message.sums) square += static_cast<double>(value) * value;
  const double mean = square / static_cast<double>(message.sums.size());
  return std::sqrt(mean) < message.typical * message.count;
}

constexpr LossRule kRules[] = {
    {"all", "every message", [](const PartialSum&) { return true; }},
    {"front", "of the first half of the layers", is_front},
    {"back", "of the other half", [](const PartialSum& message) { return !is_front(message); }},
    {"small", "of gradients below their layer's root of the mean square", is_small},
    {"large", "of the others", [](const PartialSum& message) { return !is_small(message); }},
    {"front-small", "both",
     [](const PartialSum& message) { return is_front(message) && is_small(message); }},
};

}  // namespace

std::span<const LossRule> loss_rules() { return kRules; }

const LossRule& find_loss_rule(std::string_view name) {
  std::string names;
  for (const LossRule& rule : kRules) {
    if (rule.name == name) return rule;
    names += fmt::format(" {}", rule.name);
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("no rule of losses '{}'; one of:{}", name, names));
}

}  // namespace multitree::training
