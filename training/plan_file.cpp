// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Plans as files.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "algorithms/registry.hpp"
#include "algorithms/schemas.hpp"
#include "topologies/io/io.hpp"
#include "topologies/io/json_document.hpp"
#include "training/plan.hpp"

namespace multitree::training {
namespace {

using nlohmann::ordered_json;

/// In the order of Order.
constexpr std::array<std::string_view, 3> kOrders{"serial", "preemptive", "overlapping"};
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;

ordered_json to_json(const Model& model) {
  ordered_json layers = ordered_json::array();
  for (const Layer& layer : model.layers) {
    layers.push_back({{"name", layer.name},
                      {"forward", layer.forward},
                      {"backward", layer.backward},
                      {"tensors", layer.tensors}});
  }
  return {{"name", model.name}, {"layers", std::move(layers)}};
}

ordered_json to_json(const PlannedTransfer& transfer) {
  return {{"collective", to_string(transfer.collective)},
          {"layers", {transfer.first, transfer.last}},
          {"bytes", transfer.bytes},
          {"priority", transfer.priority},
          {"hold", transfer.hold},
          {"begin", transfer.begin},
          {"end", transfer.end}};
}

Layer parse_layer(const JsonValue& value) {
  value.check_keys({"name", "forward", "backward", "tensors"});
  Layer layer{
      value.at("name").string(), value.at("forward").number(), value.at("backward").number(), {}};
  const JsonValue tensors = value.at("tensors");
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    layer.tensors.push_back(tensors.at(t).integer(1, kMaxParameters * 16));
  }
  return layer;
}

Model parse_model_of(const JsonValue& value) {
  value.check_keys({"name", "layers"});
  Model model{value.at("name").string(), {}};
  const JsonValue layers = value.at("layers");
  if (layers.size() == 0) layers.fail("expected at least one layer, found none");
  for (std::size_t l = 0; l < layers.size(); ++l) model.layers.push_back(parse_layer(layers.at(l)));
  return model;
}

Order parse_order(const JsonValue& value) {
  const auto found = std::ranges::find(kOrders, value.string());
  if (found == kOrders.end()) {
    value.fail(
        fmt::format("expected serial, preemptive or overlapping, found '{}'", value.string()));
  }
  return static_cast<Order>(found - kOrders.begin());
}

Collective parse_collective_of(const JsonValue& value) {
  for (const Collective collective :
       {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather}) {
    if (value.string() == to_string(collective)) return collective;
  }
  value.fail(
      fmt::format("expected allreduce, reduce-scatter or allgather, found '{}'", value.string()));
}

PlannedTransfer parse_transfer(const JsonValue& value, std::size_t num_layers) {
  value.check_keys({"collective", "layers", "bytes", "priority", "hold", "begin", "end"});
  const JsonValue layers = value.at("layers");
  if (layers.size() != 2) layers.fail("expected the first and the last layer");
  PlannedTransfer transfer{
      .collective = parse_collective_of(value.at("collective")),
      .first = static_cast<std::uint32_t>(layers.at(0).integer(0, num_layers - 1)),
      .last = 0,
      .bytes = value.at("bytes").integer(0, kMaxBytes),
      .priority = static_cast<std::uint32_t>(
          value.at("priority").integer(0, std::numeric_limits<std::uint32_t>::max())),
      .hold = value.at("hold").number(),
      .begin = value.at("begin").number(),
      .end = value.at("end").number()};
  transfer.last = static_cast<std::uint32_t>(layers.at(1).integer(transfer.first, num_layers - 1));
  if (transfer.end < transfer.begin) {
    value.at("end").fail(fmt::format("expected an end from the begin {} on, found {}",
                                     transfer.begin, transfer.end));
  }
  return transfer;
}

/// Each layer's gradients are summed up: their bytes are in all-reduces, or in reduce-scatters and
/// again in all-gathers.
void check_complete(const Plan& plan, const JsonValue& value) {
  std::uint64_t summed = 0, scattered = 0, gathered = 0;
  for (const PlannedTransfer& transfer : plan.transfers) {
    (transfer.collective == Collective::AllReduce       ? summed
     : transfer.collective == Collective::ReduceScatter ? scattered
                                                        : gathered) += transfer.bytes;
  }
  const std::uint64_t bytes = plan.model.bytes();
  if (scattered != gathered || summed + scattered != bytes) {
    value.fail(
        fmt::format("expected transfers of {} bytes, the gradients of {}, found all-reduces "
                    "of {}, reduce-scatters of {} and all-gathers of {}",
                    bytes, plan.model.name, summed, scattered, gathered));
  }
  std::vector<bool> carried(plan.model.layers.size(), false);
  for (const PlannedTransfer& transfer : plan.transfers) {
    for (std::uint32_t l = transfer.first; l <= transfer.last; ++l) carried[l] = true;
  }
  for (std::size_t l = 0; l < carried.size(); ++l) {
    if (carried[l] || plan.model.layers[l].bytes() == 0) continue;
    value.fail(fmt::format("expected a transfer of layer {}, '{}', found none", l,
                           plan.model.layers[l].name));
  }
}

/// Only a serial order says that a reduce-scatter is over before its all-gather begins.
void check_order(const Plan& plan, const JsonValue& value) {
  if (plan.order == Order::Serial) return;
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    const Collective collective = plan.transfers[t].collective;
    if (collective == Collective::AllReduce) continue;
    value.at(t).fail(
        fmt::format("expected allreduce in a plan with the order {}, found {}; others need the "
                    "order serial",
                    kOrders[static_cast<std::size_t>(plan.order)], to_string(collective)));
  }
}

}  // namespace

std::string write_json(const Plan& plan, const Topology& topology) {
  ordered_json transfers = ordered_json::array();
  for (const PlannedTransfer& transfer : plan.transfers) transfers.push_back(to_json(transfer));
  const ordered_json json = {{"schema", kIterationPlanSchema.name},
                             {"topology", topology_to_json(topology)},
                             {"policy", plan.policy},
                             {"algorithm", plan.algorithm},
                             {"order", kOrders[static_cast<std::size_t>(plan.order)]},
                             {"together", plan.together},
                             {"call", plan.call},
                             {"seconds", plan.seconds},
                             {"model", to_json(plan.model)},
                             {"transfers", std::move(transfers)}};
  return json.dump(1) + "\n";
}

PlanFile parse_iteration_plan(std::string_view text, const std::string& file) {
  const JsonDocument document(text, file);
  const JsonValue root(document);
  root.check_schema({kIterationPlanSchema.name});
  root.check_keys({"schema", "topology", "policy", "algorithm", "order", "together", "call",
                   "seconds", "model", "transfers"});
  const JsonValue together = root.at("together");
  if (!together.json().is_boolean()) together.fail("expected true or false");
  Plan plan{.policy = root.at("policy").string(),
            .algorithm = root.at("algorithm").string(),
            .model = parse_model_of(root.at("model")),
            .transfers = {},
            .order = parse_order(root.at("order")),
            .together = together.json().get<bool>(),
            .call = root.at("call").number(),
            .seconds = root.at("seconds").number()};
  const JsonValue transfers = root.at("transfers");
  for (std::size_t t = 0; t < transfers.size(); ++t) {
    plan.transfers.push_back(parse_transfer(transfers.at(t), plan.model.layers.size()));
  }
  check_complete(plan, transfers);
  check_order(plan, transfers);
  return {std::move(plan), parse_topology(root.at("topology"))};
}

}  // namespace multitree::training
