// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Everything that can be wrong with a certificate, by name.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <utility>

#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/certificate/link_prices_internal.hpp"

namespace multitree {
namespace {

constexpr std::array<std::string_view, 9> kFaultNames = {
    "wrong-network", "wrong-collective", "bad-cut",        "bad-weight",  "bad-price",
    "wrong-bound",   "wrong-hops",       "bad-link-price", "wrong-demand"};
constexpr std::uint32_t kUnreached = std::numeric_limits<std::uint32_t>::max();

/// Collects violations; the checks of one certificate.
class Checker {
 public:
  Checker(const Certificate& certificate, const Topology& topology)
      : certificate_(certificate), topology_(topology) {}

  std::vector<CertificateViolation> take() { return std::move(violations_); }
  [[nodiscard]] bool ok() const { return violations_.empty(); }

  void check_network() {
    if (certificate_.ranks != topology_.num_ranks()) {
      add(CertificateFault::WrongNetwork,
          fmt::format("expected a certificate for {} ranks, got one for {}", topology_.num_ranks(),
                      certificate_.ranks));
    }
    const std::uint32_t root = index(certificate_.root);
    const std::uint32_t roots = has_root(certificate_.collective) ? topology_.num_ranks() : 1;
    if (root >= roots) {
      add(CertificateFault::WrongCollective,
          fmt::format("expected a root below {}, got {}", roots, root));
    }
  }

  void check_cuts() {
    for (std::size_t c = 0; c < certificate_.cuts.size(); ++c) {
      const WeightedCut& cut = certificate_.cuts[c];
      const std::string name = fmt::format("cut {}", c);
      check_far_side(cut.far, name);
      if (cut.gather < 0 || cut.reduce < 0) {
        add(CertificateFault::BadWeight, name + ": expected weights of at least 0");
      }
      check_phases(CertificateFault::BadWeight, cut.gather, cut.reduce, name);
    }
  }

  void check_prices() {
    std::optional<NodeId> last;
    for (const SwitchPrice& price : certificate_.prices) {
      const std::string name = fmt::format("price of node {}", index(price.node));
      if (index(price.node) >= topology_.num_nodes()) {
        add(CertificateFault::BadPrice,
            fmt::format("{}: expected a node below {}", name, topology_.num_nodes()));
      } else if (!topology_.node(price.node).is_switch()) {
        add(CertificateFault::BadPrice, name + ": expected a switch, got a rank");
      } else {
        check_sign(price, topology_.node(price.node).abilities, name);
      }
      if (last && *last >= price.node) {
        add(CertificateFault::BadPrice, name + ": expected nodes in ascending order");
      }
      last = price.node;
      check_phases(CertificateFault::BadPrice, price.gather, price.reduce, name);
    }
  }

  void check_links() {
    for (const std::string& what : faults_of_prices(certificate_, topology_)) {
      add(CertificateFault::BadLinkPrice, what);
    }
    const std::string what = fault_of_demand(certificate_, topology_);
    if (!what.empty()) add(CertificateFault::WrongDemand, what);
  }

  void check_hops() {
    const auto [from, to] = certificate_.far_apart;
    const std::uint32_t ranks = topology_.num_ranks();
    if (index(from) >= ranks || index(to) >= ranks) {
      add(CertificateFault::WrongHops,
          fmt::format("expected two ranks below {}, got {} and {}", ranks, index(from), index(to)));
      return;
    }
    const bool starts = facts(certificate_.collective).start == Holder::Root;
    const bool ends = facts(certificate_.collective).end == Holder::Root;
    if ((starts && from != certificate_.root) || (ends && to != certificate_.root)) {
      add(CertificateFault::WrongHops,
          fmt::format("expected a way that {} at the root {}, got one from rank {} to rank {}",
                      starts ? "starts" : "ends", index(certificate_.root), index(from),
                      index(to)));
    }
    const std::uint32_t hops = hops_between(from, to);
    if (hops != certificate_.hops) {
      add(CertificateFault::WrongHops,
          fmt::format("expected {} hops from rank {} to rank {}, got {}", hops, index(from),
                      index(to), certificate_.hops));
    }
  }

  void check_bound(const Exact& bound) {
    if (bound == certificate_.bound) return;
    add(CertificateFault::WrongBound,
        fmt::format("expected the bound {} that the cuts prove, got {}", bound.str(),
                    certificate_.bound.str()));
  }

  void check_schedule(const Schedule& schedule) {
    if (schedule.ranks != certificate_.ranks) {
      add(CertificateFault::WrongNetwork,
          fmt::format("expected a certificate for the schedule's {} ranks, got one for {}",
                      schedule.ranks, certificate_.ranks));
    }
    if (schedule.collective != certificate_.collective) {
      add(CertificateFault::WrongCollective,
          fmt::format("expected a certificate for {}, got one for {}",
                      to_string(schedule.collective), to_string(certificate_.collective)));
    } else if (has_root(schedule.collective) && schedule.root != certificate_.root) {
      add(CertificateFault::WrongCollective,
          fmt::format("expected a certificate for the root {}, got one for {}",
                      index(schedule.root), index(certificate_.root)));
    }
    const std::string what = fault_of_moved(certificate_, schedule);
    if (!what.empty()) add(CertificateFault::WrongDemand, what);
  }

