// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Policies that do not wait for this iteration's sums: gradients that come an iteration late, and
/// parameters that are averaged once in several iterations.
///
/// Their times are means of a round. A round has one transfer, or one for each fragment; time 0 of
/// transfers is where their round begins.
#include <algorithm>
#include <charconv>

#include "training/channel_internal.hpp"
#include "training/gradients_internal.hpp"
#include "training/learners/rounds.hpp"
#include "training/policies_internal.hpp"

namespace multitree::training {
namespace {

double computing(const Model& model) { return model.forward() + model.backward(); }

std::uint32_t count_option(const Spec& options, std::string_view key, std::string_view fallback) {
  const std::string text = options.get(key, fallback);
  std::uint32_t count = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc{} && rest == text.data() + text.size() && count > 0) return count;
  options.fail(std::string(key) + ": expected a whole number from 1 on, got '" + text + "'");
}

/// All parameters in so many fragments, one after the other from `begin` on.
std::vector<Transfer> average(const Model& model, const Costs& costs, double begin,
                              std::uint32_t fragments) {
  const std::uint64_t bytes = model.bytes();
  if (bytes == 0) return {};
  Channel channel(costs);
  const std::uint64_t count = std::min<std::uint64_t>(fragments, bytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    channel.run({.collective = Collective::AllReduce,
                 .first = 0,
                 .last = static_cast<std::uint32_t>(model.layers.size() - 1),
                 .bytes = bytes * (i + 1) / count - bytes * i / count,
                 .ready = begin});
  }
  return channel.transfers();
}

double end_of(const std::vector<Transfer>& transfers, double begin) {
  return transfers.empty() ? begin : transfers.back().end;
}

Iteration mean_of(double round, std::uint32_t iterations, std::vector<Transfer> transfers) {
  return {.seconds = round / iterations,
          .transfers = std::move(transfers),
          .runs = {},
          .synchronous = false,
          .plannable = false};
}

/// `iterations` of computing, then averaging.
Iteration averaged_after(const Model& model, const Costs& costs, std::uint32_t iterations) {
  const double begin = iterations * computing(model);
  std::vector<Transfer> transfers = average(model, costs, begin, 1);
  const double end = end_of(transfers, begin);
  return mean_of(end, iterations, std::move(transfers));
}

/// `iterations` of computing beside the averaging of what the round before them left.
Iteration averaged_beside(const Model& model, const Costs& costs, std::uint32_t iterations,
                          std::uint32_t fragments) {
  std::vector<Transfer> transfers = average(model, costs, 0, fragments);
  const double end = end_of(transfers, 0);
  return mean_of(std::max(iterations * computing(model), end), iterations, std::move(transfers));
}

}  // namespace

Iteration run_pipe_sgd(const Model& model, const Costs& costs, const Spec&) {
  return averaged_beside(model, costs, 1, 1);
}

Iteration run_local_sgd(const Model& model, const Costs& costs, const Spec& options) {
  return averaged_after(model, costs, count_option(options, "every", "5"));
}

Iteration run_cocod(const Model& model, const Costs& costs, const Spec& options) {
  return averaged_beside(model, costs, count_option(options, "every", "5"), 1);
}

Iteration run_diloco(const Model& model, const Costs& costs, const Spec& options) {
  const std::uint32_t every = count_option(options, "every", "500");
  const std::uint32_t fragments = count_option(options, "fragments", "1");
  static_cast<void>(outer_step_of(options));  // is of learners, and takes no time
  return fragments == 1 ? averaged_after(model, costs, every)
                        : averaged_beside(model, costs, every, fragments);
}

}  // namespace multitree::training
