// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From a seed to a job.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "algorithms/registry.hpp"
#include "tests/runtime/random_schedule.hpp"
#include "tests/world/job.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime::world {
namespace {

constexpr std::uint32_t kFewest = 2, kMostRanksDrawn = 9;
/// Seeds of schedules that no generator makes: few, so that they are made once.
constexpr std::uint64_t kRandomSchedules = 8;

const Topology& network_named(const std::string& name) {
  static std::map<std::string, Topology> known;
  const auto found = known.find(name);
  return found != known.end() ? found->second
                              : known.emplace(name, make_topology(name)).first->second;
}

std::string draw_network(Random& random, std::uint32_t ranks) {
  std::vector<std::string> names{fmt::format("full:{}", ranks)};
  if (ranks > 2) names.push_back(fmt::format("torus:{}", ranks));
  if (ranks == 4) names.insert(names.end(), {"torus:2x2", "mesh:2x2", "hypercube:2"});
  if (ranks == 6) names.insert(names.end(), {"torus:3x2", "mesh:3x2"});
  if (ranks == 8) names.insert(names.end(), {"torus:4x2", "mesh:4x2", "hypercube:3"});
  if (ranks == 9) names.insert(names.end(), {"torus:3x3", "mesh:3x3"});
  return random.one_of(names);
}

/// Made once for all seeds. Empty: it cannot serve the network.
const std::optional<Schedule>& schedule_of(const std::string& network, Collective collective,
                                           const std::string& algorithm, Rank root) {
  using Key = std::tuple<std::string, Collective, std::string, Rank>;
  static std::map<Key, std::optional<Schedule>> known;
  const Key key{network, collective, algorithm, root};
  if (const auto found = known.find(key); found != known.end()) return found->second;
  std::optional<Schedule> made;
  try {
    made = make_schedule(algorithm, network_named(network), collective, root);
  } catch (const Error&) {  // it is for other networks
  }
  return known.emplace(key, std::move(made)).first->second;
}

Schedule draw_schedule(Random& random, const std::string& network, Collective collective, Rank root,
                       std::string& algorithm) {
  static const std::vector<std::string> kNames{"ring",
                                               "multitree",
                                               "forest",
                                               "double-binary-tree",
                                               "recursive-doubling",
                                               "halving-doubling",
                                               "bine",
                                               "hdrm",
                                               "auto",
                                               "breadth-first",
                                               "exchange",
                                               "allreduce-optimal",
                                               "swing",
                                               "symmetric",
                                               "ring2d",
                                               "bidirectional-ring"};
  for (int tries = 0; tries < 20; ++tries) {
    algorithm = random.one_of(kNames);
    const auto& made = schedule_of(network, collective, algorithm, root);
    if (made) return *made;
  }
  algorithm = "ring";
  return schedule_of(network, collective, algorithm, root).value();
}

void draw_schedules(Random& random, JobDraw& job) {
  const bool odd = random.chance(30);
  if (odd) job.network = fmt::format("full:{}", job.ranks);
  const Rank root{static_cast<std::uint32_t>(random.below(job.ranks))};
  for (const Collective collective : all_collectives()) {
    std::string algorithm = "random";
    if (odd) {
      const auto seed = static_cast<std::uint32_t>(1 + random.below(kRandomSchedules));
      job.schedules.push_back(
          test::random_schedule(collective, network_named(job.network), root, seed));
      algorithm += std::to_string(seed);
    } else {
      job.schedules.push_back(draw_schedule(random, job.network, collective, root, algorithm));
    }
    job.algorithms.push_back(algorithm);
  }
}

Habits draw_habits(Random& random) {
  Habits habits;
  static constexpr std::array kDelays{2us, 20us, 200us};
  static constexpr std::array kUnasked{std::size_t{512}, std::size_t{4096}, std::size_t{1} << 20};
  static constexpr std::array kPieces{std::size_t{7}, std::size_t{100}, std::size_t{1500},
                                      std::size_t{1} << 16};
  habits.delay = random.one_of(kDelays);
  if (random.chance(30)) habits.late = 20ms;
  habits.unasked_bytes = random.one_of(kUnasked);
  habits.piece_bytes = random.one_of(kPieces);
  if (habits.delay > 2us) habits.piece_bytes = std::max(habits.piece_bytes, std::size_t{512});
  habits.in_order = random.chance(50);
  TransportLimits& limits = habits.limits;
  limits.buffered = random.chance(30);
  limits.one_port = random.chance(30);
  limits.keeps_at_sender = random.chance(50);
  limits.window_bytes = std::size_t{1} << random.below(16);
  limits.window_messages = 1 + random.below(6);
  if (random.chance(30)) limits.merge_bytes = std::size_t{1} << random.below(13);
  if (random.chance(30)) limits.segment_bytes = 64 + random.below(4096);
  return habits;
}

CallDraw draw_call(Random& random, std::uint32_t ranks) {
  static const std::vector<Collective> kCollectives(all_collectives().begin(),
                                                    all_collectives().end());
  static constexpr std::array kOps{ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max, ReduceOp::Avg,
                                   ReduceOp::Prod};
  static constexpr std::array kCounts{std::size_t{0}, std::size_t{1}, std::size_t{17},
                                      std::size_t{300}, std::size_t{3000}};
  static constexpr std::array kWires{WireType::Float16, WireType::BFloat16, WireType::Lossless};
  CallDraw call;
  call.collective = random.one_of(kCollectives);
  call.count = random.one_of(kCounts);
  call.count += call.count > 1 ? random.below(call.count) : 0;
  call.type = all_data_types()[random.below(all_data_types().size())];
  call.op = random.one_of(kOps);
  // 2 to the number of ranks is to fit into a byte.
  if (call.op == ReduceOp::Prod && ranks > 6) call.op = ReduceOp::Sum;
  if (call.type == DataType::Float32 && random.chance(40)) call.wire = random.one_of(kWires);
  call.in_place = random.chance(40);
  call.priority = static_cast<std::uint32_t>(random.below(3));
  call.salt = random.below(1000);
  return call;
}

/// Small calls while a large one is under way, which stands back for them.
void add_large_call(Random& random, JobDraw& job) {
  constexpr std::size_t kLarge = 70'000;
  constexpr std::size_t kSegment = 32 * 1024;
  job.under_way = 3;
  job.segment_bytes = kSegment;
  job.habits.piece_bytes = kSegment;
  job.habits.limits.segment_bytes = TransportLimits().segment_bytes;
  job.habits.limits.buffered = true;
  CallDraw call = draw_call(random, job.ranks);
  call.collective = Collective::AllReduce;
  call.type = DataType::Int64;
  call.wire = WireType::AsIs;
  call.count = kLarge;
  job.calls.insert(job.calls.begin() + static_cast<std::ptrdiff_t>(random.below(job.calls.size())),
                   call);
}

Fault draw_fault(Random& random, const JobDraw& job) {
  static constexpr std::array kKinds{
      FaultKind::DiesSending, FaultKind::DiesSending, FaultKind::Dies,  FaultKind::DiesSilently,
      FaultKind::Cut,         FaultKind::Cut,         FaultKind::Stops, FaultKind::StopsLong};
  Fault fault;
  fault.kind = job.adapts ? FaultKind::Cut : random.one_of(kKinds);
  fault.a = static_cast<std::uint32_t>(random.below(job.ranks));
  if (job.streams && fault.kind == FaultKind::Cut) fault.kind = FaultKind::Breaks;
  fault.b = static_cast<std::uint32_t>((fault.a + 1 + random.below(job.ranks - 1)) % job.ranks);
  fault.sends = 1 + random.below(std::uint64_t{1} << random.below(10));
  fault.when = random.delay(50ms);
  if (fault.kind == FaultKind::Stops) fault.time = random.delay(job.timeout / 2);
  if (fault.kind == FaultKind::StopsLong) fault.time = 4 * job.timeout;
  return fault;
}

}  // namespace

