// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From who has heard whom to cables.
#include <algorithm>
#include <map>
#include <set>

#include "topologies/cluster/cluster.hpp"

namespace multitree::cluster {
namespace {

/// Ports that are joined, by any port of theirs.
class Joined {
 public:
  PortId first_of(PortId port) {
    PortId& before = before_.try_emplace(port, port).first->second;
    if (before != port) before = first_of(before);
    return before;
  }
  void join(PortId a, PortId b) {
    const PortId first = first_of(a), second = first_of(b);
    before_[std::max(first, second)] = std::min(first, second);
  }
  /// By their first ports, all ports.
  std::map<PortId, Segment> segments() {
    std::map<PortId, Segment> all;
    for (const auto& [port, before] : before_) all[first_of(port)].ends.push_back(port);
    return all;
  }

 private:
  std::map<PortId, PortId> before_;
};

}  // namespace

Inferred infer(std::vector<Hearing> hearings) {
  std::erase_if(hearings, [](const Hearing& one) { return one.listener == one.speaker; });
  const std::set<Hearing> heard(hearings.begin(), hearings.end());
  Inferred inferred;
  Joined joined;
  for (const Hearing& one : heard) {
    if (heard.contains({one.speaker, one.listener})) {
      joined.join(one.listener, one.speaker);
    } else {
      inferred.one_way.push_back(one);
    }
  }
  for (auto& [first, segment] : joined.segments()) {
    const bool loop = std::ranges::all_of(
        segment.ends, [host = first.host](PortId end) { return end.host == host; });
    (loop ? inferred.loops : inferred.segments).push_back(std::move(segment));
  }
  return inferred;
}

bool appears_twice(const std::vector<Host>& hosts, const std::vector<Segment>& segments,
                   const Segment& cable) {
  if (!cable.is_cable()) return false;
  const auto is_used = [&](const Segment& other) {
    const auto uses = [&](PortId end) {
      const Host& host = hosts[end.host];
      const std::string& over = host.ports[end.port].over;
      return !over.empty() && std::ranges::any_of(other.ends, [&](PortId used) {
        return used.host == end.host && host.ports[used.port].name == over;
      });
    };
    return other.is_cable() && std::ranges::any_of(cable.ends, uses);
  };
  return std::ranges::any_of(segments, is_used);
}

std::vector<std::string> node_names(const std::vector<Host>& hosts) {
  const auto bare = [](const std::string& reach) { return reach.substr(reach.find('@') + 1); };
  std::map<std::string, int> calls;
  for (const Host& host : hosts) ++calls[host.hostname];
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (const Host& host : hosts) {
    const bool alone = !host.hostname.empty() && calls[host.hostname] == 1;
    std::string name = alone ? host.hostname : bare(host.reach);
    if (taken.contains(name) || (!alone && calls.contains(name))) name = host.reach;
    while (!taken.insert(name).second) name += "'";
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace multitree::cluster
