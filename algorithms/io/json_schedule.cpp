// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Native schedule files: docs/file-formats.md.
#include <fmt/format.h>

#include <array>
#include <iterator>
#include <limits>

#include "algorithms/io/io.hpp"
#include "algorithms/io/json_certificate_internal.hpp"
#include "algorithms/schemas.hpp"
#include "topologies/error.hpp"
#include "topologies/io/io.hpp"
#include "topologies/io/json_document.hpp"
#include "topologies/spec.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kMaxSteps = 1U << 28;
using nlohmann::json;

std::string_view key_of(Op op) { return op == Op::Reduce ? "reduce" : "copy"; }

/// The rows of one step and op: transfers [begin, end) of the schedule.
void write_rows(const Schedule& schedule, std::size_t begin, std::size_t end,
                fmt::memory_buffer& out) {
  for (std::size_t i = begin; i < end; ++i) {
    const Transfer& t = schedule.transfers[i];
    fmt::format_to(std::back_inserter(out), "{}[{},{},{}", i == begin ? "\n" : ",\n", t.chunk,
                   index(t.src), index(t.dst));
    for (const LinkId id : schedule.route(t)) {
      fmt::format_to(std::back_inserter(out), ",{}", index(id));
    }
    out.push_back(']');
  }
}

void write_steps(const Schedule& schedule, fmt::memory_buffer& out) {
  const auto& transfers = schedule.transfers;
  const std::uint32_t steps = schedule.num_steps();
  std::size_t i = 0;
  for (std::uint32_t step = 0; step < steps; ++step) {
    fmt::format_to(std::back_inserter(out), "{}{{", step == 0 ? "\n" : ",\n");
    const std::size_t step_begin = i;
    while (i < transfers.size() && transfers[i].step == step) {
      const std::size_t begin = i;
      while (i < transfers.size() && transfers[i].step == step &&
             transfers[i].op == transfers[begin].op) {
        ++i;
      }
      fmt::format_to(std::back_inserter(out), "{}\"{}\":[", begin == step_begin ? "" : ",",
                     key_of(transfers[begin].op));
      write_rows(schedule, begin, i, out);
      fmt::format_to(std::back_inserter(out), "]");
    }
    out.push_back('}');
  }
}

/// For messages: JSON, cut short.
std::string text_of(const json& value) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= 60 ? text : fmt::format("{:.57}...", text);
}

/// Reads arrays of small numbers; places of errors are looked for only when needed.
class RowReader {
 public:
  explicit RowReader(const JsonValue& rows) : rows_(rows) {}

  [[noreturn]] void fail(std::size_t row, const std::string& what) const {
    rows_.at(row).fail(what);
  }
  void check_row(const json& row, std::size_t i, std::size_t least_size, std::size_t most_size,
                 std::string_view form) const {
    if (row.is_array() && row.size() >= least_size && row.size() <= most_size) return;
    fail(i, fmt::format("expected {}, got {}", form, text_of(row)));
  }
  std::uint64_t wide_number(const json& row, std::size_t i, std::size_t column,
                            std::string_view what, std::uint64_t below) const {
    const json& value = row[column];
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= below) {
      rows_.at(i).at(column).fail(
          fmt::format("expected {} below {}, got {}", what, below, text_of(value)));
    }
    return value.get<std::uint64_t>();
  }
  std::uint32_t number(const json& row, std::size_t i, std::size_t column, std::string_view what,
                       std::uint32_t below) const {
    return static_cast<std::uint32_t>(wide_number(row, i, column, what, below));
  }

 private:
  JsonValue rows_;
};

/// A file names one rank for each chunk: the one whose shard it is part of, or where there are no
/// shards the root of its tree.
Rank owner_of(const Schedule& schedule, const Chunk& chunk) {
  return is_sharded(schedule.collective) ? shard_of(schedule.collective, chunk) : chunk.root();
}

/// Whether the other end of a chunk is a rank that the file has to name.
bool names_target(Collective collective) {
  return facts(collective).start == Holder::Own && facts(collective).end == Holder::Own;
}

/// The chunk that owner_of() is said of. The other end is then the root, where there is one.
Chunk owned_chunk(const Schedule& schedule, Rank owner, std::uint32_t tree, std::uint64_t weight) {
  Chunk chunk = Chunk::rooted(owner, tree, weight);
  if (!is_sharded(schedule.collective)) return chunk;
  if (facts(schedule.collective).start == Holder::Root) chunk.source = schedule.root;
  if (facts(schedule.collective).end == Holder::Root) chunk.target = schedule.root;
  return chunk;
}

