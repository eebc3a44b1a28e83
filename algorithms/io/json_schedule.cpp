// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Native schedule files: docs/file-formats.md.
#include <fmt/format.h>

#include <array>
#include <iterator>
#include <limits>

#include "algorithms/io/io.hpp"
#include "algorithms/io/json_certificate_internal.hpp"
#include "topologies/error.hpp"
#include "topologies/io/io.hpp"
#include "topologies/io/json_document.hpp"
#include "topologies/spec.hpp"

namespace multitree {
namespace {

constexpr std::string_view kSchema = "multitree/schedule/1";
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
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

/// Reads arrays of small numbers; error paths are built only when needed.
class RowReader {
 public:
  RowReader(const JsonDocument& document, json::json_pointer path)
      : document_(document), path_(std::move(path)) {}

  [[noreturn]] void fail(std::size_t row, const std::string& what) const {
    document_.fail(path_ / row, what);
  }
  void check_row(const json& row, std::size_t i, std::size_t least_size, std::size_t most_size,
                 std::string_view form) const {
    if (row.is_array() && row.size() >= least_size && row.size() <= most_size) return;
    fail(i, fmt::format("expected {}, got {}", form, text_of(row)));
  }
  std::uint32_t number(const json& row, std::size_t i, std::size_t column, std::string_view what,
                       std::uint32_t below) const {
    const json& value = row[column];
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= below) {
      document_.fail(path_ / i / column,
                     fmt::format("expected {} below {}, got {}", what, below, text_of(value)));
    }
    return value.get<std::uint32_t>();
  }

 private:
  const JsonDocument& document_;
  json::json_pointer path_;
};

void read_chunks(const JsonDocument& document, const JsonValue& value, Schedule& schedule) {
  const std::size_t count = value.size();
  const RowReader reader(document, json::json_pointer("/chunks"));
  schedule.chunks.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const json& row = value.json()[i];
    reader.check_row(row, i, 3, 3, "a chunk [owner, tree, weight]");
    constexpr auto kAny = std::numeric_limits<std::uint32_t>::max();
    const Chunk chunk{Rank{reader.number(row, i, 0, "an owner", schedule.ranks)},
                      reader.number(row, i, 1, "a tree", kAny),
                      reader.number(row, i, 2, "a weight", kAny)};
    if (chunk.weight == 0) reader.fail(i, "expected a weight of at least 1, got 0");
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

void read_steps(const JsonDocument& document, const JsonValue& steps, std::uint32_t num_links,
                Schedule& schedule) {
  if (steps.size() > kMaxSteps) steps.fail(fmt::format("expected at most {} steps", kMaxSteps));
  for (std::uint32_t step = 0; step < steps.size(); ++step) {
    const JsonValue entry = steps.at(step);
    entry.check_keys({"reduce", "copy"});
    for (const Op op : {Op::Reduce, Op::Copy}) {
      const std::string key(key_of(op));
      if (!entry.has(key)) continue;
      if (entry.at(key).size() == 0) continue;  // size() reports what is no array
      const RowReader reader(document, json::json_pointer("/steps") / step / key);
      read_transfers(reader, entry.json()[key], step, op, num_links, schedule);
    }
  }
}

}  // namespace

std::string write_schedule_json(const Schedule& schedule, const Topology& topology,
                                const Certificate* certificate) {
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  std::string network = write_topology_json(topology);
  while (!network.empty() && network.back() == '\n') network.pop_back();
  fmt::format_to(to, "{{\n\"schema\":\"{}\",\n\"collective\":\"{}\",\n\"algorithm\":{},\n", kSchema,
                 to_string(schedule.collective), json(schedule.algorithm).dump());
  fmt::format_to(to, "\"root\":{},\n\"ranks\":{},\n\"topology\":{},\n", index(schedule.root),
                 schedule.ranks, network);
  if (certificate != nullptr) {
    fmt::format_to(to, "\"certificate\":{},\n", certificate_object(*certificate));
  }
  fmt::format_to(to, "\"chunks\":[");
  for (std::size_t c = 0; c < schedule.chunks.size(); ++c) {
    const Chunk& chunk = schedule.chunks[c];
    fmt::format_to(to, "{}[{},{},{}]", c == 0 ? "\n" : ",\n", index(chunk.owner), chunk.tree,
                   chunk.weight);
  }
  fmt::format_to(to, "],\n\"steps\":[");
  write_steps(schedule, out);
  fmt::format_to(to, "]\n}}\n");
  return fmt::to_string(out);
}

SchedulePlan parse_schedule_json(std::string_view text, const std::string& file) {
  const JsonDocument document(text, file);
  const JsonValue root(document);
  const JsonValue schema = root.at("schema");
  if (schema.string() != kSchema) {
    schema.fail(fmt::format("expected the schema '{}', got '{}'", kSchema, schema.string()));
  }
  root.check_keys({"schema", "collective", "algorithm", "root", "ranks", "topology", "certificate",
                   "chunks", "steps"});
  SchedulePlan plan{parse_topology(root.at("topology")), {}};
  Schedule& schedule = plan.schedule;
  schedule.collective = parse_collective(root.at("collective"));
  schedule.algorithm = root.at("algorithm").string();
  const std::uint32_t ranks = plan.topology.num_ranks();
  schedule.ranks = static_cast<std::uint32_t>(root.at("ranks").integer(1, Spec::kMaxRanks));
  if (schedule.ranks != ranks) {
    root.at("ranks").fail(
        fmt::format("expected the topology's {} ranks, got {}", ranks, schedule.ranks));
  }
  schedule.root = Rank{static_cast<std::uint32_t>(root.at("root").integer(0, ranks - 1))};
  if (root.has("certificate")) {
    plan.certificate = parse_certificate(root.at("certificate"), plan.topology);
  }
  read_chunks(document, root.at("chunks"), schedule);
  read_steps(document, root.at("steps"), plan.topology.num_links(), schedule);
  schedule.canonicalize();
  return plan;
}

}  // namespace multitree
