// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reading node and edge attributes of DOT and GraphML files.
#include "topologies/io/attributes_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "topologies/notes.hpp"
#include "topologies/spec.hpp"
#include "topologies/words.hpp"

namespace multitree {
namespace {

[[noreturn]] void fail(const std::string& what) { throw Error(ErrorCode::InvalidArgument, what); }

// The value of a text that is a number as a whole, NaN and infinities included.
std::optional<double> bare_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (rest != end || text.empty()) return std::nullopt;
  return error == std::errc{} ? value : INFINITY;
}

// Whole base units of a bare number, as written by tools that know no units.
std::optional<std::int64_t> scaled_number(std::string_view key, const std::string& text,
                                          double scale) {
  constexpr double kTooLarge = 9.2e18;  // a little below 2^63
  const auto number = bare_number(text);
  if (!number) return std::nullopt;
  const double value = *number * scale;
  if (!(value >= 0 && value < kTooLarge)) {
    fail(fmt::format("{}: expected a number >= 0 and in range, got {}", key, text));
  }
  return std::llround(value);
}

// Adds the attribute's name to what the unit parsers report.
template <class Parse>
auto parse_quantity(std::string_view key, const std::string& text, Parse parse) {
  try {
    return parse(text);
  } catch (const Error& error) {
    fail(fmt::format("{}: {}", key, error.what()));
  }
}

Bandwidth to_bandwidth(const std::string& text) {
  if (const auto bytes = scaled_number("bandwidth", text, 1e9)) {
    return {static_cast<std::uint64_t>(*bytes)};
  }
  return parse_quantity("bandwidth", text, parse_bandwidth);
}

Time to_latency(const std::string& text) {
  if (const auto picoseconds = scaled_number("latency", text, 1e3)) return {*picoseconds};
  return parse_quantity("latency", text, parse_time);
}

std::uint32_t to_number(std::string_view key, const std::string& text, std::uint32_t least,
                        std::uint64_t most) {
  std::uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end || number < least || number > most) {
    fail(fmt::format("{}: expected a number from {} to {}, got '{}'", key, least, most, text));
  }
  return number;
}

bool to_bool(std::string_view key, const std::string& text) {
  if (text == "true" || text == "True" || text == "1") return true;
  if (text.empty() || text == "false" || text == "False" || text == "0") return false;
  fail(fmt::format("{}: expected true or false, got '{}'", key, text));
}

// What other tools call the two; what has neither meaning has neither name.
constexpr std::array<Alias, 9> kOtherNames = {{{"bw", "bandwidth"},
                                               {"capacity", "bandwidth"},
                                               {"datarate", "bandwidth"},
                                               {"linkspeed", "bandwidth"},
                                               {"rate", "bandwidth"},
                                               {"speed", "bandwidth"},
                                               {"delay", "latency"},
                                               {"lat", "latency"},
                                               {"linklatency", "latency"}}};

// The attribute `name` is absent: none of the others may be it.
void check_absent(std::string_view name, const std::vector<std::string>& others) {
  const std::array<std::string_view, 1> names = {name};
  for (const std::string& other : others) {
    // The first letter is right in a slip: Graphviz draws an edge by its "penwidth".
    const bool slip = other.starts_with(name.front()) && !did_you_mean(other, names).empty();
    if (slip || meant(other, names, kOtherNames) == name) {
      fail(fmt::format("expected an attribute '{}', got '{}', which is not read", name, other));
    }
  }
}

bool says_switch(std::string_view key, const std::string& text) {
  constexpr std::array<std::string_view, 1> kNames = {"switch"};
  if (meant(text, kNames)) return true;
  if (const std::string hint = did_you_mean(text, kNames); !hint.empty()) {
    fail(fmt::format("{}: expected switch or the kind of a rank, got '{}'{}", key, text, hint));
  }
  return false;
}

}  // namespace

RawNode to_raw_node(NodeAttributes attributes) {
  RawNode node{std::move(attributes.id),
               std::nullopt,
               to_bool("switch", attributes.is_switch),
               {to_bool("adds", attributes.adds), to_bool("copies", attributes.copies)}};
  node.is_switch |= says_switch("kind", attributes.kind) || says_switch("type", attributes.type);
  if (!attributes.rank.empty())
    node.rank = to_number("rank", attributes.rank, 0, Spec::kMaxRanks - 1);
  if (!attributes.at_once.empty()) {
    node.abilities.at_once =
        to_number("at_once", attributes.at_once, 1, std::numeric_limits<std::uint32_t>::max());
  }
  return node;
}

void check_others(const EdgeAttributes& attributes) {
  if (attributes.bandwidth.empty()) check_absent("bandwidth", attributes.others);
  if (attributes.latency.empty()) check_absent("latency", attributes.others);
}

Link to_link(NodeId src, NodeId dst, const EdgeAttributes& attributes,
             const LinkDefaults& defaults) {
  check_others(attributes);
  return {src, dst,
          attributes.bandwidth.empty() ? defaults.bandwidth : to_bandwidth(attributes.bandwidth),
          attributes.latency.empty() ? defaults.latency : to_latency(attributes.latency)};
}

void UnreadWeights::look_at(const EdgeAttributes& edge) {
  ++edges_;
  if (edge.bandwidth.empty() && std::ranges::find(edge.others, "weight") != edge.others.end()) {
    ++unread_;
  }
}

void UnreadWeights::note(Bandwidth taken, const std::string& file) const {
  if (unread_ == 0) return;
  Notes::add(fmt::format(
      "{}: {} of {} edges have a 'weight', which is not read, and no 'bandwidth': {} is taken",
      file, unread_, edges_, to_string(taken)));
}

std::string name_of_file(const std::string& file) {
  return std::filesystem::path(file).stem().string();
}

}  // namespace multitree
