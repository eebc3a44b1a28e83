// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reads the file of `multitree explore`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "algorithms/registry.hpp"
#include "nic/parameter_members.hpp"
#include "tools/command.hpp"
#include "tools/explore/area.hpp"
#include "tools/explore/design.hpp"
#include "tools/late_flags.hpp"
#include "topologies/error.hpp"
#include "topologies/io/io.hpp"
#include "topologies/io/json_document.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostPoints = 1'000'000;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 48;

/// What parse() throws about its argument is said with the value's place.
template <typename Parse>
auto at_place(const JsonValue& value, const Parse& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::InvalidInput || error.code() == ErrorCode::Io) throw;
    value.fail(error.what());
  }
}

/// "file:line: " of a value.
std::string place_of(const JsonValue& value) {
  try {
    value.fail("");
  } catch (const Error& error) {
    return error.what();
  }
}

/// One of some words. \throws naming `what`
std::string word(const JsonValue& value, std::string_view what,
                 const std::vector<std::string>& words) {
  std::string text = value.string();
  if (std::ranges::find(words, text) == words.end()) {
    const std::span but_last(words.begin(), words.end() - 1);
    value.fail(fmt::format("'{}': expected {} or {}, got '{}'", what, fmt::join(but_last, ", "),
                           words.back(), text));
  }
  return text;
}

std::uint64_t size(const JsonValue& value) {
  if (!value.json().is_string()) return value.integer(0, kMostBytes);
  return at_place(value, [&] { return parse_bytes(value.string()); });
}

/// Reads one value of an axis.
using ReadValue = std::function<Axis::Value(const JsonValue&)>;
/// Reads a number, one end of a range.
using ReadNumber = std::function<std::uint64_t(const JsonValue&)>;
using Show = std::string (*)(std::uint64_t);

std::string plain(std::uint64_t value) { return fmt::format("{}", value); }
/// An exact size as people write it: 1MiB.
std::string in_bytes(std::uint64_t value) { return format_bytes(value); }

/// An axis while its values are read.
struct OpenAxis {
  Axis& axis;
  std::set<std::string> known = {};

  void add(Axis::Value value, const JsonValue& at) {
    if (!known.insert(value.json).second) {
      at.fail(fmt::format("'{}': expected each value once, got {} twice", axis.name, value.text));
    }
    axis.values.push_back(std::move(value));
    if (axis.values.size() > kMostPoints) {
      at.fail(fmt::format("'{}': expected at most {} values, got more", axis.name, kMostPoints));
    }
  }
};

/// {"from": 1, "to": 8, "factor": 2}, or "step".
void add_range(OpenAxis& open, const JsonValue& range, const ReadNumber& read, Show show) {
  const Axis& axis = open.axis;
  range.check_keys({"from", "to", "step", "factor"});
  const std::uint64_t from = read(range.at("from")), to = read(range.at("to"));
  if (to < from) {
    range.fail(fmt::format("'{}': expected 'to' from {} on, got {}", axis.name, from, to));
  }
  if (range.has("step") == range.has("factor")) {
    range.fail(fmt::format("'{}': expected either 'step' or 'factor', got {}", axis.name,
                           range.has("step") ? "both" : "neither"));
  }
  const bool adds = range.has("step");
  std::uint64_t change = 0;
  if (adds) {
    const JsonValue step = range.at("step");
    change = step.json().is_string() ? size(step) : step.integer(1, kMostBytes);
    if (change == 0) step.fail("'step': expected more than 0, got 0");
  } else {
    change = range.at("factor").integer(2, kMostBytes);
    if (from == 0) range.at("from").fail("'from': expected more than 0 beside a factor, got 0");
  }
  for (std::uint64_t value = from; value <= to;) {
    open.add({plain(value), show(value)}, range);
    if (!adds && value > to / change) break;
    value = adds ? value + change : value * change;
  }
}

