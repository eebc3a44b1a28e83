// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Lists of the study.
#include "tools/study/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tools/command.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"
#include "topologies/structure.hpp"

namespace multitree::tools {
namespace {

constexpr std::uint64_t kKi = 1 << 10, kMi = 1 << 20;
constexpr auto kPacket = nic::FlowControl::Packet;
constexpr auto kMessage = nic::FlowControl::Message;

/// Of all contenders, those with these labels.
std::vector<Contender> choose(std::string_view network, std::vector<std::string_view> labels) {
  std::vector<Contender> chosen = contenders(network);
  std::erase_if(chosen, [&](const Contender& contender) {
    return std::ranges::find(labels, contender.label) == labels.end();
  });
  return chosen;
}

}  // namespace

std::vector<Part> parse_parts(std::string_view text) {
  std::vector<Part> parts;
  for (const std::string& name : split_list(text)) {
    const auto found = std::ranges::find(kPartNames, name);
    if (found == kPartNames.end()) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("expected one of {}, got '{}'", fmt::join(kPartNames, ", "), name));
    }
    const auto part = static_cast<Part>(found - kPartNames.begin());
    if (std::ranges::find(parts, part) != parts.end()) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("expected each part once, got '{}' twice", name));
    }
    parts.push_back(part);
  }
  return parts;
}

bool StudyPlan::has(Part part) const { return std::ranges::find(parts, part) != parts.end(); }

std::vector<Contender> contenders(std::string_view network) {
  const Structure structure = structure_of(make_topology(network));
  const bool is_torus = structure.grid && structure.grid->line == Line::Ring;
  std::vector<Contender> list;
  const auto add = [&](std::string_view label, const char* algorithm, nic::FlowControl flow,
                       std::uint32_t ports) {
    list.push_back({std::string(label), algorithm, flow, ports});
  };
  if (structure.grid) {
    add(kRingOnePort, "ring", kPacket, 1);
    add("double binary tree, 1 port", "double-binary-tree", kPacket, 1);
  }
  add(kRing, "ring", kPacket, 0);
  add("double binary tree", "double-binary-tree", kPacket, 0);
  if (structure.grid) {
    add(kTwoRings, "bidirectional-ring", kPacket, 0);
    add(kRing2d, "ring2d", kPacket, 0);
  }
  if (structure.facing_layers) add("HDRM", "hdrm", kPacket, 0);
  add(kMultitree, "multitree", kPacket, 0);
  add(kMultitreeMessages, "multitree", kMessage, 0);
  if (is_torus) add(kSymmetric, "symmetric", kMessage, 0);
  add(kOptimal, "allreduce-optimal", kMessage, 0);
  return list;
}

Point point_of(const StudyPlan& plan, const std::string& network, const Contender& contender,
               std::uint64_t bytes) {
  Point point{.network = network, .algorithm = contender.algorithm, .bytes = bytes};
  point.model = plan.model;
  point.machine = plan.machine;
  point.parameters.flow_control = contender.flow_control;
  point.parameters.ports = contender.ports;
  return point;
}

std::vector<std::string> bandwidth_networks(const StudyPlan& plan) {
  if (plan.quick) return {"torus:4x4", "bigraph:4x8"};
  return {"torus:4x4",   "torus:8x8",   "mesh:4x4",    "mesh:8x8",
          "fattree:8x8", "bigraph:4x8", "bigraph:4x16"};
}

std::vector<std::uint64_t> bandwidth_sizes(const StudyPlan& plan) {
  std::vector<std::uint64_t> sizes;
  const std::uint64_t last = plan.quick ? std::min(plan.max_bytes, 128 * kKi) : plan.max_bytes;
  for (std::uint64_t bytes = 32 * kKi; bytes <= last; bytes *= 2) sizes.push_back(bytes);
  return sizes;
}

std::vector<std::uint32_t> scaling_sides(const StudyPlan& plan) {
  if (plan.quick) return {4, 6};
  return {4, 6, 8, 10, 12, 14, 16};
}

std::vector<Contender> scaling_contenders(std::string_view network) {
  return choose(network, {kRingOnePort, kRing, kTwoRings, kRing2d, kMultitree, kMultitreeMessages,
                          kSymmetric, kOptimal});
}

std::string training_network(const StudyPlan& plan) {
  return plan.quick ? "torus:4x4" : "torus:8x8";
}

std::vector<Contender> training_contenders(std::string_view network) {
  return scaling_contenders(network);
}

std::vector<std::uint64_t> training_sizes(const StudyPlan& plan) {
  constexpr std::uint64_t kGradientBytes = 4;
  std::set<std::uint64_t> sizes;
  for (const WorkloadSet& set : plan.workloads) {
    for (const study::Workload& workload : set.workloads) {
      sizes.insert(study::total_parameters(workload) * kGradientBytes);
      for (const study::Layer& layer : workload.layers) {
        sizes.insert(layer.parameters * kGradientBytes);
      }
    }
  }
  sizes.erase(0);
  return {sizes.begin(), sizes.end()};
}

