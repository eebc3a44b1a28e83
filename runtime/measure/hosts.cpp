// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Machines by their boot: who shares processors need not share memory.
#include "runtime/measure/hosts_internal.hpp"

#include <algorithm>
#include <map>

#include "runtime/host/mapping_internal.hpp"

namespace multitree::runtime::measuring {
namespace {

/// host_identity() begins with the boot of the machine.
std::string machine_of(const std::string& identity) {
  return identity.substr(0, identity.find(' '));
}

}  // namespace

std::vector<Host> find_hosts(Bootstrap& job, const Topology& topology, Deadline timeout) {
  const Gathered names = job.all_gather(host::host_identity(), timeout);
  const auto machine = [&](Rank rank) { return machine_of(names[index(seat_of(rank))]); };
  std::map<std::string, Host> by_name;
  for (const Seat seat : Seats(job.size())) {
    Host& host = by_name[machine_of(names[index(seat)])];
    host.ranks.push_back(rank_at(seat));
    host.memory &= names[index(seat)] == names[index(seat_of(host.ranks.front()))];
  }
  for (const MeasuredPair& pair : pairs_to_measure(topology)) {
    if (machine(pair.src) == machine(pair.dst)) by_name[machine(pair.src)].pairs.push_back(pair);
  }
  std::vector<Host> hosts;
  for (auto& [name, host] : by_name) {
    if (!host.pairs.empty()) hosts.push_back(std::move(host));
  }
  std::ranges::sort(hosts, {}, &Host::ranks);
  return hosts;
}

}  // namespace multitree::runtime::measuring
