// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Output and small parsers shared by the commands.
#include "tools/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "algorithms/collective.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/written_out.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"
#include "topologies/notes.hpp"
#include "topologies/words.hpp"

namespace multitree::tools {

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::Unsupported:
      return kUsage;
    case ErrorCode::InvalidInput:
    case ErrorCode::Io:
      return kInput;
    default:
      return kTransport;
  }
}

CLI::Validator one_of(std::vector<std::string> names) {
  const std::string listed = fmt::format("{}", fmt::join(names, ","));
  const auto check = [names = std::move(names)](std::string& text) {
    const std::vector<std::string_view> known(names.begin(), names.end());
    if (const auto name = meant(text, known)) return text = *name, std::string();
    return fmt::format("expected {}{}, got '{}'{}", names.size() > 1 ? "one of " : "",
                       fmt::join(names, ", "), text, did_you_mean(text, known));
  };
  return {check, "{" + listed + "}", "one_of"};
}

void add_format_argument(CLI::App& app, std::string& format, const std::vector<FormatRow>& rows) {
  std::vector<std::string> names;
  std::vector<std::string> words;
  for (const FormatRow& row : rows) {
    names.emplace_back(row.name);
    words.push_back(fmt::format("{}: {}", row.name, row.summary));
  }
  // A line each: usage_error() prints them where no format is given.
  app.add_option("format", format, fmt::format("{}", fmt::join(words, "\n")))
      ->required()
      ->check(one_of(std::move(names)));
}

std::string check_seconds(const std::string& text) {
  double seconds = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seconds);
  if (error == std::errc{} && rest == end && seconds >= 0.001 && seconds <= 1e6) return {};
  return fmt::format("expected seconds from 0.001 to 1000000, got '{}'", text);
}

CLI::Validator number_from(std::uint64_t least, std::uint64_t most) {
  const auto check = [least, most](const std::string& text) {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc{} && rest == end && value >= least && value <= most) {
      return std::string();
    }
    return fmt::format("expected a number from {} to {}, got '{}'", least, most, text);
  };
  return {check, "", "number_from"};
}

std::vector<CLI::Option*> add_change_flags(CLI::App& app, NetworkChanges& changes,
                                           bool with_ranks) {
  std::vector<CLI::Option*> options = {
      app.add_option("--without", changes.without,
                     "Dead links: A-B,A>B,... (node names or ranks; A-B:1: one of parallel links)"),
      app.add_option("--dead", changes.dead,
                     "Dead ranks or switches: A,B,... (3 is the node named 3 if there is one, else "
                     "rank 3)"),
      app.add_option("--slow", changes.slow,
                     "Slow links: A-B:0.5,A>B:4GB/s,... and all links of a node: A:0.25"),
      app.add_option("--parallel", changes.parallel,
                     "Parallel links: A-B:COUNT,... between two nodes, COUNT between all"),
      app.add_option("--switches", changes.switches,
                     "What switches do: add,copy, COUNT at once; NODE:add,... of one")};
  if (with_ranks) {
    options.push_back(app.add_option(
        "--ranks", changes.ranks,
        "Only these take part, the others forward: 0-15,32, 0-30:2, or names of nodes (a number is "
        "a rank)"));
  }
  return options;
}

CLI::Option* add_network_flags(CLI::App& app, NetworkFlags& flags) {
  CLI::Option* topology = app.add_option(
      "-t,--topology", flags.topology,
      "Spec ('multitree list topologies') or file (" + topology_extensions(false) + ")");
  for (CLI::Option* change : add_change_flags(app, flags.changes)) change->needs(topology);
  return topology;
}

namespace {

/// Of the ranks of a job one speaks: number 0, or the process that started them all here.
bool another_speaks() {
  if (std::getenv("MULTITREE_COORDINATOR") != nullptr) return true;
  for (const char* variable : {"MULTITREE_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"}) {
    const char* rank = std::getenv(variable);
    if (rank != nullptr) return std::string_view(rank) != "0";
  }
  return false;
}

/// Makes a network, and says on standard error what was taken for granted in it; also if it fails.
template <class Make>
Topology with_notes(std::string_view prefix, const Make& make) {
  const Notes notes;
  const auto tell = [&] {
    if (another_speaks()) return;
    for (const std::string& note : notes.all()) {
      print_error(fmt::format("note: {}{}\n", prefix, one_line(note)));
    }
  };
  try {
    Topology topology = make();
    tell();
    return topology;
  } catch (const Error&) {
    tell();
    throw;
  }
}

}  // namespace

Topology load_with_notes(const std::string& spec_or_file) {
  return with_notes("", [&] { return load_topology(spec_or_file); });
}