JobDraw draw_job(std::uint64_t seed) {
  Random random(seed * 2 + 1);
  JobDraw job;
  job.ranks = kFewest + static_cast<std::uint32_t>(random.below(kMostRanksDrawn - kFewest + 1));
  job.network = draw_network(random, job.ranks);
  draw_schedules(random, job);
  job.habits = draw_habits(random);
  job.segment_bytes = std::size_t{16} << random.below(10);
  job.timeout = Deadline(1000 + random.below(2000));
  job.under_way = 1 + random.below(4);
  job.longest_pause = random.chance(20) ? Nanoseconds(5ms) : Nanoseconds(20us);
  job.adapts = random.chance(10) && job.ranks > 2;
  if (job.adapts) job.segment_bytes = std::max(job.segment_bytes, std::size_t{1024});  // many calls
  job.streams = !job.adapts && random.chance(35);
  job.habits.goes_around = job.adapts;
  if (job.adapts || random.chance(50)) job.habits.link_deadline = Deadline(20 + random.below(80));
  for (std::uint64_t calls = 1 + random.below(job.adapts ? 40 : 6); calls > 0; --calls) {
    job.calls.push_back(draw_call(random, job.ranks));
  }
  if (random.chance(3)) add_large_call(random, job);
  std::uint64_t faults = random.chance(60) ? 1 : 0;
  if (random.chance(15)) ++faults;
  if (job.streams && random.chance(50)) faults += random.below(4);
  for (; faults > 0; --faults) job.faults.push_back(draw_fault(random, job));
  for (Schedule& schedule : job.schedules) {
    if (random.chance(50)) schedule.coalesces = std::uint64_t{1} << random.below(18);
  }
  return job;
}

