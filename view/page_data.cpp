// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the page's script draws, as JSON.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "algorithms/report.hpp"
#include "report/styles.hpp"
#include "view/drawing.hpp"
#include "view/page.hpp"
#include "view/scene.hpp"

namespace multitree::view {
namespace {

using nlohmann::ordered_json;

/// Sizes of the chart: 1 KiB to 1 GiB.
constexpr std::uint64_t kFirstSize = 1 << 10, kLastSize = 1 << 30, kSizeFactor = 4;
/// Schedules of more transfers are priced at one size only.
constexpr std::size_t kMostPriced = 4'000'000;
/// Cuts of a certificate that are shown.
constexpr std::size_t kMostCuts = 256;

double rounded(double value) { return std::round(value * 1000) / 1000; }

ordered_json network_json(const Topology& topology, const Topology* places_of) {
  const Drawing drawing = drawing_of(topology, places_of ? *places_of : topology);
  const std::vector<std::string> labels = labels_of(topology);
  ordered_json nodes = ordered_json::array(), links = ordered_json::array();
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    const Node& node = topology.node(NodeId{n});
    const Point& point = drawing.nodes[n];
    nodes.push_back({rounded(point.x), rounded(point.y),
                     node.is_switch() ? -1 : static_cast<int>(index(*node.rank)), node.name});
    if (!labels.empty()) nodes.back().push_back(labels[n]);
  }
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const Link& link = topology.link(LinkId{l});
    ordered_json curve = ordered_json::array();
    const Curve& drawn = drawing.links[l];
    for (const Point& point : {drawn.from, drawn.control, drawn.to, drawn.label}) {
      curve.insert(curve.end(), {rounded(point.x), rounded(point.y)});
    }
    links.push_back({index(link.src), index(link.dst), to_string(link.bandwidth),
                     to_string(link.latency), std::move(curve)});
  }
  return {{"name", topology.name()},
          {"ranks", topology.num_ranks()},
          {"box",
           {rounded(drawing.corner.x), rounded(drawing.corner.y), rounded(drawing.size.x),
            rounded(drawing.size.y)}},
          {"line", rounded(drawing.line)},
          {"nodes", std::move(nodes)},
          {"links", std::move(links)}};
}

ordered_json bound_json(const Subject& subject) {
  const Certificate& certificate = subject.certified.certificate;
  ordered_json cuts = ordered_json::array();
  for (const WeightedCut& cut : certificate.cuts) {
    if (cuts.size() == kMostCuts) break;
    ordered_json far = ordered_json::array();
    for (const NodeId node : cut.far) far.push_back(index(node));
    cuts.push_back(
        {{"far", std::move(far)}, {"gather", cut.gather.str()}, {"reduce", cut.reduce.str()}});
  }
  return {{"shards", certificate.bound.str()},
          {"seconds", seconds_of(certificate.bound, subject.topology, subject.bytes)},
          {"is_optimum", subject.certified.exact},
          {"model", certificate_model(subject.topology)},
          {"all_cuts", certificate.cuts.size()},
          {"cuts", std::move(cuts)}};
}

/// Each transfer as step, 1 if it reduces, chunk, source, destination, links, how many first.
ordered_json transfers_json(const Schedule& schedule) {
  ordered_json numbers = ordered_json::array();
  for (const Transfer& transfer : schedule.transfers) {
    const auto route = schedule.route(transfer);
    numbers.insert(numbers.end(), {transfer.step, transfer.op == Op::Reduce ? 1 : 0, transfer.chunk,
                                   index(transfer.src), index(transfer.dst), route.size()});
    for (const LinkId link : route) numbers.push_back(index(link));
  }
  return numbers;
}

std::size_t numbers_of(const Schedule& schedule) {
  return schedule.transfers.size() * 6 + schedule.routes.size();
}