std::vector<Measured> measured(const StudyPlan& plan) {
  const Contender ring{.label = "ring", .algorithm = "ring", .ports = 1};
  const Contender ring2d{.label = "2D-ring", .algorithm = "ring2d"};
  const Contender packets{.label = "multitree, packets", .algorithm = "multitree"};
  const Contender messages{
      .label = "multitree, messages", .algorithm = "multitree", .flow_control = kMessage};
  std::vector<Measured> list;
  const auto add = [&](const char* network, std::uint64_t bytes, const Contender& contender,
                       bool lockstep, std::uint64_t cycles) {
    const bool dependency = contender.algorithm == "multitree" && !lockstep;
    list.push_back({network, bytes, contender.label + (dependency ? ", no lockstep" : ""),
                    contender, lockstep, cycles});
  };
  add("torus:4x4", 32 * kKi, ring, false, 9344);
  add("torus:4x4", 32 * kKi, ring2d, false, 5860);
  add("torus:4x4", 32 * kKi, packets, true, 3508);
  add("torus:4x4", 32 * kKi, messages, true, 3272);
  add("torus:4x4", 32 * kKi, messages, false, 3045);
  if (plan.quick) return list;
  add("torus:4x4", 256 * kKi, messages, true, 16819);
  add("torus:4x4", kMi, ring, false, 143264);
  add("torus:4x4", kMi, ring2d, false, 72178);
  add("torus:4x4", kMi, packets, true, 61712);
  add("torus:4x4", kMi, messages, true, 45898);
  add("torus:4x4", kMi, messages, false, 55819);
  add("torus:8x8", 256 * kKi, ring, false, 56912);
  add("torus:8x8", 256 * kKi, ring2d, false, 42266);
  add("torus:8x8", 256 * kKi, packets, true, 21796);
  add("torus:8x8", 256 * kKi, messages, true, 18881);
  add("torus:8x8", kMi, ring, false, 165776);
  add("torus:8x8", kMi, ring2d, false, 118904);
  add("torus:8x8", kMi, packets, true, 74045);
  add("torus:8x8", kMi, messages, true, 56484);
  return list;
}

Point compatible_point(const StudyPlan& plan, const Measured& measured) {
  Point point = default_point(plan, measured);
  point.machine = nic::Machine::Ideal;
  const bool packets = measured.contender.flow_control == kPacket;
  point.parameters = packets ? plan.compatibility.packet : plan.compatibility.message;
  point.parameters.ports = measured.contender.ports;
  if (!measured.lockstep) point.parameters.issue = nic::Issue::Dependency;
  return point;
}

Point default_point(const StudyPlan& plan, const Measured& measured) {
  Point point{.network = measured.network,
              .algorithm = measured.contender.algorithm,
              .bytes = measured.bytes,
              .model = nic::Model::Flit,
              .machine = plan.machine,
              .parameters = {}};
  point.parameters.flow_control = measured.contender.flow_control;
  point.parameters.ports = measured.contender.ports;
  return point;
}

std::vector<Point> points_of(const StudyPlan& plan) {
  std::vector<Point> points;
  std::set<std::string> keys;
  const auto add = [&](const Point& point) {
    if (keys.insert(key_of(point)).second) points.push_back(point);
  };
  const auto add_all = [&](const std::string& network, const std::vector<Contender>& list,
                           const std::vector<std::uint64_t>& sizes) {
    for (const Contender& contender : list) {
      for (const std::uint64_t bytes : sizes) add(point_of(plan, network, contender, bytes));
    }
  };
  if (plan.has(Part::Bandwidth)) {
    for (const std::string& network : bandwidth_networks(plan)) {
      add_all(network, contenders(network), bandwidth_sizes(plan));
    }
  }
  if (plan.has(Part::Scaling)) {
    for (const std::uint32_t side : scaling_sides(plan)) {
      const std::string network = fmt::format("torus:{0}x{0}", side);
      const std::uint64_t ranks = std::uint64_t{side} * side;
      add_all(network, scaling_contenders(network),
              {ranks * kScalingBytes[0], ranks * kScalingBytes[1]});
    }
  }
  if (plan.has(Part::Training)) {
    const std::string network = training_network(plan);
    add_all(network, training_contenders(network), training_sizes(plan));
  }
  if (plan.has(Part::Compatibility)) {
    for (const Measured& one : measured(plan)) {
      add(compatible_point(plan, one));
      add(default_point(plan, one));
    }
  }
  return points;
}

}  // namespace multitree::tools