void read_chunks(const JsonValue& value, Schedule& schedule) {
  const std::size_t count = value.size();
  const RowReader reader(value);
  schedule.chunks.reserve(count);
  std::uint64_t weights = 0;
  const bool targets = names_target(schedule.collective);
  const std::size_t columns = targets ? 4 : 3;
  for (std::size_t i = 0; i < count; ++i) {
    const json& row = value.json()[i];
    reader.check_row(
        row, i, columns, columns,
        targets ? "a chunk [owner, tree, weight, target]" : "a chunk [owner, tree, weight]");
    constexpr auto kAny = std::numeric_limits<std::uint32_t>::max();
    const Rank owner{reader.number(row, i, 0, "an owner", schedule.ranks)};
    const std::uint32_t tree = reader.number(row, i, 1, "a tree", kAny);
    Chunk chunk =
        owned_chunk(schedule, owner, tree, reader.wide_number(row, i, 2, "a weight", kMaxWeights));
    if (targets) chunk.target = Rank{reader.number(row, i, 3, "a target", schedule.ranks)};
    if (chunk.weight == 0) reader.fail(i, "expected a weight of at least 1, got 0");
    if (chunk.weight > kMaxWeights - weights) {
      reader.fail(i, fmt::format("expected weights that add up to at most {}, got {} more than {}",
                                 kMaxWeights, chunk.weight, weights));
    }
    weights += chunk.weight;
    schedule.chunks.push_back(chunk);
  }
}

void read_transfers(const RowReader& reader, const json& rows, std::uint32_t step, Op op,
                    std::uint32_t num_links, Schedule& schedule) {
  const auto chunks = static_cast<std::uint32_t>(schedule.chunks.size());
  std::vector<LinkId> route;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const json& row = rows[i];
    reader.check_row(row, i, 4, SIZE_MAX, "a transfer [chunk, src, dst, link, ...]");
    route.clear();
    for (std::size_t column = 3; column < row.size(); ++column) {
      route.push_back(LinkId{reader.number(row, i, column, "a link", num_links)});
    }
    schedule.add(step, op, reader.number(row, i, 0, "a chunk", chunks),
                 Rank{reader.number(row, i, 1, "a rank", schedule.ranks)},
                 Rank{reader.number(row, i, 2, "a rank", schedule.ranks)}, route);
  }
}

void read_steps(const JsonValue& steps, std::uint32_t num_links, Schedule& schedule) {
  if (steps.size() > kMaxSteps) steps.fail(fmt::format("expected at most {} steps", kMaxSteps));
  for (std::uint32_t step = 0; step < steps.size(); ++step) {
    const JsonValue entry = steps.at(step);
    entry.check_keys({"reduce", "copy"});
    for (const Op op : {Op::Reduce, Op::Copy}) {
      const std::string key(key_of(op));
      if (!entry.has(key)) continue;
      if (entry.at(key).size() == 0) continue;  // size() reports what is no array
      read_transfers(RowReader(entry.at(key)), entry.json()[key], step, op, num_links, schedule);
    }
  }
}

/// What a schedule is and does, from "in_network" and "chunks" on.
void write_body(const Schedule& schedule, fmt::memory_buffer& out) {
  const auto to = std::back_inserter(out);
  if (schedule.in_network) fmt::format_to(to, "\"in_network\":true,\n");
  if (schedule.coalesces > 0) {
    fmt::format_to(to, "\"coalesces\":{},\n", schedule.coalesces);
  }
  fmt::format_to(to, "\"chunks\":[");
  for (std::size_t c = 0; c < schedule.chunks.size(); ++c) {
    const Chunk& chunk = schedule.chunks[c];
    fmt::format_to(to, "{}[{},{},{}", c == 0 ? "\n" : ",\n", index(owner_of(schedule, chunk)),
                   chunk.tree, chunk.weight);
    if (names_target(schedule.collective)) fmt::format_to(to, ",{}", index(chunk.target));
    out.push_back(']');
  }
  fmt::format_to(to, "],\n\"steps\":[");
  write_steps(schedule, out);
  fmt::format_to(to, "]\n}}");
}

std::string network_object(const Topology& topology) {
  std::string network = write_topology_json(topology);
  while (!network.empty() && network.back() == '\n') network.pop_back();
  return network;
}

std::uint32_t read_ranks(const JsonValue& value, const Topology& topology) {
  const std::uint64_t ranks = value.integer(1, Spec::kMaxRanks);
  if (ranks != topology.num_ranks()) {
    value.fail(
        fmt::format("expected the topology's {} ranks, got {}", topology.num_ranks(), ranks));
  }
  return topology.num_ranks();
}

