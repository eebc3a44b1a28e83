// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Makes what is compared.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string_view>
#include <utility>

#include "algorithms/registry.hpp"
#include "algorithms/tuning/candidates_internal.hpp"
#include "algorithms/tuning/parallel_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {

std::vector<std::string> candidate_specs() {
  std::vector<std::string> specs;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == "auto" || algorithm.name == "in-network") continue;
    specs.emplace_back(algorithm.name);
    std::string_view rest = algorithm.variants;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('|'), rest.size());
      specs.push_back(fmt::format("{}?{}", algorithm.name, rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return specs;
}

std::vector<std::uint64_t> grid_of(std::uint64_t first, std::uint64_t last, std::uint64_t factor) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = first; size < last;) {
    sizes.push_back(size);
    size = size > last / factor ? last : std::max<std::uint64_t>(size * factor, 1);
  }
  sizes.push_back(last);
  return sizes;
}

bool are_alike(const Schedule& a, const Schedule& b) {
  const auto is_same = [](const Transfer& x, const Transfer& y) {
    return x.step == y.step && x.op == y.op && x.chunk == y.chunk && x.src == y.src &&
           x.dst == y.dst && x.route_size == y.route_size;
  };
  return a.coalesces == b.coalesces && a.chunks == b.chunks && a.routes == b.routes &&
         std::ranges::equal(a.transfers, b.transfers, is_same);
}

Time message_cost(const Topology& topology, const TuneOptions& options) {
  Time message = options.cost.message_overhead;
  for (const SharedHost& host : options.cost.hosts) {
    const auto ranks = static_cast<std::int64_t>(host.ranks.size());
    message = std::max(message, Time{host.message.picoseconds * ranks});
  }
  if (options.priced == nullptr || topology.num_links() == 0) return message;
  double declared = 0, priced = 0;
  for (const Link& link : topology.links()) {
    declared += static_cast<double>(link.bandwidth.bytes_per_second);
  }
  for (const Link& link : options.priced->links()) {
    priced += static_cast<double>(link.bandwidth.bytes_per_second);
  }
  const double nanoseconds = message.seconds() * 1e9 * priced / declared;
  return {std::llround(nanoseconds) * 1000};
}

std::vector<Made> list_candidates(const std::vector<std::string>& specs,
                                  const std::vector<std::uint64_t>& sizes, std::uint64_t whole,
                                  Time message) {
  std::vector<Made> all;
  for (const std::string& spec : specs) {
    std::string before;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (i + 1 < sizes.size() && sizes[i + 1] < whole) continue;
      std::string sized = told(spec, sizes[i], message);
      if (sized == before) break;
      all.push_back({.spec = sized,
                     .sized = !before.empty(),
                     .bytes = sized == spec ? 0 : sizes[i],
                     .schedule = {},
                     .unsupported = {}});
      before = std::move(sized);
    }
  }
  return all;
}

void make_candidate(Made& candidate, const Topology& topology, Collective collective, Rank root,
                    ScheduleStore& store) {
  const ScheduleStore::Use use(store);
  try {
    // What has no options may be borrowed by others.
    const bool is_plain = candidate.spec.find('?') == std::string::npos;
    candidate.schedule =
        is_plain ? stored_schedule(candidate.spec, topology, collective, root)->schedule()
                 : generate_schedule(candidate.spec, topology, collective, root);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Unsupported) throw;
    candidate.unsupported = error.what();
  }
}

void make_candidates(std::vector<Made>& candidates, const Topology& topology, Collective collective,
                     Rank root, ScheduleStore& store,
                     const std::function<void(std::size_t over, std::string_view spec)>& on_start) {
  // What others borrow first, then sizes, as those of one algorithm wait for what they share.
  std::vector<Made*> order;
  for (Made& candidate : candidates) order.push_back(&candidate);
  std::ranges::stable_sort(order, {}, [](const Made* candidate) { return candidate->bytes; });
  std::mutex mutex;
  std::size_t over = 0;
  in_parallel(candidates.size(), [&](std::size_t i) {
    Made& candidate = *order[i];
    if (on_start) {
      const std::scoped_lock lock(mutex);
      on_start(over, candidate.spec);
    }
    make_candidate(candidate, topology, collective, root, store);
    const std::scoped_lock lock(mutex);
    ++over;
  });
}

}  // namespace multitree
