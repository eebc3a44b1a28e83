// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Parameters from and to JSON, and what they make of links.
#include "nic/parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>
#include <vector>

#include "nic/parameter_members.hpp"
#include "topologies/error.hpp"
#include "topologies/io/json_document.hpp"

namespace multitree::nic {
namespace {

constexpr std::array<std::string_view, 2> kFlowControls = {"message", "packet"};
constexpr std::array<std::string_view, 2> kIssues = {"dependency", "lockstep"};
constexpr std::array<std::string_view, 3> kReductions = {"streaming", "store", "pipelined"};
constexpr std::array<std::string_view, 2> kSwitches = {"false", "true"};

/// A number with its range.
template <typename T>
struct Number {
  std::string_view name;
  T Parameters::*member;
  std::uint64_t least, most;
};
/// One of some words.
template <typename T>
struct Choice {
  std::string_view name;
  T Parameters::*member;
  std::span<const std::string_view> words;
  [[nodiscard]] bool is_switch() const { return words.data() == kSwitches.data(); }
};

/// "a or b", "a, b or c".
std::string list(std::span<const std::string_view> words) {
  return fmt::format("{} or {}", fmt::join(words.first(words.size() - 1), ", "), words.back());
}

constexpr std::uint64_t kMillion = 1'000'000;

/// The one list of members: reading and writing go through it.
constexpr auto kMembers = std::make_tuple(
    Number<std::uint64_t>{"clock_hz", &Parameters::clock_hz, 1000, kMillion* kMillion},
    Number<std::uint32_t>{"flit_bytes", &Parameters::flit_bytes, 1, 4096},
    Number<std::uint32_t>{"element_bytes", &Parameters::element_bytes, 1, 16},
    Number<std::uint32_t>{"virtual_channels", &Parameters::virtual_channels, 1, 8},
    Number<std::uint32_t>{"buffer_flits", &Parameters::buffer_flits, 1, 65535},
    Number<std::uint32_t>{"router_cycles", &Parameters::router_cycles, 0, 1000},
    Choice<bool>{"shared_inputs", &Parameters::shared_inputs, kSwitches},
    Number<std::uint32_t>{"interface_cycles", &Parameters::interface_cycles, 1, 100'000},
    Number<std::uint32_t>{"issue_cycles", &Parameters::issue_cycles, 0, 100'000},
    Number<std::uint32_t>{"issue_jitter", &Parameters::issue_jitter, 0, 100'000},
    Choice<bool>{"cut_through", &Parameters::cut_through, kSwitches},
    Choice<FlowControl>{"flow_control", &Parameters::flow_control, kFlowControls},
    Number<std::uint32_t>{"packet_bytes", &Parameters::packet_bytes, 1, 1 << 20},
    Number<std::uint32_t>{"header_flits", &Parameters::header_flits, 1, 64},
    Number<std::uint32_t>{"ports", &Parameters::ports, 0, 1024},
    Number<std::uint32_t>{"ejection_channels", &Parameters::ejection_channels, 0, 8},
    Number<std::uint32_t>{"port_queue_packets", &Parameters::port_queue_packets, 0, kMillion},
    Choice<Issue>{"issue", &Parameters::issue, kIssues},
    Number<std::uint32_t>{"step_discount", &Parameters::step_discount, 0, kMillion},
    Choice<Reduction>{"reduction", &Parameters::reduction, kReductions},
    Number<std::uint32_t>{"reduction_elements", &Parameters::reduction_elements, 1, kMillion},
    Number<std::uint32_t>{"reduction_cycles", &Parameters::reduction_cycles, 0, 1000},
    Number<std::uint32_t>{"park_slots", &Parameters::park_slots, 1, 4096},
    Number<std::uint32_t>{"ports_per_unit", &Parameters::ports_per_unit, 1, 2},
    Number<std::uint32_t>{"memory_cycles", &Parameters::memory_cycles, 1, 1000},
    Number<std::uint32_t>{"memory_ports", &Parameters::memory_ports, 0, 48},
    Number<std::uint32_t>{"send_words", &Parameters::send_words, 1, 4096},
    Number<std::uint32_t>{"add_words", &Parameters::add_words, 1, 4096},
    Number<std::uint32_t>{"replay_flits", &Parameters::replay_flits, 4, 1 << 20},
    Number<std::uint32_t>{"dead_link_cycles", &Parameters::dead_link_cycles, 1000, 1 << 30},
    Number<std::uint64_t>{"watchdog_cycles", &Parameters::watchdog_cycles, 1000,
                          kMillion* kMillion});

template <typename Visit>
void for_each_member(const Visit& visit) {
  std::apply([&](const auto&... member) { (visit(member), ...); }, kMembers);
}

template <typename T>
void read(const Number<T>& member, const JsonValue& value, Parameters& parameters) {
  parameters.*member.member = static_cast<T>(value.integer(member.least, member.most));
}

template <typename T>
void read(const Choice<T>& member, const JsonValue& value, Parameters& parameters) {
  std::string word = value.json().is_boolean() ? (value.json().get<bool>() ? "true" : "false")
                     : value.json().is_string() && !member.is_switch() ? value.string()
                                                                       : value.json().dump();
  const auto found = std::ranges::find(member.words, word);
  if (found == member.words.end()) {
    value.fail(fmt::format("{}: expected {}, got {}", member.name, list(member.words), word));
  }
  parameters.*member.member = static_cast<T>(found - member.words.begin());
}

template <typename T>
std::string to_json(const Number<T>& member, const Parameters& parameters) {
  return fmt::format("{}", parameters.*member.member);
}

template <typename T>
std::string to_json(const Choice<T>& member, const Parameters& parameters) {
  const std::string_view word = member.words[static_cast<std::size_t>(parameters.*member.member)];
  return member.is_switch() ? std::string(word) : fmt::format("\"{}\"", word);
}

std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

}  // namespace

std::vector<std::string> parameter_names() {
  std::vector<std::string> names;
  for_each_member([&](const auto& member) { names.emplace_back(member.name); });
  return names;
}

void read_parameter(const std::string& name, const JsonValue& value, Parameters& parameters) {
  for_each_member([&](const auto& member) {
    if (name == member.name) read(member, value, parameters);
  });
}

Parameters read_parameters(std::string_view json, const std::string& file,
                           const Parameters& otherwise) {
  const JsonDocument document(json, file);
  const JsonValue root(document);
  const std::vector<std::string> names = parameter_names();
  root.check_keys(names);
  Parameters parameters = otherwise;
  for (const std::string& name : names) {
    if (root.has(name)) read_parameter(name, root.at(name), parameters);
  }
  return parameters;
}

std::string write_parameters(const Parameters& parameters) {
  std::string text = "{";
  for_each_member([&](const auto& member) {
    text += fmt::format("{}\n  \"{}\": {}", text.size() > 1 ? "," : "", member.name,
                        to_json(member, parameters));
  });
  return text + "\n}\n";
}

std::uint64_t payload_flits(std::uint64_t elements, const Parameters& parameters) {
  return divide_up(elements * parameters.element_bytes, parameters.flit_bytes);
}

std::uint64_t header_flits(std::uint64_t payload, const Parameters& parameters) {
  if (payload == 0)
    return parameters.reduction == Reduction::Pipelined ? parameters.header_flits : 0;
  if (parameters.flow_control == FlowControl::Message) return parameters.header_flits;
  const std::uint64_t packet = divide_up(parameters.packet_bytes, parameters.flit_bytes);
  return divide_up(payload, packet) * parameters.header_flits;
}

std::uint32_t ejection_channels_of(const Parameters& parameters) {
  const std::uint32_t channels = parameters.ejection_channels;
  if (parameters.reduction == Reduction::Pipelined) {
    if (channels > 1) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("pipelined reduction: expected ejection_channels 0 or 1, for worms "
                              "come one after the other, got {}",
                              channels));
    }
    return 1;
  }
  return channels == 0 ? parameters.virtual_channels
                       : std::min(channels, parameters.virtual_channels);
}

bool memory_limits(const Parameters& parameters) {
  if (parameters.reduction != Reduction::Pipelined) return false;
  return parameters.memory_ports > 0 ||
         (parameters.add_words <= parameters.memory_cycles && parameters.reduction_cycles > 0);
}

void check_memory_ports(const Topology& topology, const Parameters& parameters) {
  if (parameters.reduction != Reduction::Pipelined || parameters.memory_ports == 0) return;
  std::size_t most = 1;
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    const Node& node = topology.node(NodeId{n});
    if (!node.rank && !node.abilities.any()) continue;
    most =
        std::max({most, topology.out_links(NodeId{n}).size(), topology.in_links(NodeId{n}).size()});
  }
  if (parameters.ports > 0) most = std::min<std::size_t>(most, parameters.ports);
  const auto refuse = [&](const std::string& expected, std::uint64_t got) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: expected {}, got {}", topology.name(), expected, got));
  };
  if (parameters.memory_ports > 3 * most) {
    refuse(
        fmt::format("memory_ports of at most {}, three for each of {} ports of an interface, or 0 "
                    "for no limit",
                    3 * most, most),
        parameters.memory_ports);
  }
  if (parameters.reduction_cycles == 0) {
    refuse("reduction_cycles of at least 1 with memory_ports", 0);
  }
}