/// Collective, algorithm, root, chunks and steps of a schedule on `topology`.
Schedule read_schedule(const JsonValue& value, const Topology& topology) {
  Schedule schedule;
  schedule.collective = parse_collective(value.at("collective"));
  schedule.algorithm = value.at("algorithm").string();
  schedule.ranks = topology.num_ranks();
  schedule.root = Rank{static_cast<std::uint32_t>(value.at("root").integer(0, schedule.ranks - 1))};
  if (value.has("in_network")) schedule.in_network = value.at("in_network").boolean();
  if (value.has("coalesces")) {
    schedule.coalesces = value.at("coalesces").integer(1, std::uint64_t{1} << 40);
  }
  read_chunks(value.at("chunks"), schedule);
  read_steps(value.at("steps"), topology.num_links(), schedule);
  schedule.canonicalize();
  return schedule;
}

SchedulePlan read_schedule_file(const JsonValue& root) {
  root.check_keys({"schema", "collective", "algorithm", "root", "ranks", "topology", "certificate",
                   "in_network", "coalesces", "chunks", "steps"});
  SchedulePlan plan{parse_topology(root.at("topology")), {}};
  read_ranks(root.at("ranks"), plan.topology);
  if (root.has("certificate")) {
    plan.certificate = parse_certificate(root.at("certificate"), plan.topology);
  }
  plan.schedule = read_schedule(root, plan.topology);
  return plan;
}

PlanFile read_plan_file(const JsonValue& root) {
  root.check_keys({"schema", "ranks", "topology", "certificate", "schedules"});
  PlanFile plan{parse_topology(root.at("topology")), {}};
  read_ranks(root.at("ranks"), plan.topology);
  if (root.has("certificate")) {
    plan.certificate = parse_certificate(root.at("certificate"), plan.topology);
  }
  const JsonValue list = root.at("schedules");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonValue entry = list.at(i);
    entry.check_keys({"max_bytes", "collective", "algorithm", "root", "in_network", "coalesces",
                      "chunks", "steps"});
    SizedSchedule sized{read_schedule(entry, plan.topology)};
    const JsonValue most = entry.at("max_bytes");
    if (!most.json().is_null()) {
      sized.max_bytes = most.integer(0, std::numeric_limits<std::uint64_t>::max());
    }
    plan.schedules.push_back(std::move(sized));
  }
  try {
    check_sized(plan.schedules);
  } catch (const Error& error) {
    list.fail(error.what());
  }
  return plan;
}

}  // namespace

std::string write_schedule_json(const Schedule& schedule, const Topology& topology,
                                const Certificate* certificate) {
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "{{\n\"schema\":\"{}\",\n\"collective\":\"{}\",\n\"algorithm\":{},\n",
                 kScheduleSchema.name, to_string(schedule.collective),
                 json(schedule.algorithm).dump());
  fmt::format_to(to, "\"root\":{},\n\"ranks\":{},\n\"topology\":{},\n", index(schedule.root),
                 schedule.ranks, network_object(topology));
  if (certificate != nullptr) {
    fmt::format_to(to, "\"certificate\":{},\n", certificate_object(*certificate, topology));
  }
  write_body(schedule, out);
  out.push_back('\n');
  return fmt::to_string(out);
}

SchedulePlan parse_schedule_json(std::string_view text, const std::string& file) {
  const JsonDocument document(text, file);
  const JsonValue root(document);
  root.check_schema({kScheduleSchema.name});
  return read_schedule_file(root);
}

std::string write_plan_json(const SizedSchedules& schedules, const Topology& topology,
                            const Certificate* certificate) {
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "{{\n\"schema\":\"{}\",\n\"ranks\":{},\n\"topology\":{},\n", kPlanSchema.name,
                 topology.num_ranks(), network_object(topology));
  if (certificate != nullptr) {
    fmt::format_to(to, "\"certificate\":{},\n", certificate_object(*certificate, topology));
  }
  fmt::format_to(to, "\"schedules\":[");
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const auto& [schedule, max_bytes] = schedules[i];
    const bool last = max_bytes == std::numeric_limits<std::uint64_t>::max();
    fmt::format_to(to, "{}{{\n\"max_bytes\":{},\n", i == 0 ? "\n" : ",\n",
                   last ? "null" : fmt::format("{}", max_bytes));
    fmt::format_to(to, "\"collective\":\"{}\",\n\"algorithm\":{},\n\"root\":{},\n",
                   to_string(schedule.collective), json(schedule.algorithm).dump(),
                   index(schedule.root));
    write_body(schedule, out);
  }
  fmt::format_to(to, "]\n}}\n");
  return fmt::to_string(out);
}

PlanFile parse_plan_json(std::string_view text, const std::string& file) {
  const JsonDocument document(text, file);
  const JsonValue root(document);
  root.check_schema({kPlanSchema.name, kScheduleSchema.name});
  if (root.at("schema").string() == kPlanSchema.name) return read_plan_file(root);
  SchedulePlan plan = read_schedule_file(root);
  return {std::move(plan.topology), for_all_sizes(std::move(plan.schedule)),
          std::move(plan.certificate)};
}

}  // namespace multitree
