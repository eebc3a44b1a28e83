// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Uses of links and switches, counted step by step.
#include "algorithms/verify_links_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "algorithms/combined_routes.hpp"

namespace multitree {
namespace {

/// Of each thing in the current step: a count is reset when its thing is first met in a later step.
class Uses {
 public:
  explicit Uses(std::size_t things) : count_(things, 0), met_(things, 0) {}
  std::uint32_t add(std::uint32_t thing, std::uint32_t step) {
    if (met_[thing] != std::uint64_t{step} + 1) {
      met_[thing] = std::uint64_t{step} + 1;
      count_[thing] = 0;
    }
    return ++count_[thing];
  }

 private:
  std::vector<std::uint32_t> count_;
  std::vector<std::uint64_t> met_;
};

class LinkChecker {
 public:
  LinkChecker(const Schedule& schedule, const Topology& topology, const ReportAt& report)
      : schedule_(schedule),
        topology_(topology),
        report_(report),
        links_(topology.num_links()),
        switches_(topology.num_nodes()) {}

  /// One message on a link. `apart`, `op`: CombinedRoutes::Hop.
  void use(const Transfer& at, LinkId id, std::optional<NodeId> apart = {}) {
    if (index(id) >= topology_.num_links()) return;
    const std::uint32_t uses = links_.add(index(id), at.step);
    if (uses <= topology_.slots(id)) return;
    const std::string what = fmt::format("{} carries {} transfers in this step, has room for {}",
                                         link_name(id, topology_), uses, topology_.slots(id));
    if (!apart) return report_(ViolationKind::LinkConflict, at, what, id);
    const bool adds = at.op == Op::Reduce;
    const Node& node = topology_.node(*apart);
    report_(adds ? ViolationKind::CannotAdd : ViolationKind::CannotCopy, at,
            fmt::format("{}: they {} at {}, {} {}", what, adds ? "meet" : "part", node.name,
                        node.is_switch() ? "a switch that cannot" : "a rank, where no switch can",
                        adds ? "add them" : "copy one"),
            id);
  }

  void use(const MessageGroup& group) {
    const Transfer& at = schedule_.transfers[group.transfers.front()];
    const CombinedRoutes routes = group.routes(schedule_, topology_);
    for (const CombinedRoutes::Hop& hop : routes.hops()) {
      use(at, hop.link, hop.apart);
      if (hop.ways > 1 && index(hop.link) < topology_.num_links()) work(at, hop.link);
    }
  }

 private:
  /// A switch adds to a message what others bring, or copies it, at the far end of a link.
  void work(const Transfer& at, LinkId id) {
    const NodeId place = at.op == Op::Reduce ? topology_.link(id).src : topology_.link(id).dst;
    const Node& node = topology_.node(place);
    const std::uint32_t works = switches_.add(index(place), at.step);
    if (node.abilities.at_once == 0 || works <= node.abilities.at_once) return;
    report_(ViolationKind::SwitchOverload, at,
            fmt::format("{} adds and copies {} messages in this step, can {} at once", node.name,
                        works, node.abilities.at_once),
            id);
  }

  const Schedule& schedule_;
  const Topology& topology_;
  const ReportAt& report_;
  Uses links_, switches_;
};

}  // namespace

std::string link_name(LinkId id, const Topology& topology) {
  const Link& link = topology.link(id);
  return fmt::format("link {} ({}->{})", index(id), topology.node(link.src).name,
                     topology.node(link.dst).name);
}

void check_links(const Schedule& schedule, const Topology& topology,
                 const std::vector<bool>& usable, const ReportAt& report) {
  LinkChecker checker(schedule, topology, report);
  const auto& transfers = schedule.transfers;
  if (!schedule.in_network) {
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      if (!usable[i]) continue;
      for (const LinkId id : schedule.route(transfers[i])) checker.use(transfers[i], id);
    }
    return;
  }
  for (std::size_t begin = 0, end = 0; begin < transfers.size(); begin = end) {
    while (end < transfers.size() && transfers[end].step == transfers[begin].step) ++end;
    for (MessageGroup& group : message_groups(schedule, begin, end)) {
      std::erase_if(group.transfers, [&](std::size_t i) { return !usable[i]; });
      if (!group.transfers.empty()) checker.use(group);
    }
  }
}

}  // namespace multitree
