// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Optimizers by name.
#include "training/learners/steps.hpp"

#include <fmt/format.h>

#include <charconv>

#include "topologies/error.hpp"

namespace multitree::training {

float number_option(const Spec& options, std::string_view key, float fallback, bool is_part) {
  if (!options.has(key)) return fallback;
  const std::string text = options.get(key, "");
  float value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault == std::errc() && end == text.data() + text.size() && value >= 0 &&
      (!is_part || value < 1)) {
    return value;
  }
  options.fail(fmt::format("{}: expected a number from 0 on{}, got '{}'", key,
                           is_part ? " and below 1" : "", text));
}

std::optional<AdamW> parse_optimizer(std::string_view text) {
  const Spec spec = Spec::parse(text);
  std::optional<AdamW> adamw;
  if (spec.name() == "adamw") {
    const AdamW other;
    adamw = {.squares = number_option(spec, "squares", other.squares, true),
             .decay = number_option(spec, "decay", other.decay, false),
             .least = number_option(spec, "least", other.least, false)};
  } else if (spec.name() != "sgd") {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("unknown optimizer '{}'; one of: sgd adamw", spec.name()));
  }
  spec.check_all_used();
  return adamw;
}

std::string to_string(const std::optional<AdamW>& optimizer) {
  if (!optimizer) return "sgd";
  return fmt::format("adamw?squares={:.9g}&decay={:.9g}&least={:.9g}", optimizer->squares,
                     optimizer->decay, optimizer->least);
}

}  // namespace multitree::training
