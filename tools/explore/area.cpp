// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums of records. An interface is that of a network size, and what each option changes of the one
/// for 64 ranks; a router is found by its virtual channels, and between two depths of its buffers.
#include "tools/explore/area.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <stdexcept>

#include "generated/mt_pkg.hpp"

namespace multitree::embedded {
extern const std::string_view hardware_budget;
}

namespace multitree::tools {
namespace {

constexpr std::string_view kBase = "ni64";

/// What no record covers.
struct NoRecord {
  std::string what;
};

/// An option of the interface that was synthesized alone: `kBase` with it.
struct Option {
  std::string_view name;  ///< of the record, behind `kBase` and a dot
  bool (*has)(const AreaQuestion& question);
};
using Issue = nic::Issue;
constexpr Option kOptions[] = {
    {"no-lockstep", [](const auto& q) { return q.parameters.issue == Issue::Dependency; }},
    {"packets",
     [](const auto& q) { return q.parameters.flow_control == nic::FlowControl::Packet; }},
    {"exchange", [](const auto& q) { return q.exchanges; }},
    {"long-routes", [](const auto& q) { return q.parameters.header_flits == 2; }},
    {"vc1", [](const auto& q) { return q.parameters.virtual_channels == 1; }},
    {"vc2", [](const auto& q) { return q.parameters.virtual_channels == 2; }},
    {"slots2", [](const auto& q) { return q.parameters.park_slots == 2; }},
    {"slots8", [](const auto& q) { return q.parameters.park_slots == 8; }},
    {"slots16", [](const auto& q) { return q.parameters.park_slots == 16; }},
    {"slots32", [](const auto& q) { return q.parameters.park_slots == 32; }},
    {"latency3", [](const auto& q) { return q.parameters.reduction_cycles == 3; }},
};

/// Numbers that have to be one of those that were synthesized.
struct Covered {
  std::string_view name;
  std::uint32_t nic::Parameters::*member;
  std::vector<std::uint32_t> values;
};
std::span<const Covered> covered() {
  using nic::Parameters;
  static const Covered kCovered[] = {
      {"flit_bytes", &Parameters::flit_bytes, {mt_pkg::kDataW / 8}},
      {"virtual_channels", &Parameters::virtual_channels, {1, 2, 4}},
      {"park_slots", &Parameters::park_slots, {2, 4, 8, 16, 32}},
      {"reduction_cycles", &Parameters::reduction_cycles, {2, 3}},
      {"send_words", &Parameters::send_words, {mt_pkg::kSendWords}},
      {"add_words", &Parameters::add_words, {mt_pkg::kAddWords}},
      {"header_flits", &Parameters::header_flits, {1, 2}},
      {"port_queue_packets", &Parameters::port_queue_packets, {0}},
      {"ejection_channels", &Parameters::ejection_channels, {0, 1}},
  };
  return kCovered;
}

/// The sum that is being made, and of what.
class Sum {
 public:
  explicit Sum(const AreaRecords& records) : records_(records) {}

  [[nodiscard]] const GateCount& record(std::string_view name) const {
    const auto found = records_.find(name);
    if (found == records_.end()) throw NoRecord{fmt::format("there is no record {}", name)};
    return found->second;
  }
  void add(std::string_view name, double times = 1) {
    const GateCount& row = record(name);
    total_.cells += times * row.cells;
    total_.memory_bits += times * row.memory_bits;
  }
  /// What `name` has more than the base.
  void add_option(std::string_view name) {
    add(name);
    add(kBase, -1);
    kind_ = std::max(kind_, AreaKind::Sum);
    sources_.push_back(fmt::format("({} - {})", name, kBase));
  }
  /// A row between two others, by the logarithm of what differs.
  void add_between(std::string_view low, double low_at, std::string_view high, double high_at,
                   double at) {
    const double share = std::log2(at / low_at) / std::log2(high_at / low_at);
    add(low, 1 - share);
    add(high, share);
    kind_ = AreaKind::Interpolated;
    sources_.push_back(fmt::format("{}..{}", low, high));
  }
  void add_source(std::string source) { sources_.push_back(std::move(source)); }
  void is_sum() { kind_ = std::max(kind_, AreaKind::Sum); }
  /// Memory that is not between two records but known.
  void set_memory(double bits) { total_.memory_bits = bits; }
  [[nodiscard]] const GateCount& total() const { return total_; }