 private:
  void check_sign(const SwitchPrice& price, const SwitchAbilities& abilities,
                  const std::string& name) {
    if (abilities.copies && price.gather > 0) {
      add(CertificateFault::BadPrice, name + ": expected gather of at most 0, as it copies");
    }
    if (abilities.adds && price.reduce < 0) {
      add(CertificateFault::BadPrice, name + ": expected reduce of at least 0, as it adds");
    }
  }

  void add(CertificateFault fault, std::string message) {
    violations_.push_back({fault, "certificate: " + std::move(message)});
  }

  void check_far_side(const std::vector<NodeId>& far, const std::string& name) {
    const auto add_cut = [&](std::string_view what) {
      add(CertificateFault::BadCut, fmt::format("{}: expected {}", name, what));
    };
    const bool exist =
        std::ranges::all_of(far, [&](NodeId node) { return index(node) < topology_.num_nodes(); });
    if (!exist) {
      add_cut(fmt::format("nodes below {}", topology_.num_nodes()));
      return;
    }
    if (std::ranges::adjacent_find(far, std::greater_equal{}) != far.end()) {
      add_cut("nodes in ascending order");
    }
    const bool has_rank =
        std::ranges::any_of(far, [&](NodeId node) { return !topology_.node(node).is_switch(); });
    if (!has_rank) add_cut("a rank on the far side");
    if (far.size() >= topology_.num_nodes()) add_cut("a node on the near side");
  }

  void check_phases(CertificateFault fault, const Exact& gather, const Exact& reduce,
                    const std::string& name) {
    const auto add_phase = [&](std::string_view phase) {
      add(fault, fmt::format("{}: expected no {} part in {}", name, phase,
                             to_string(certificate_.collective)));
    };
    if (gather != 0 && !copies(certificate_.collective)) add_phase("gather");
    if (reduce != 0 && !reduces(certificate_.collective)) add_phase("reduce");
  }

  /// Entering a rank is a hop, entering a switch is not.
  [[nodiscard]] std::uint32_t hops_between(Rank from, Rank to) const {
    std::vector<std::uint32_t> hops(topology_.num_nodes(), kUnreached);
    std::deque<NodeId> queue{topology_.node_of(from)};
    hops[index(queue.front())] = 0;
    while (!queue.empty()) {
      const NodeId node = queue.front();
      queue.pop_front();
      for (const LinkId id : topology_.out_links(node)) {
        const NodeId next = topology_.link(id).dst;
        const bool is_switch = topology_.node(next).is_switch();
        const std::uint32_t there = hops[index(node)] + (is_switch ? 0 : 1);
        if (there >= hops[index(next)]) continue;
        hops[index(next)] = there;
        is_switch ? queue.push_front(next) : queue.push_back(next);
      }
    }
    return hops[index(topology_.node_of(to))];
  }

  const Certificate& certificate_;
  const Topology& topology_;
  std::vector<CertificateViolation> violations_;
};

/// Whether every route passes through switches only, so that a step is one rank-to-rank hop.
bool moves_single_hops(const Schedule& schedule, const Topology& topology) {
  return std::ranges::all_of(schedule.transfers, [&](const Transfer& transfer) {
    const auto route = schedule.route(transfer);
    return route.empty() || std::all_of(route.begin(), route.end() - 1, [&](LinkId id) {
             return topology.node(topology.link(id).dst).is_switch();
           });
  });
}

void compare(const Schedule& schedule, const Topology& topology, const Certificate& certificate,
             CertificateReport& report) {
  report.load = load_of(schedule, topology);
  if (report.bound > 0) report.ratio = Exact(*report.load / report.bound);
  if (report.bound == 0 && *report.load == 0) report.ratio = Exact(1);
  report.optimal = report.ok() && *report.load == report.bound;
  report.steps = schedule.num_steps();
  report.step_bound = least_steps(report.bound, schedule);
  if (report.ok() && moves_single_hops(schedule, topology)) {
    report.step_bound = std::max(report.step_bound, certificate.hops);
  }
}

}  // namespace

std::string_view to_string(CertificateFault fault) {
  return kFaultNames[static_cast<std::size_t>(fault)];
}

bool CertificateReport::has(CertificateFault fault) const {
  return std::ranges::any_of(
      violations, [&](const CertificateViolation& violation) { return violation.fault == fault; });
}

CertificateReport check_certificate(const Certificate& certificate, const Topology& topology,
                                    const Schedule* schedule) {
  CertificateReport report;
  Checker checker(certificate, topology);
  checker.check_network();
  checker.check_cuts();
  checker.check_prices();
  checker.check_links();
  if (checker.ok()) {
    report.bound = evaluate(certificate, topology);
    checker.check_bound(report.bound);
  }
  checker.check_hops();
  if (schedule != nullptr) checker.check_schedule(*schedule);
  report.violations = checker.take();
  if (schedule != nullptr) compare(*schedule, topology, certificate, report);
  return report;
}

}  // namespace multitree
