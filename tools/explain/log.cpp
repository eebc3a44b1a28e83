// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reads what benchmarks print: each format is a row of a table at the end.
#include "tools/explain/log.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "topologies/error.hpp"
#include "topologies/words.hpp"

namespace multitree::tools {
namespace {

/// A collective by any of its names: "all_reduce", "Allreduce", "Bcast".
std::optional<Collective> collective_named(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Collective collective : all_collectives()) names.push_back(to_string(collective));
  static constexpr auto kOthers = std::to_array<Alias>({{"bcast", "broadcast"},
                                                        {"all_gather_base", "allgather"},
                                                        {"reduce_scatter_base", "reduce-scatter"},
                                                        {"reduce_scatter_tensor", "reduce-scatter"},
                                                        {"all_gather_into_tensor", "allgather"}});
  const auto name = meant(word, names, kOthers);
  if (!name) return std::nullopt;
  return parse_collective(*name);
}

std::optional<double> number(const std::string& word) {
  double value = 0;
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

/// No log has more of either.
/// \{
constexpr double kMostBytes = 0x1p60;
constexpr std::uint64_t kMostRanks = 1U << 20;
/// \}
/// Lines of logs are shorter; longer ones are passed over, as regular expressions take stack for
/// each character.
constexpr std::size_t kLongestLine = 1024;

/// Of digits; empty if nobody has so many ranks.
std::optional<std::uint32_t> ranks_of(const std::string& digits) {
  const auto ranks = number(digits);
  if (!ranks || *ranks < 1 || *ranks > kMostRanks) return std::nullopt;
  return static_cast<std::uint32_t>(*ranks);
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    if (word != "|") words.push_back(word);
  }
  return words;
}

/// What is being read: runs so far, and what headers have said of the next.
class Reader {
 public:
  /// A header: times that follow belong to a run of their own.
  LoggedRun& begin(std::string program) {
    runs_.emplace_back();
    runs_.back().program = std::move(program);
    return runs_.back();
  }
  /// The run that a line of `program` belongs to, where no header came before.
  LoggedRun& run_of(const std::string& program) {
    return runs_.empty() ? begin(program) : runs_.back();
  }
  void add(LoggedRun& run, double bytes, double seconds) const {
    if (bytes >= 1 && bytes <= kMostBytes && seconds > 0 && std::isfinite(seconds)) {
      run.times.push_back({static_cast<std::uint64_t>(bytes), seconds});
    }
  }
  std::vector<LoggedRun> finish() {
    std::erase_if(runs_, [](const LoggedRun& run) { return run.times.empty(); });
    return std::move(runs_);
  }