/// A value, a list of values, or a range, alone or in the list.
void read_axis(Axis& axis, const JsonValue& value, const ReadValue& read_one,
               const ReadNumber& read_number = {}, Show show = plain) {
  OpenAxis open{axis};
  const auto add = [&](const JsonValue& one) {
    if (one.json().is_object() && read_number) {
      add_range(open, one, read_number, show);
    } else {
      open.add(read_one(one), one);
    }
  };
  if (!value.json().is_array()) {
    add(value);
    return;
  }
  if (value.size() == 0) {
    value.fail(fmt::format("'{}': expected at least one value, got none", axis.name));
  }
  for (std::size_t i = 0; i < value.size(); ++i) add(value.at(i));
}

/// A text as the value of an axis.
Axis::Value text_value(const std::string& text) { return {ordered_json(text).dump(), text}; }

/// \pre along trees, as schedules are made by algorithms.
std::string collective(const JsonValue& value) {
  return at_place(value, [&] {
    const Collective parsed = parse_collective(value.string());
    check_along_trees(parsed, "'collective'");
    return std::string(to_string(parsed));
  });
}

std::string algorithm(const JsonValue& value) {
  std::string spec = value.string();
  at_place(value, [&] { return find_algorithm(spec.substr(0, spec.find('?'))).name; });
  return spec;
}

/// An array of jobs; in canonical form.
Axis::Value background(const JsonValue& value) {
  ordered_json jobs = ordered_json::array();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const JsonValue job = value.at(i);
    job.check_keys({"collective", "algorithm", "bytes", "start", "priority"});
    std::string what = job.has("collective") ? collective(job.at("collective")) : "allreduce";
    const std::uint64_t bytes = size(job.at("bytes"));
    const Time start = !job.has("start") ? Time{} : at_place(job.at("start"), [&] {
      return parse_time(job.at("start").string());
    });
    const std::uint64_t priority = job.has("priority") ? job.at("priority").integer(0, 1000) : 0;
    jobs.push_back({{"collective", what},
                    {"algorithm", algorithm(job.at("algorithm"))},
                    {"bytes", bytes},
                    {"start", to_string(start)},
                    {"priority", priority}});
    names.push_back(fmt::format("{} of {}", what, format_bytes(bytes)));
  }
  return {jobs.dump(), names.empty() ? "none" : fmt::format("{}", fmt::join(names, " and "))};
}

class Reader {
 public:
  explicit Reader(const JsonDocument& document) : root_(document) {}

  ExploreDesign read() {
    root_.check_keys({"schema", "topology", "collective", "bytes", "stragglers", "background",
                      "algorithm", "machine", "adders", "parameters", "model", "costs"});
    root_.check_schema({kExplorationSchema});
    read_work();
    read_machine();
    read_rest();
    check_number();
    return std::move(design_);
  }

 private:
  Axis& add_axis(std::string name, AxisKind kind) {
    return design_.axes.emplace_back(Axis{.name = std::move(name), .kind = kind, .values = {}});
  }
  /// The same with one value where the file says nothing.
  void axis_or(std::string name, AxisKind kind, Axis::Value otherwise, const ReadValue& read_one) {
    Axis& axis = add_axis(std::move(name), kind);
    if (root_.has(axis.name)) {
      read_axis(axis, root_.at(axis.name), read_one);
    } else {
      axis.values.push_back(std::move(otherwise));
    }
  }

  void read_work();
  void read_machine();
  void read_rest();
  void check_number() const;

  JsonValue root_;
  ExploreDesign design_;
};

