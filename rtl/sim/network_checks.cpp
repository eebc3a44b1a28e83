// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What of networks is verilated.
#include "rtl/sim/network_checks_internal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "nic/network/retry_link.hpp"
#include "rtl/sim/node.hpp"
#include "topologies/error.hpp"

namespace multitree::rtl {
namespace {

bool is_wide(const nic::Parameters& parameters) { return parameters.flit_bytes != kUsualFlitBytes; }

/// Ranks with more links than usual have one kind of interface.
void check_large(const Topology& topology, const nic::Parameters& parameters,
                 const std::vector<Rank>& waves, const AxiPorts& axi) {
  const bool is_usual =
      waves.empty() && axi.ports == 0 && parameters.ports_per_unit == 1 &&
      (is_wide(parameters) ||
       WordsUnderWay{parameters.send_words, parameters.add_words} == WordsUnderWay{});
  for (std::uint32_t r = 0; r < topology.num_ranks() && !is_usual; ++r) {
    const NodeId node = topology.node_of(Rank{r});
    if (links_of(topology, node) <= Network::kPorts) continue;
    throw Error(ErrorCode::Unsupported,
                fmt::format("hardware model: {}: expected no waves, no AXI4, a unit for each port "
                            "and the usual send_words and add_words with {}, which has more than "
                            "{} links",
                            topology.name(), topology.node(node).name, Network::kPorts));
  }
}

void check_memory(const nic::Parameters& parameters) {
  const WordsUnderWay words = {.send = parameters.send_words, .add = parameters.add_words};
  std::string known;
  for (const auto& [send, add] : kWordsUnderWay) {
    known += fmt::format("{}{} and {}", known.empty() ? "" : ", ", send, add);
  }
  if (std::ranges::find(kWordsUnderWay, words) == kWordsUnderWay.end()) {
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("hardware model: expected send_words and add_words to be {}, got {} and "
                    "{}",
                    known, words.send, words.add));
  }
  if (words != WordsUnderWay{} && parameters.ports_per_unit > 1) {
    throw Error(ErrorCode::Unsupported,
                "hardware model: expected ports_per_unit 1 with other send_words and add_words "
                "than the usual");
  }
}

/// Nodes with wider flits are of one kind, but for their links. \param plain: no waves
void check_wide(const Topology& topology, const nic::Parameters& parameters, bool plain = true) {
  if (!is_wide(parameters)) return;
  if (plain && parameters.ports_per_unit == 1 &&
      WordsUnderWay{parameters.send_words, parameters.add_words} == kWideWords) {
    return;
  }
  throw Error(ErrorCode::Unsupported,
              fmt::format("hardware model: {}: expected no waves, ports_per_unit 1, send_words {} "
                          "and add_words {} with flit_bytes {}",
                          topology.name(), kWideWords.send, kWideWords.add, parameters.flit_bytes));
}

}  // namespace

std::uint32_t links_of(const Topology& topology, NodeId node) {
  return static_cast<std::uint32_t>(
      std::max(topology.out_links(node).size(), topology.in_links(node).size()));
}

void check_kinds(const Topology& topology, const nic::Parameters& parameters,
                 const std::vector<Rank>& waves, const AxiPorts& axi) {
  check_large(topology, parameters, waves, axi);
  check_wide(topology, parameters, waves.empty());
  if (!waves.empty() && parameters.ports_per_unit > 1) {
    throw Error(ErrorCode::Unsupported, "hardware model: expected ports_per_unit 1 with waves");
  }
}

void check_retry(const Topology& topology, const nic::Parameters& parameters,
                 std::uint32_t latency) {
  if (parameters.replay_flits != mt_pkg::kReplayDepth ||
      parameters.dead_link_cycles != mt_pkg::kDeadCycles ||
      nic::RetryLink::least_replay(latency) > mt_pkg::kReplayDepth) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("hardware model: {}: expected links that lose to have replay_flits {}, "
                            "for at most {} cycles, and dead_link_cycles {}, got {}, {} and {}",
                            topology.name(), mt_pkg::kReplayDepth, (mt_pkg::kReplayDepth - 4) / 2,
                            mt_pkg::kDeadCycles, parameters.replay_flits, latency,
                            parameters.dead_link_cycles));
  }
}

void check_flit_bytes(const nic::Parameters& parameters) {
  if (std::ranges::find(kFlitBytes, parameters.flit_bytes) != kFlitBytes.end()) return;
  throw Error(ErrorCode::Unsupported,
              fmt::format("hardware model: expected flit_bytes {}, got {}",
                          fmt::join(kFlitBytes, " or "), parameters.flit_bytes));
}

void check_verilated(const Topology& topology, const nic::Parameters& parameters) {
  check_flit_bytes(parameters);
  if (parameters.buffer_flits > mt_pkg::kVcDepth || parameters.virtual_channels > mt_pkg::kNumVc) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("hardware model: expected at most {} virtual channels of {} flits, got "
                            "{} of {}",
                            mt_pkg::kNumVc, mt_pkg::kVcDepth, parameters.virtual_channels,
                            parameters.buffer_flits));
  }
  check_memory(parameters);
  check_wide(topology, parameters);
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    const std::uint32_t links = links_of(topology, NodeId{n});
    const bool is_rank = topology.node(NodeId{n}).rank.has_value();
    const std::uint32_t most = most_links(parameters.flit_bytes, is_rank);
    if (links > most) {
      throw Error(
          ErrorCode::Unsupported,
          fmt::format(
              "hardware model: {}: expected at most {} links at a {}{}, got {} at "
              "{}",
              topology.name(), most, is_rank ? "rank" : "switch",
              is_wide(parameters) ? fmt::format(" with flit_bytes {}", parameters.flit_bytes) : "",
              links, topology.node(NodeId{n}).name));
    }
  }
}

std::uint32_t interface_ports(const Topology& topology, Rank rank) {
  const std::uint32_t links = links_of(topology, topology.node_of(rank));
  return links <= Network::kPorts ? Network::kPorts : links <= 8 ? 8 : 16;
}

}  // namespace multitree::rtl
