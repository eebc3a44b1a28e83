// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From questions to networks, schedules, proofs and words.
#include "view/touch/touch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/registry.hpp"
#include "topologies/error.hpp"
#include "topologies/io/io.hpp"
#include "topologies/registry.hpp"
#include "topologies/units.hpp"
#include "view/page.hpp"
#include "view/touch/changes.hpp"

namespace multitree::view {
namespace {

using nlohmann::ordered_json;

struct Question {
  Topology original, topology;  ///< before and after the changes
  Collective collective = Collective::AllReduce;
  Rank root{};
  std::uint64_t bytes = 0;
  std::vector<std::string> algorithms;
};

Topology original_network(const std::string& network) {
  const std::size_t first = network.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) {
    throw Error(ErrorCode::InvalidArgument,
                "expected a network, as torus:4x4, or the text of a topology file, got nothing");
  }
  if (network[first] == '{') return parse_topology_json(network, "the network");
  const std::size_t last = network.find_last_not_of(" \t\r\n");
  return make_topology(network.substr(first, last - first + 1));
}

std::vector<Change> changes_of(const ordered_json& json) {
  std::vector<Change> changes;
  for (const ordered_json& change : json.value("changes", ordered_json::array())) {
    changes.push_back({.kind = change.at("kind"),
                       .from = change.at("from"),
                       .to = change.at("to"),
                       .rate = change.value("rate", ""),
                       .latency = change.value("latency", "")});
  }
  return changes;
}

void check_size(const Topology& original) {
  if (original.num_nodes() > kMostTouchNodes || original.num_links() > kMostTouchLinks) {
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("expected a network of at most {} nodes and {} links, which a page "
                    "computes soon, got {} and {}: `multitree view` takes any",
                    kMostTouchNodes, kMostTouchLinks, original.num_nodes(), original.num_links()));
  }
}

Question read(const ordered_json& json) {
  const Topology original = original_network(json.at("network"));
  check_size(original);
  Question question{
      .original = original, .topology = changed(original, changes_of(json)), .algorithms = {}};
  question.collective = parse_collective(json.value("collective", "allreduce"));
  question.root = Rank{json.value("root", 0U)};
  question.bytes = parse_bytes(json.value("size", "64MiB"));
  if (question.bytes == 0) {
    throw Error(ErrorCode::InvalidArgument, "size: expected at least 1 byte, got 0");
  }
  question.algorithms =
      json.value("algorithms", std::vector<std::string>{"allreduce-optimal", "multitree", "ring"});
  if (question.algorithms.empty()) {
    throw Error(ErrorCode::InvalidArgument, "algorithms: expected at least one, got none");
  }
  return question;
}

Schedule schedule_of(const Question& question, const std::string& algorithm) {
  return make_schedule(told(algorithm, question.bytes, kMessageOverhead), question.topology,
                       question.collective, question.root);
}

ordered_json page_answer(const Question& question) {
  const Certified certified = certify(question.topology, question.collective, question.root);
  std::vector<Schedule> schedules;
  ordered_json left_out = ordered_json::array();
  for (const std::string& algorithm : question.algorithms) {
    try {
      schedules.push_back(schedule_of(question, algorithm));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Unsupported) throw;
      left_out.push_back({algorithm, error.what()});
    }
  }
  if (schedules.empty()) {
    const std::string why = left_out.front().back();
    throw Error(ErrorCode::Unsupported, why);
  }
  const Subject subject{.topology = question.topology,
                        .certified = certified,
                        .schedules = schedules,
                        .bytes = question.bytes,
                        .cost = {.message_overhead = kMessageOverhead},
                        .places_of = &question.original};
  return {{"page", ordered_json::parse(page_data(subject))}, {"left_out", std::move(left_out)}};
}

std::string file_of(const Question& question, const std::string& want) {
  if (want == "network") return write_topology_json(question.topology);
  const Certified certified = certify(question.topology, question.collective, question.root);
  if (want == "certificate") {
    return write_certificate_json(certified.certificate, question.topology);
  }
  if (want == "schedule") {
    return write_schedule_json(schedule_of(question, question.algorithms.front()),
                               question.topology, &certified.certificate);
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("want: expected page, network, certificate or schedule, got '{}'", want));
}

ordered_json to_answer(std::string_view text) {
  try {
    const ordered_json json = ordered_json::parse(text);
    const Question question = read(json);
    const std::string want = json.value("want", "page");
    if (want == "page") return page_answer(question);
    return {{"text", file_of(question, want)}};
  } catch (const Split& split) {
    ordered_json parts = ordered_json::array();
    for (const auto& part : split.parts()) {
      parts.push_back(ordered_json::array());
      for (const NodeId node : part) parts.back().push_back(index(node));
    }
    return {{"error", split.what()}, {"parts", std::move(parts)}};
  } catch (const std::exception& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace

std::string answer(std::string_view question) {
  return to_answer(question).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace multitree::view