 private:
  std::vector<LoggedRun> runs_;
};

/// "all_reduce_perf", wherever a log of nccl-tests names its program.
void read_nccl_header(Reader& reader, const std::string& line) {
  static const std::regex program("([a-z_]+)_perf\\b");
  static const std::regex ours("^# ([a-z-]+) by (\\S+) on .*: (\\d+) ranks");
  static const std::regex rank("^# +Rank +(\\d+) ");
  std::smatch match;
  if (std::regex_search(line, match, ours)) {
    LoggedRun& run = reader.begin("multitree run");
    run.collective = collective_named(match.str(1));
    run.algorithm = match.str(2);
    run.ranks = ranks_of(match.str(3));
  } else if (std::regex_search(line, match, rank)) {
    const auto last = number(match.str(1));
    if (last && *last < kMostRanks) {
      reader.run_of("nccl-tests").ranks = static_cast<std::uint32_t>(*last) + 1;
    }
  } else if (line.starts_with("# nThread")) {
    // The name of the program may have come before, in the command line.
    LoggedRun& last = reader.run_of("nccl-tests");
    if (!last.times.empty()) reader.begin("nccl-tests").collective = last.collective;
  } else if (std::regex_search(line, match, program)) {
    if (const auto collective = collective_named(match.str(1))) {
      LoggedRun& last = reader.run_of("nccl-tests");
      (last.times.empty() ? last : reader.begin("nccl-tests")).collective = collective;
    }
  }
}

/// "1048576 262144 float sum -1 203.2 5.16 9.68 0 ...": size, count, type, perhaps operator and
/// root, and the time in microseconds, out of place.
bool read_nccl(Reader& reader, const std::string& line) {
  const std::vector<std::string> words = words_of(line);
  if (!line.empty() && line.front() == '#') return read_nccl_header(reader, line), true;
  if (words.size() < 7 || !number(words[0]) || !number(words[1]) || number(words[2])) {
    read_nccl_header(reader, line);
    return false;
  }
  const std::size_t time = number(words[3]) ? 3 : 5;
  const auto microseconds = number(words[time]);
  if (!microseconds) return false;
  reader.add(reader.run_of("nccl-tests"), *number(words[0]), *microseconds * 1e-6);
  return true;
}

/// Whether the MPI benchmarks count a rank's part: what is gathered and scattered.
bool counts_shards_in_mpi(std::optional<Collective> collective) {
  return collective == Collective::AllGather || collective == Collective::Gather ||
         collective == Collective::Scatter;
}

/// "# OSU MPI Allreduce Latency Test v7.4", then size and mean time in microseconds.
bool read_osu(Reader& reader, const std::string& line) {
  static const std::regex title("# OSU MPI\\S*(?: Non-blocking| Persistent)? (\\S+) Latency Test");
  std::smatch match;
  if (std::regex_search(line, match, title)) {
    LoggedRun& run = reader.begin("OSU");
    run.collective = collective_named(match.str(1));
    run.counts_shards = counts_shards_in_mpi(run.collective);
    return true;
  }
  const std::vector<std::string> words = words_of(line);
  if (words.size() < 2 || !number(words[0]) || !number(words[1])) return false;
  reader.add(reader.run_of("OSU"), *number(words[0]), *number(words[1]) * 1e-6);
  return true;
}

/// "# Benchmarking Allreduce", "# #processes = 16", then bytes, repetitions, least, most, mean
/// time.
bool read_imb(Reader& reader, const std::string& line) {
  static const std::regex title("# Benchmarking (\\S+)");
  static const std::regex processes("# #processes = (\\d+)");
  std::smatch match;
  if (std::regex_search(line, match, title)) {
    LoggedRun& run = reader.begin("IMB");
    run.collective = collective_named(match.str(1));
    run.counts_shards = counts_shards_in_mpi(run.collective);
  } else if (std::regex_search(line, match, processes)) {
    reader.run_of("IMB").ranks = ranks_of(match.str(1));
  }
  const std::vector<std::string> words = words_of(line);
  if (words.size() < 5 || !number(words[0]) || !number(words[4])) return false;
  reader.add(reader.run_of("IMB"), *number(words[0]), *number(words[4]) * 1e-6);
  return true;
}

/// "COMMS-RES-all_reduce-float32 1048576 262144 [pairs] p50 p75 p95 least most algbw busbw".
bool read_param(Reader& reader, const std::string& line) {
  static const std::regex row("COMMS-RES-([a-z_]+)-[a-z0-9]+\\S*\\s+(\\d.*)");
  std::smatch match;
  if (!std::regex_search(line, match, row)) return false;
  const std::vector<std::string> words = words_of(match.str(2));
  if (words.size() < 9) return false;
  const auto bytes = number(words[0]), microseconds = number(words[words.size() - 7]);
  const auto collective = collective_named(match.str(1));
  if (!bytes || !microseconds || !collective) return false;
  LoggedRun* run = &reader.run_of("PARAM");
  if (run->collective && run->collective != collective) run = &reader.begin("PARAM");
  run->collective = collective;
  reader.add(*run, *bytes, *microseconds * 1e-6);
  return true;
}

/// "bytes,seconds", then such rows.
bool read_csv(Reader& reader, const std::string& line) {
  const std::size_t comma = line.find(',');
  if (comma == std::string::npos) return false;
  const auto bytes = number(line.substr(0, comma)), seconds = number(line.substr(comma + 1));
  if (!bytes || !seconds) return false;
  reader.add(reader.run_of("a table"), *bytes, *seconds);
  return true;
}

/// By what its log is known, and what reads a line of it.
struct LogFormat {
  std::string_view mark;
  bool (*read)(Reader& reader, const std::string& line);
};
constexpr auto kFormats = std::to_array<LogFormat>({{"# OSU MPI", read_osu},
                                                    {"# Benchmarking ", read_imb},
                                                    {"COMMS-RES", read_param},
                                                    {"bytes,seconds", read_csv},
                                                    {"algbw", read_nccl}});

/// What `run --json` and nccl-tests write.
std::vector<LoggedRun> parse_json_log(std::string_view text, const std::string& name) {
  Reader reader;
  try {
    const auto json = nlohmann::json::parse(text);
    const auto& config = json.at("config");
    for (const auto& each : json.at("runs")) {
      LoggedRun& run = reader.begin("multitree run");
      run.collective = collective_named(config.at("collective").get<std::string>());
      run.ranks = ranks_of(config.at("ranks").dump());
      run.algorithm = each.value("algorithm", "");
      for (const auto& row : each.at("results")) {
        reader.add(run, row.at("size").get<double>(),
                   row.at("out_of_place").at("time").get<double>() * 1e-6);
      }
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error(
        ErrorCode::InvalidInput,
        fmt::format("{}: expected what 'multitree run --json' writes: {}", name, error.what()));
  }
  return reader.finish();
}

/// Without what mpirun ("[1,0]<stdout>:") and srun ("0: ") put before a line.
std::string bare(const std::string& line) {
  static const std::regex prefix("^(\\[\\d+,\\d+\\]<std(out|err)>: ?|\\d+: )");
  return std::regex_replace(line, prefix, "", std::regex_constants::format_first_only);
}

}  // namespace

std::vector<LoggedRun> parse_log(std::string_view text, const std::string& name) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') return parse_json_log(text, name);
  for (const LogFormat& format : kFormats) {
    if (text.find(format.mark) == std::string_view::npos) continue;
    Reader reader;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
      if (line.size() <= kLongestLine) format.read(reader, bare(line));
    }
    std::vector<LoggedRun> runs = reader.finish();
    if (!runs.empty()) return runs;
  }
  throw Error(ErrorCode::InvalidInput,
              fmt::format("{}: expected times by size as 'multitree run', nccl-tests, OSU's or "
                          "Intel's MPI benchmarks or PARAM print them, or a table with the header "
                          "bytes,seconds; found none of these",
                          name));
}

}  // namespace multitree::tools