  [[nodiscard]] Area area() const {
    return {.kind = kind_,
            .cells = static_cast<std::uint64_t>(std::llround(total_.cells)),
            .memory_bits = static_cast<std::uint64_t>(std::llround(total_.memory_bits)),
            .source = fmt::format("{}", fmt::join(sources_, " + "))};
  }

 private:
  const AreaRecords& records_;
  GateCount total_;
  AreaKind kind_ = AreaKind::Record;
  std::vector<std::string> sources_;
};

void check_covered(const AreaQuestion& q) {
  if (!q.is_hardware) throw NoRecord{"machine: ideal interfaces are no hardware"};
  if (q.has_switches) throw NoRecord{"topology: switches between ranks are not counted"};
  if (q.parameters.reduction != nic::Reduction::Pipelined || !q.parameters.shared_inputs) {
    throw NoRecord{"reduction, shared_inputs: the hardware has pipelined sums and shared inputs"};
  }
  for (const Covered& row : covered()) {
    const std::uint32_t value = q.parameters.*row.member;
    if (std::ranges::find(row.values, value) != row.values.end()) continue;
    throw NoRecord{
        fmt::format("{}: records have {}, got {}", row.name, fmt::join(row.values, ", "), value)};
  }
  if (q.ports != mt_pkg::kNumPorts || q.links != mt_pkg::kNumPorts) {
    throw NoRecord{
        fmt::format("ports: records have ranks of {0} links and {0} interface ports, got "
                    "{1} and {2}",
                    mt_pkg::kNumPorts, q.links, q.ports)};
  }
}

/// The interface of a network of that size, as it is without options.
void add_base(const AreaQuestion& q, Sum& sum) {
  constexpr std::uint32_t kSizes[] = {16, 64, 256};
  const auto* const above = std::ranges::lower_bound(kSizes, q.ranks);
  const auto name = [](std::uint32_t ranks) { return fmt::format("ni{}", ranks); };
  if (above == std::end(kSizes) || (above == kSizes && *above != q.ranks)) {
    throw NoRecord{fmt::format("topology: records have 16 to 256 ranks, got {}", q.ranks)};
  }
  if (*above != q.ranks) {
    const std::uint32_t below = *(above - 1);
    sum.add_between(name(below), below, name(*above), *above, q.ranks);
    return;
  }
  sum.add(name(q.ranks));
  sum.add_source(name(q.ranks));
}

/// Adders of all units, in place of units that only copy.
void add_adders(const AreaQuestion& q, Sum& sum) {
  const std::uint32_t cycles = q.parameters.reduction_cycles;
  const bool is_shared = q.parameters.ports_per_unit == 2;
  const bool is_recorded = q.adders == "fp32" && cycles == 2;
  // What is shared was synthesized with adders of fp32, and with the multiplexers between ports.
  if (is_shared) sum.add_option(fmt::format("{}.shared", kBase));
  if (is_recorded && !is_shared) sum.add_option(fmt::format("{}.fp32", kBase));
  if (is_recorded || (q.adders == "none" && !is_shared)) return;
  const double units = static_cast<double>(mt_pkg::kNumPorts) / q.parameters.ports_per_unit;
  const auto add_unit = [&](std::string_view types, std::uint32_t latency, double times) {
    std::string name = fmt::format("unit.{}.latency{}", types, latency);
    sum.add(name, times * units);
    return name;
  };
  const std::string with = add_unit(q.adders, cycles, 1), copies = add_unit("none", cycles, -1);
  if (is_shared) {
    add_unit("fp32", 2, -1);
    add_unit("none", 2, 1);
  }
  sum.is_sum();
  sum.add_source(fmt::format("{} ({} - {})", units, with, copies));
}

void add_interface(const AreaQuestion& q, Sum& sum) {
  // One option alone of an interface for 64 ranks was synthesized as it is.
  std::vector<std::string> options;
  for (const Option& option : kOptions) {
    if (option.has(q)) options.push_back(fmt::format("{}.{}", kBase, option.name));
  }
  const bool copies = q.adders == "none" && q.parameters.ports_per_unit == 1;
  const bool is_plain_fp32 = q.adders == "fp32" && q.parameters.reduction_cycles == 2;
  std::string alone;
  if (q.ranks == 64 && copies && options.size() == 1) alone = options.front();
  if (q.ranks == 64 && is_plain_fp32 && options.empty()) {
    alone = fmt::format("{}.{}", kBase, q.parameters.ports_per_unit == 2 ? "shared" : "fp32");
  }
  if (!alone.empty()) {
    sum.add(alone);
    sum.add_source(alone);
    return;
  }
  add_base(q, sum);
  for (const std::string& option : options) sum.add_option(option);
  add_adders(q, sum);
}

/// The depths that routers with these ports and channels were synthesized with, ascending.
std::vector<std::uint32_t> depths_of(const AreaRecords& records, const std::string& begin) {
  std::vector<std::uint32_t> depths;
  for (const auto& [name, row] : records) {
    std::uint32_t depth = 0;
    if (!name.starts_with(begin)) continue;
    const char* const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + begin.size(), end, depth);
    if (error == std::errc{} && rest == end) depths.push_back(depth);
  }
  std::ranges::sort(depths);
  return depths;
}

void add_router(const AreaQuestion& q, const AreaRecords& records, Sum& sum) {
  const std::string begin =
      fmt::format("router{}.vc{}.depth", q.links + q.ports, q.parameters.virtual_channels);
  const std::vector<std::uint32_t> depths = depths_of(records, begin);
  const std::uint32_t depth = q.parameters.buffer_flits;
  const auto above = std::ranges::lower_bound(depths, depth);
  if (above == depths.end() || (above == depths.begin() && *above != depth)) {
    throw NoRecord{fmt::format(
        "buffer_flits: records of {}* have {}, got {}", begin,
        depths.empty() ? "nothing" : fmt::format("{} to {}", depths.front(), depths.back()),
        depth)};
  }
  if (*above == depth) {
    sum.add(fmt::format("{}{}", begin, depth));
    sum.add_source(fmt::format("{}{}", begin, depth));
    return;
  }
  // Cells grow with the width of addresses, memories with the places.
  const double below = *(above - 1);
  const std::string low = fmt::format("{}{}", begin, *(above - 1));
  const std::string high = fmt::format("{}{}", begin, *above);
  const double before = sum.total().memory_bits;
  sum.add_between(low, below, high, *above, depth);
  const double low_bits = sum.record(low).memory_bits, high_bits = sum.record(high).memory_bits;
  sum.set_memory(before + low_bits + (high_bits - low_bits) * (depth - below) / (*above - below));
}

}  // namespace

