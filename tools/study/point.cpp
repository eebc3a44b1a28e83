// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Names of points.
#include "tools/study/point.hpp"

#include <nlohmann/json.hpp>

namespace multitree::tools {

std::string key_of(const Point& point) {
  using nlohmann::ordered_json;
  const auto defaults = ordered_json::parse(nic::write_parameters(nic::Parameters{}));
  const auto given = ordered_json::parse(nic::write_parameters(point.parameters));
  ordered_json others = ordered_json::object();
  for (const auto& [name, value] : given.items()) {
    if (name == "flow_control" || name == "ports" || value == defaults.at(name)) continue;
    others[name] = value;
  }
  ordered_json key = {{"network", point.network},
                      {"algorithm", point.algorithm},
                      {"flow_control", given.at("flow_control")},
                      {"ports", given.at("ports")},
                      {"bytes", point.bytes},
                      {"model", nic::to_string(point.model)}};
  if (point.machine != nic::Machine::Ideal) key["machine"] = nic::to_string(point.machine);
  key["parameters"] = others;
  return key.dump();
}

}  // namespace multitree::tools