std::uint64_t clock_of(const Topology& topology, const Parameters& parameters) {
  std::uint64_t fastest = 0;
  for (const Link& link : topology.links()) {
    fastest = std::max(fastest, link.bandwidth.bytes_per_second);
  }
  return std::max(parameters.clock_hz, divide_up(fastest, parameters.flit_bytes));
}

LinkCycles cycles_of(const Link& link, std::uint64_t clock_hz, const Parameters& parameters) {
  using Wide = unsigned __int128;
  const Wide interval =
      (Wide{kWholeCycle} * parameters.flit_bytes * clock_hz + link.bandwidth.bytes_per_second / 2) /
      link.bandwidth.bytes_per_second;
  const Wide latency = (static_cast<Wide>(link.latency.picoseconds) * clock_hz + 999'999'999'999) /
                       1'000'000'000'000;
  if (interval >= Wide{kWholeCycle} * kWholeCycle || latency >= (1 << 24)) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("expected links of at most 65535 cycles a flit and 2^24 of latency at "
                            "{} Hz, got {} and {}",
                            clock_hz, to_string(link.bandwidth), to_string(link.latency)));
  }
  return {.latency = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(latency)),
          .interval = std::max<std::uint32_t>(kWholeCycle, static_cast<std::uint32_t>(interval))};
}

std::uint32_t round_trip_flits(const Topology& topology, const Parameters& parameters) {
  const std::uint64_t clock = clock_of(topology, parameters);
  std::uint64_t flits = parameters.buffer_flits;
  for (const Link& link : topology.links()) {
    const LinkCycles cycles = cycles_of(link, clock, parameters);
    flits = std::max(flits, std::uint64_t{2} * cycles.latency * kWholeCycle / cycles.interval + 2);
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(flits, 65'535));
}

}  // namespace multitree::nic
