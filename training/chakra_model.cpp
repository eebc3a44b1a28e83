// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Models from Chakra traces: what is computed until all-reduces start, and what those sum up.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "algorithms/interchange/chakra_internal.hpp"
#include "topologies/error.hpp"
#include "training/rows_internal.hpp"

namespace multitree::training {
namespace {

enum class Pass : std::uint8_t { Unknown, Forward, Backward };

/// By words that converters and frameworks put into names.
Pass pass_by_name(const std::string& name) {
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto has = [&](std::string_view word) { return lower.find(word) != std::string::npos; };
  if (has("bwd") || has("backward")) return Pass::Backward;
  return has("fwd") || has("forward") ? Pass::Forward : Pass::Unknown;
}

/// "COMP_NODE_conv1_BWD_WG" is of the layer "conv1"; names of kernels are of none.
std::optional<std::string> layer_by_name(std::string_view name) {
  constexpr std::string_view kPrefix = "COMP_NODE_";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  constexpr std::array<std::string_view, 4> kSuffixes{"_FWD", "_BWD_WG", "_BWD_IG", "_BWD"};
  for (const std::string_view suffix : kSuffixes) {
    if (!name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    return std::string(name);
  }
  return std::nullopt;
}

/// The first iteration of a trace.
class TracedIteration {
 public:
  TracedIteration(std::string_view text, const std::string& file, const Machine& machine)
      : file_(file),
        machine_(machine),
        nodes_(parse_chakra_trace(text, file)),
        about_(nodes_.size()) {
    counts_cpu_ = std::ranges::none_of(nodes_, [](const ChakraNode& node) {
      return node.kind == ChakraKind::Compute && !node.on_cpu;
    });
    for (std::size_t n = 0; n < nodes_.size() && !is_over_; ++n) take(n);
    if (backward_.empty()) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{}: expected computing of a backward pass, with 'BWD' or 'backward' "
                              "in its nodes' names, found none in {} nodes",
                              file_, nodes_.size()));
    }
  }

  [[nodiscard]] Model model() const {
    Model model;
    Layer layer;
    for (const Step& step : backward_) {
      layer.backward += step.seconds;
      layer.name = step.layer.value_or(step.name);
      if (!step.is_summed_up) continue;
      layer.tensors = step.sums;
      std::ranges::reverse(layer.tensors);  // a layer's last tensor is there first
      model.layers.push_back(std::move(layer));
      layer = {};
    }
    if (!layer.name.empty() || layer.backward > 0) model.layers.push_back(std::move(layer));
    std::ranges::reverse(model.layers);
    if (model.layers.size() > kMaxLayers) {
      throw Error(ErrorCode::InvalidInput, fmt::format("{}: expected at most {} layers, found {}",
                                                       file_, kMaxLayers, model.layers.size()));
    }
    if (!share_by_name(model)) share_evenly(model);
    return model;
  }

 private:
  /// What is known of a node from those before it.
  struct About {
    bool is_later = false;  ///< it waits for sums: it belongs to optimizer or next iteration
    Pass pass = Pass::Unknown;
    std::optional<std::size_t> last;  ///< the last backward step before it, or itself
  };
  /// A compute node.
  struct Step {
    std::string name;
    std::optional<std::string> layer;
    double seconds = 0;
    bool is_summed_up = false;
    std::vector<std::uint64_t> sums;  ///< bytes of the all-reduces that start behind it
  };

  void take(std::size_t n) {
    const ChakraNode& node = nodes_[n];
    About& about = about_[n];
    for (const std::uint32_t earlier : node.after) {
      const About& other = about_[earlier];
      const bool waits = nodes_[earlier].kind == ChakraKind::Collective;
      // Collectives are after each other because one network has them, and no sums are needed.
      about.is_later |= other.is_later || (waits && node.kind != ChakraKind::Collective);
      if (other.pass == Pass::Backward) about.pass = Pass::Backward;
      if (other.last && (!about.last || *other.last > *about.last)) about.last = other.last;
    }
    if (about.is_later) return;
    if (node.kind == ChakraKind::Message) {
      fail(node, "expected all-reduces, as data parallelism has them, found a message");
    }
    if (node.kind == ChakraKind::Collective) take_sum(node, about);
    if (node.kind == ChakraKind::Compute) compute(node, about);
  }

  void compute(const ChakraNode& node, About& about) {
    const Pass named = pass_by_name(node.name);
    if (named != Pass::Unknown) about.pass = named;
    if (node.on_cpu && !counts_cpu_) return;  // what it prepares is of its pass
    if (about.pass == Pass::Backward) {
      about.last = backward_.size();
      backward_.push_back({node.name, layer_by_name(node.name), seconds_of(node), false, {}});
    } else if (!backward_.empty()) {
      is_over_ = true;  // another iteration, which waits for nothing
    } else {
      about.pass = Pass::Forward;
      forward_.push_back({node.name, layer_by_name(node.name), seconds_of(node), false, {}});
    }
  }

  void take_sum(const ChakraNode& node, const About& about) {
    if (node.collective != kChakraAllReduce) {
      fail(node, fmt::format("expected an all-reduce (0), as data parallelism has it, found the "
                             "collective {}",
                             node.collective));
    }
    if (!about.last) fail(node, "expected an all-reduce behind a backward pass, found none before");
    if (node.bytes > kMaxParameters) {
      fail(node, fmt::format("expected at most {} bytes, found {}", kMaxParameters, node.bytes));
    }
    Step& step = backward_[*about.last];
    step.is_summed_up = true;
    if (node.bytes > 0) step.sums.push_back(node.bytes);
  }

  [[nodiscard]] double seconds_of(const ChakraNode& node) const {
    if (node.seconds > 0 || node.operations == 0) return node.seconds;
    if (machine_.flops > 0) return roofline(machine_, node.operations, node.moved_bytes);
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{}: node {} ('{}') has operations and no time: expected the machine's "
                            "operations a second (--flops)",
                            file_, node.id, node.name));
  }

  /// Forward passes to layers of their names, in order; false: some have none.
  bool share_by_name(Model& model) const {
    std::vector<double> forward(model.layers.size(), 0);
    std::size_t at = 0;
    for (const Step& step : forward_) {
      if (!step.layer) return false;
      while (at < model.layers.size() && model.layers[at].name != *step.layer) ++at;
      if (at == model.layers.size()) return false;
      forward[at] += step.seconds;
    }
    for (std::size_t l = 0; l < forward.size(); ++l) model.layers[l].forward = forward[l];
    return true;
  }

  /// As backward passes take.
  void share_evenly(Model& model) const {
    double all = 0;
    for (const Step& step : forward_) all += step.seconds;
    const double backward = model.backward();
    for (Layer& layer : model.layers) {
      layer.forward = backward > 0 ? all * layer.backward / backward
                                   : all / static_cast<double>(model.layers.size());
    }
  }

  [[noreturn]] void fail(const ChakraNode& node, const std::string& what) const {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: node {} ('{}'): {}", file_, node.id, node.name, what));
  }

  const std::string& file_;
  const Machine& machine_;
  std::vector<ChakraNode> nodes_;
  std::vector<About> about_;
  bool counts_cpu_ = false, is_over_ = false;
  std::vector<Step> forward_, backward_;  ///< in the order in which they run
};

}  // namespace

Model parse_chakra(std::string_view text, const std::string& file, const Machine& machine) {
  return TracedIteration(text, file, machine).model();
}

}  // namespace multitree::training
