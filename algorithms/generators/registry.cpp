// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The list of algorithms, and how a collective is composed from what an algorithm offers.
#include "algorithms/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "algorithms/compose.hpp"
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/verify.hpp"
#include "algorithms/written_out.hpp"
#include "topologies/error.hpp"
#include "topologies/units.hpp"
#include "topologies/words.hpp"

namespace multitree {
namespace {

constexpr std::array kAliases = {Alias{"optimal", "allreduce-optimal"},
                                 Alias{"dbt", "double-binary-tree"},
                                 Alias{"tree", "double-binary-tree"},
                                 Alias{"rabenseifner", "halving-doubling"},
                                 Alias{"forestcoll", "forest"},
                                 Alias{"bfs", "breadth-first"},
                                 Alias{"sharp", "in-network"},
                                 Alias{"nvls", "in-network"},
                                 Alias{"bruck", "circulant"},
                                 Alias{"pat", "circulant"},
                                 Alias{"2d-ring", "ring2d"}};

/// `make` gives a gathering for a network; this gives its mirror image, a reduction.
template <class Make>
Schedule mirror(const Topology& topology, Make&& make) {
  const Mirror mirror(topology);
  return mirror.reduction(make(mirror.gathers_on()));
}

Schedule all_reduce(const Algorithm& algorithm, const Topology& topology, const Spec& options) {
  if (algorithm.all_reduce != nullptr) return algorithm.all_reduce(topology, options);
  const Schedule gathering = algorithm.all_gather(topology, options);
  const auto gather = [&](const Topology& t) {
    return &t == &topology ? gathering : algorithm.all_gather(t, options);
  };
  const Schedule reduction = mirror(topology, gather);
  if (reduction.chunks == gathering.chunks) return all_reduce_of(reduction, gathering);
  const auto [first, second] = with_common_chunks(reduction, gathering, topology);
  return all_reduce_of(first, second);
}

/// What an algorithm has is put together to any collective: what copies to everyone is its own;
/// what reduces to one is its own, or the mirror image of that.
Schedule generate(const Algorithm& algorithm, const Topology& topology, Collective collective,
                  Rank root, const Spec& options) {
  if (collective == Collective::AllReduce) return all_reduce(algorithm, topology, options);
  if (collective == Collective::AllGather) return algorithm.all_gather(topology, options);
  if (collective == Collective::Broadcast) return algorithm.broadcast(topology, root, options);
  if (collective == Collective::Gather) {
    return gather_to(algorithm.all_gather(topology, options), root, topology);
  }
  if (collective == Collective::ReduceScatter && algorithm.reduce_scatter != nullptr) {
    return algorithm.reduce_scatter(topology, options);
  }
  if (collective == Collective::Reduce && algorithm.reduce != nullptr) {
    return algorithm.reduce(topology, root, options);
  }
  return mirror(topology, [&](const Topology& t) {
    return generate(algorithm, t, time_reversed(collective), root, options);
  });
}

/// More pieces of a chunk than anybody has use for.
constexpr std::uint64_t kMostPieces = 4096;

/// By the option "cut", which every algorithm takes. What has a name of its own keeps it.
void cut(Schedule& schedule, std::uint32_t pieces) {
  if (pieces == 1) return;
  schedule.canonicalize();
  schedule = in_pieces(schedule, pieces);
  std::string& name = schedule.algorithm;
  if (name.empty()) return;
  name += fmt::format("{}cut={}", name.find('?') == std::string::npos ? '?' : '&', pieces);
}

}  // namespace

std::span<const Algorithm> algorithms() {
  static const std::array list = {
      allreduce_optimal_algorithm(),
      auto_algorithm(),
      bidirectional_ring_algorithm(),
      bine_algorithm(),
      breadth_first_algorithm(),
      circulant_algorithm(),
      double_binary_tree_algorithm(),
      exchange_algorithm(),
      forest_algorithm(),
      halving_doubling_algorithm(),
      hdrm_algorithm(),
      in_network_algorithm(),
      multitree_algorithm(),
      recursive_doubling_algorithm(),
      ring_algorithm(),
      ring2d_algorithm(),
      swing_algorithm(),
      symmetric_algorithm(),
  };
  return list;
}

const Algorithm& find_algorithm(std::string_view name) {
  const auto names = names_of(algorithms());
  if (const auto known = meant(name, names, kAliases)) {
    return *std::ranges::find(algorithms(), *known, &Algorithm::name);
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("expected an algorithm ({}), got '{}'{}", fmt::join(names, ", "), name,
                          did_you_mean(name, names)));
}

Schedule generate_schedule(std::string_view spec, const Topology& topology, Collective collective,
                           Rank root) {
  Spec options = Spec::parse(spec);
  const Algorithm& algorithm = find_algorithm(options.name());
  options.call(algorithm.name, {});
  if (!options.dims_text().empty()) {
    options.fail(fmt::format("an algorithm has no dims, got '{}'", options.dims_text()));
  }
  if (index(root) >= topology.num_ranks()) {
    options.fail(
        fmt::format("root: expected a rank below {}, got {}", topology.num_ranks(), index(root)));
  }
  if (collective == Collective::AllToAll) {
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("{}: expected a collective along trees, got alltoall, which 'bounds' and "
                    "'schedule' route without an algorithm",
                    algorithm.name));
  }
  if (const auto reason = algorithm.unsupported(topology)) {
    throw Error(ErrorCode::Unsupported, *reason);
  }
  check_written_out(topology);
  Schedule schedule = generate(algorithm, topology, collective, root, options);
  schedule.coalesces = std::max(schedule.coalesces, rounds_option(options, topology));
  cut(schedule, static_cast<std::uint32_t>(options.get_number("cut", 1, 1, kMostPieces)));
  options.check_all_used();
  // A choice among others keeps the name of what it chose.
  if (schedule.algorithm.empty()) schedule.algorithm = options.text();
  schedule.collective = collective;
  schedule.root = has_root(collective) ? root : Rank{0};
  schedule.canonicalize();
  return schedule;
}

std::string told(std::string_view spec, std::uint64_t bytes, Time message) {
  Spec options = Spec::parse(spec);
  const Algorithm& algorithm = find_algorithm(options.name());
  options.call(algorithm.name, {});
  std::string text = options.text();
  // A number of pieces that is given leaves nothing to choose.
  if (!algorithm.asks_size || options.has("segments")) return text;
  const auto add = [&](std::string_view key, const std::string& value) {
    if (options.has(key)) return;
    text += fmt::format("{}{}={}", text.find('?') == std::string::npos ? '?' : '&', key, value);
  };
  if (bytes != kDefaultSize) add("size", format_bytes(bytes));
  if (message != Time{}) add("message", to_string(message));
  return text;
}

void expect_verified(const Schedule& schedule, const Topology& topology) {
  VerifyOptions first;
  first.max_violations = 5;
  const VerifyReport report = verify(schedule, topology, first);
  if (report.ok()) return;
  std::string what =
      fmt::format("{} made a wrong {} schedule for {}, {} violation(s)", schedule.algorithm,
                  to_string(schedule.collective), topology.name(), report.total_violations);
  for (const Violation& violation : report.violations) what += "\n  " + violation.message;
  throw std::logic_error(what);
}

Schedule make_schedule(std::string_view spec, const Topology& topology, Collective collective,
                       Rank root) {
  Schedule schedule = generate_schedule(spec, topology, collective, root);
  expect_verified(schedule, topology);
  return schedule;
}

}  // namespace multitree