void Reader::read_work() {
  read_axis(add_axis("topology", AxisKind::Design), root_.at("topology"),
            [&](const JsonValue& value) {
              std::string spec = value.string();
              Topology topology = at_place(value, [&] { return load_with_notes(spec); });
              std::string digest = digest_of(write_topology_json(topology));
              design_.topologies.push_back({spec, std::move(digest), std::move(topology)});
              return text_value(spec);
            });
  axis_or("collective", AxisKind::Work, text_value("allreduce"),
          [](const JsonValue& value) { return text_value(collective(value)); });
  const auto bytes = [](const JsonValue& value) {
    const std::uint64_t number = size(value);
    return Axis::Value{plain(number), in_bytes(number)};
  };
  read_axis(add_axis("bytes", AxisKind::Work), root_.at("bytes"), bytes, size, in_bytes);
  axis_or("stragglers", AxisKind::Work, text_value("none"), [&](const JsonValue& value) {
    const std::string text = value.string();
    for (const NamedTopology& named : design_.topologies) {
      at_place(value, [&] {
        return straggler_cycles("'stragglers'", text, named.topology.num_ranks(), 1'000'000'000);
      });
    }
    return text_value(text);
  });
  axis_or("background", AxisKind::Work, {"[]", "none"}, background);
}

void Reader::read_machine() {
  read_axis(add_axis("algorithm", AxisKind::Design), root_.at("algorithm"),
            [&](const JsonValue& value) {
              const std::string spec = algorithm(value);
              design_.algorithms.push_back({spec, place_of(value)});
              return text_value(spec);
            });
  axis_or("machine", AxisKind::Design, text_value("hardware"), [](const JsonValue& value) {
    return text_value(word(value, "machine", {"ideal", "hardware"}));
  });
  axis_or("adders", AxisKind::Design, text_value("fp32"),
          [](const JsonValue& value) { return text_value(word(value, "adders", adder_names())); });
  if (!root_.has("parameters")) return;
  const JsonValue parameters = root_.at("parameters");
  const std::vector<std::string> names = nic::parameter_names();
  parameters.check_keys(names);
  for (const std::string& name : names) {
    if (!parameters.has(name)) continue;
    const auto check = [&name](const JsonValue& value) {
      nic::Parameters scratch;
      nic::read_parameter(name, value, scratch);
    };
    read_axis(
        add_axis(name, AxisKind::Design), parameters.at(name),
        [&](const JsonValue& value) {
          check(value);
          const auto& json = value.json();
          return Axis::Value{json.dump(), json.is_string() ? json.get<std::string>() : json.dump()};
        },
        [&](const JsonValue& value) {
          check(value);
          return value.integer(0, kMostBytes);
        });
  }
}

void Reader::read_rest() {
  if (root_.has("model")) {
    const std::string text = word(root_.at("model"), "model", {"auto", "message", "flit"});
    design_.model = text == "auto"      ? ModelRule::Auto
                    : text == "message" ? ModelRule::Message
                                        : ModelRule::Flit;
  }
  design_.costs = {Cost::Cells, Cost::MemoryBits};
  if (!root_.has("costs")) return;
  const JsonValue costs = root_.at("costs");
  design_.costs.clear();
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const std::string text = word(costs.at(i), "costs", {"cells", "memory_bits"});
    const Cost cost = text == "cells" ? Cost::Cells : Cost::MemoryBits;
    if (std::ranges::find(design_.costs, cost) != design_.costs.end()) {
      costs.at(i).fail(fmt::format("'costs': expected each once, got {} twice", text));
    }
    design_.costs.push_back(cost);
  }
}

void Reader::check_number() const {
  std::size_t count = 1;
  for (const Axis& axis : design_.axes) {
    count *= axis.values.size();
    if (count <= kMostPoints) continue;
    root_.fail(fmt::format(
        "expected at most {} points, which is the product of all values, got more", kMostPoints));
  }
}

}  // namespace

ExploreDesign read_explore_design(std::string_view text, const std::string& file) {
  const JsonDocument document(text, file);
  return Reader(document).read();
}

std::vector<BackgroundJob> background_jobs(const std::string& json) {
  std::vector<BackgroundJob> jobs;
  for (const auto& job : ordered_json::parse(json)) {
    jobs.push_back({.collective = parse_collective(job.at("collective").get<std::string>()),
                    .algorithm = job.at("algorithm").get<std::string>(),
                    .bytes = job.at("bytes").get<std::uint64_t>(),
                    .start = parse_time(job.at("start").get<std::string>()),
                    .priority = job.at("priority").get<std::uint32_t>()});
  }
  return jobs;
}

}  // namespace multitree::tools