std::string words_of(const Fault& fault) {
  const double ms = static_cast<double>(fault.when.count()) / 1e6;
  switch (fault.kind) {
    case FaultKind::DiesSending:
      return fmt::format("rank {} dies at its send {}", fault.a, fault.sends);
    case FaultKind::Dies:
      return fmt::format("rank {} dies at {:.3f} ms", fault.a, ms);
    case FaultKind::DiesSilently:
      return fmt::format("rank {} is lost with its host at {:.3f} ms", fault.a, ms);
    case FaultKind::Cut:
      return fmt::format("nothing passes from rank {} to rank {} from {:.3f} ms on", fault.a,
                         fault.b, ms);
    case FaultKind::Breaks:
      return fmt::format("the connection of ranks {} and {} breaks at {:.3f} ms", fault.a, fault.b,
                         ms);
    case FaultKind::Stops:
    case FaultKind::StopsLong:
      return fmt::format("rank {} stops at {:.3f} ms for {:.3f} ms", fault.a, ms,
                         static_cast<double>(fault.time.count()) / 1e6);
  }
  return {};
}

std::string words_of(const JobDraw& job) {
  std::string words = fmt::format(
      "{} ranks of {}, schedules {}, segments of {} bytes, {} calls, {} at a time, timeout {} ms{}",
      job.ranks, job.network, fmt::join(job.algorithms, " "), job.segment_bytes, job.calls.size(),
      job.under_way, job.timeout.count(),
      job.adapts    ? ", adapting"
      : job.streams ? ", over streams"
                    : "");
  for (const CallDraw& call : job.calls) {
    words += fmt::format("\n  {} of {} {}, {}, on the wire {}{}", to_string(call.collective),
                         call.count, to_string(call.type), to_string(call.op), to_string(call.wire),
                         call.in_place ? ", in place" : "");
  }
  for (const Fault& fault : job.faults) words += "\n  " + words_of(fault);
  return words;
}

}  // namespace multitree::runtime::world