/// Predicted busbw in GB/s by size.
ordered_json busbw_json(const Schedule& schedule, const Subject& subject) {
  const double factor = busbw_factor(schedule.collective, schedule.ranks);
  ordered_json points = ordered_json::array();
  const auto add = [&](std::uint64_t bytes) {
    const double seconds = predict_time(schedule, subject.topology, bytes, subject.cost).seconds();
    if (seconds > 0) points.push_back({bytes, static_cast<double>(bytes) * factor / seconds / 1e9});
  };
  if (schedule.transfers.size() > kMostPriced) {
    add(subject.bytes);
    return points;
  }
  for (std::uint64_t bytes = kFirstSize; bytes <= kLastSize; bytes *= kSizeFactor) add(bytes);
  return points;
}

ordered_json schedule_json(const Schedule& schedule, const Subject& subject, bool whole) {
  ordered_json chunks = ordered_json::array();
  for (const Chunk& chunk : schedule.chunks) {
    chunks.push_back({index(chunk.source), index(chunk.target), chunk.tree, chunk.weight});
  }
  const Time time = predict_time(schedule, subject.topology, subject.bytes, subject.cost);
  ordered_json json = {{"algorithm", schedule.algorithm},
                       {"steps", schedule.num_steps()},
                       {"seconds", time.seconds()},
                       {"busy", busy_seconds(schedule, subject.topology, subject.bytes)},
                       {"busbw", busbw_json(schedule, subject)},
                       {"transfer_count", schedule.transfers.size()}};
  if (whole) {
    json["chunks"] = std::move(chunks);
    json["transfers"] = transfers_json(schedule);
  }
  return json;
}

/// Each message as row, step, 1 if it reduces, begin, end.
ordered_json timelines_json(std::span<const Timeline> timelines) {
  ordered_json list = ordered_json::array();
  for (const Timeline& timeline : timelines) {
    ordered_json passages = ordered_json::array();
    for (const Passage& p : timeline.passages) {
      if (passages.size() == kMostPassages) break;
      passages.push_back({p.row, p.step, p.reduces ? 1 : 0, p.begin, p.end});
    }
    list.push_back({{"name", timeline.name},
                    {"all", timeline.passages.size()},
                    {"passages", std::move(passages)}});
  }
  return list;
}

/// By algorithm its colour, and the lengths of dashes and gaps in pixels.
ordered_json styles_json() {
  constexpr std::array<std::array<int, 2>, 3> kDashes{{{0, 0}, {8, 4}, {2, 3}}};  // by Dashes
  ordered_json styles = ordered_json::object();
  for (const report::Style& style : report::kStyles) {
    ordered_json dashes = ordered_json::array();
    if (style.dashes != report::Dashes::Solid) {
      dashes = kDashes.at(static_cast<std::size_t>(style.dashes));
    }
    styles[std::string(style.algorithm)] = {style.colour, std::move(dashes)};
  }
  return styles;
}

}  // namespace

std::string page_data(const Subject& subject, std::size_t most_numbers) {
  const Schedule& first = subject.schedules.front();
  ordered_json schedules = ordered_json::array();
  for (const Schedule& schedule : subject.schedules) {
    const bool whole = numbers_of(schedule) <= most_numbers;
    if (whole) most_numbers -= numbers_of(schedule);
    schedules.push_back(schedule_json(schedule, subject, whole));
  }
  const double factor = busbw_factor(first.collective, first.ranks);
  ordered_json json = {{"styles", styles_json()},
                       {"colours",
                        {{"reduce", kReduceColour},
                         {"copy", kCopyColour},
                         {"far", kFarColour},
                         {"idle", kIdleColour}}},
                       {"shades", kShades},
                       {"network", network_json(subject.topology, subject.places_of)},
                       {"collective", to_string(first.collective)},
                       {"root", index(first.root)},
                       {"rooted", has_root(first.collective)},
                       {"bytes", subject.bytes},
                       {"bus_factor", factor},
                       {"bound", bound_json(subject)},
                       {"schedules", std::move(schedules)}};
  if (!subject.timelines.empty()) {
    json["timeline_rows"] = link_rows(subject.topology);
    json["timelines"] = timelines_json(subject.timelines);
  }
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace multitree::view