AreaRecords parse_area_records(std::string_view csv) {
  AreaRecords records;
  std::vector<std::string> columns;
  for (std::size_t begin = 0; begin < csv.size();) {
    const std::size_t end = std::min(csv.find('\n', begin), csv.size());
    std::vector<std::string> cells;
    for (std::size_t at = begin; at <= end;) {
      const std::size_t comma = std::min(csv.find(',', at), end);
      cells.emplace_back(csv.substr(at, comma - at));
      at = comma + 1;
    }
    begin = end + 1;
    if (columns.empty()) {
      columns = cells;
      continue;
    }
    const auto cell = [&](std::string_view name) -> const std::string& {
      const auto column = std::ranges::find(columns, name);
      const auto at = static_cast<std::size_t>(column - columns.begin());
      if (at >= cells.size()) throw std::logic_error("records of synthesis: a column is missing");
      return cells[at];
    };
    if (cell("cells").empty() || cell("memory_bits").empty()) continue;
    records[cell("name")] = {std::stod(cell("cells")), std::stod(cell("memory_bits"))};
  }
  return records;
}

const AreaRecords& area_records() {
  static const AreaRecords kRecords = parse_area_records(embedded::hardware_budget);
  return kRecords;
}

std::vector<std::string> adder_names() {
  constexpr std::string_view kBegin = "unit.", kEnd = ".latency2";
  std::vector<std::string> names;
  for (const auto& [name, row] : area_records()) {
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) continue;
    names.push_back(name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size()));
  }
  return names;
}

std::string_view to_string(AreaKind kind) {
  constexpr std::string_view kNames[] = {"unknown", "record", "sum", "interpolated"};
  return kNames[static_cast<std::size_t>(kind)];
}

Area area_of(const AreaQuestion& question, const AreaRecords& records) {
  try {
    check_covered(question);
    Sum sum(records);
    add_interface(question, sum);
    add_router(question, records, sum);
    return sum.area();
  } catch (const NoRecord& none) {
    return {.kind = AreaKind::Unknown, .source = none.what};
  }
}

}  // namespace multitree::tools