Topology load_network(const NetworkFlags& flags) {
  if (flags.topology.empty()) {
    throw Error(ErrorCode::InvalidArgument, "expected --topology, got none");
  }
  const Topology topology = for_flag("--topology", [&] { return load_with_notes(flags.topology); });
  return change_by_flags(topology, flags.changes);
}

Topology whole_network(Topology topology) {
  for_flag("--topology", [&] { check_written_out(topology); });
  return topology;
}

Topology load_whole_network(const NetworkFlags& flags) {
  return whole_network(load_network(flags));
}

Topology change_by_flags(const Topology& topology, const NetworkChanges& changes) {
  try {
    return with_notes("--", [&] { return change_network(topology, changes); });
  } catch (const Error& error) {
    // Its messages start with the option.
    throw Error(error.code(), fmt::format("--{}", error.what()));
  }
}

std::string collective_names() {
  const auto all = all_collectives();
  std::vector<std::string_view> names;
  for (const Collective collective : all.first(all.size() - 1)) {
    names.push_back(to_string(collective));
  }
  return fmt::format("{} or {}", fmt::join(names, ", "), to_string(all.back()));
}

void check_along_trees(Collective collective, std::string_view flag) {
  if (collective != Collective::AllToAll) return;
  throw Error(ErrorCode::Unsupported,
              fmt::format("{}: expected {}, got alltoall", flag, collective_names()));
}

Rank check_root(std::uint32_t root, const Topology& topology) {
  if (root < topology.num_ranks()) return Rank{root};
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("--root: expected a rank of {}, below {}, got {}", topology.name(),
                          topology.num_ranks(), root));
}

SchedulePlan load_schedule(const std::string& path) {
  // `run` hands standard input on to its processes as a descriptor.
  const bool standard = path == "-" || path.starts_with("/proc/self/fd/");
  return parse_schedule_json(read_file(path), standard ? "standard input" : path);
}

PlanFile load_plan(const std::string& path) {
  const bool standard = path == "-" || path.starts_with("/proc/self/fd/");
  return parse_plan_json(read_file(path), standard ? "standard input" : path);
}

void print(std::string_view text) { write_file("-", text); }

void print_error(std::string_view text) { fmt::print(stderr, "{}", text); }

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    line += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return line;
}

void print_json(const nlohmann::ordered_json& value) { print(value.dump(2) + "\n"); }

void write_network(const Topology& topology, const std::string& output, const std::string& format) {
  const std::string name = format.empty() && output == "-" ? "json" : format;
  const std::string extension = std::filesystem::path(output).extension();
  for (const TopologyFormat& known : topology_formats()) {
    const bool wanted = name.empty() ? known.extension == extension : known.name == name;
    if (wanted && known.write != nullptr) {
      return write_file(output, for_flag("--output", [&] { return known.write(topology); }));
    }
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("--output: expected a file ending in {}, or --format, got '{}'",
                          topology_extensions(true), output));
}

CLI::Validator network_formats() {
  std::vector<std::string> names;
  for (const TopologyFormat& format : topology_formats()) {
    const bool known = std::ranges::find(names, format.name) != names.end();
    if (format.write != nullptr && !known) names.emplace_back(format.name);
  }
  return one_of(std::move(names));
}

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string to_text(Rational value) {
  return value.denominator() == 1 ? fmt::format("{}", value.numerator())
                                  : fmt::format("{}/{}", value.numerator(), value.denominator());
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::vector<std::string> split_list(std::string_view text) {
  const auto trimmed = [](std::string_view item) {
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    return item;
  };
  std::vector<std::string> items;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    items.emplace_back(trimmed(text.substr(begin, end - begin)));
    if (items.back().empty()) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("expected a comma-separated list, got '{}'", text));
    }
    if (end == text.size()) return items;
    begin = end + 1;
  }
}

std::vector<std::string> algorithm_list(std::string_view text, const Topology& topology,
                                        const std::vector<std::string_view>& besides) {
  std::vector<std::string> list;
  if (text == "all") {
    for (const Algorithm& algorithm : algorithms()) {
      const bool chooses = algorithm.name == "auto";
      if (!chooses && !algorithm.unsupported(topology)) list.emplace_back(algorithm.name);
    }
    return list;
  }
  std::vector<std::string_view> words = names_of(algorithms());
  words.insert(words.end(), besides.begin(), besides.end());
  list = for_flag("--algorithm", [&] { return split_list(text); });
  for (std::string& name : list) {
    if (const auto known = meant(name, words)) name = *known;
  }
  return list;
}

}  // namespace multitree::tools
