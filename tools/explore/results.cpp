// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Lines of JSON, one a point.
#include "tools/explore/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "topologies/error.hpp"
#include "topologies/io/files.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kFormat = "multitree exploration results 1";

[[noreturn]] void fail(const std::string& file, std::size_t line, const std::string& what) {
  throw Error(ErrorCode::InvalidInput, fmt::format("{}:{}: {}", file, line, what));
}

ordered_json outcome_json(const ExploreOutcome& outcome) {
  if (!outcome.refused.empty()) return {{"refused", outcome.refused}};
  return {{"model", outcome.model},
          {"why", outcome.why},
          {"cycles", outcome.cycles},
          {"clock_hz", outcome.clock_hz},
          {"messages", outcome.messages},
          {"link_flits", outcome.link_flits},
          {"busiest_link_flits", outcome.busiest_link_flits},
          {"header_flits", outcome.header_flits},
          {"exchanges", outcome.exchanges}};
}

ExploreOutcome outcome_of(const ordered_json& json) {
  if (json.contains("refused")) return {.refused = json.at("refused").get<std::string>()};
  ExploreOutcome outcome{.model = json.at("model").get<std::string>(),
                         .why = json.at("why").get<std::string>(),
                         .cycles = json.at("cycles").get<std::uint64_t>(),
                         .clock_hz = json.at("clock_hz").get<std::uint64_t>(),
                         .messages = json.at("messages").get<std::uint64_t>(),
                         .link_flits = json.at("link_flits").get<std::uint64_t>(),
                         .busiest_link_flits = json.at("busiest_link_flits").get<std::uint64_t>(),
                         .header_flits = json.at("header_flits").get<std::uint32_t>(),
                         .exchanges = json.at("exchanges").get<bool>()};
  return outcome;
}

/// A line must be what explore_line() makes of what it says.
void parse_line(const std::string& line, const std::string& file, std::size_t number,
                ExploreOutcomes& outcomes) {
  try {
    const ordered_json json = ordered_json::parse(line);
    std::string content = json.at("point").dump();
    ExploreOutcome outcome = outcome_of(json.at("result"));
    if (explore_line(content, outcome) == line + "\n" && outcome.clock_hz > 0) {
      outcomes[std::move(content)] = std::move(outcome);
      return;
    }
  } catch (const nlohmann::json::exception&) {  // told below
  }
  fail(file, number,
       "expected a result as this program wrote it, got another line: remove it, and the point is "
       "simulated again");
}

/// "results.jsonl.3-of-8" beside "results.jsonl", sorted.
std::vector<std::string> parts_of(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  const std::string begin = fs::path(path).filename().string() + ".";
  std::vector<std::string> parts;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begin)) continue;
    const std::string_view rest = std::string_view(name).substr(begin.size());
    const std::size_t middle = rest.find("-of-");
    const auto is_number = [](std::string_view text) {
      return !text.empty() &&
             std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    };
    if (middle == std::string_view::npos || !is_number(rest.substr(0, middle)) ||
        !is_number(rest.substr(middle + 4))) {
      continue;
    }
    parts.push_back(path + "." + std::string(rest));
  }
  std::ranges::sort(parts);
  return parts;
}

}  // namespace

std::string explore_header() {
  return ordered_json{{"format", kFormat},
                      {"version", MULTITREE_VERSION},
                      {"defaults", ordered_json::parse(nic::write_parameters(nic::Parameters{}))}}
             .dump() +
         "\n";
}

std::string explore_line(std::string_view content, const ExploreOutcome& outcome) {
  return ordered_json{{"id", digest_of(content)},
                      {"point", ordered_json::parse(content)},
                      {"result", outcome_json(outcome)}}
             .dump() +
         "\n";
}

ExploreOutcomes parse_explore_results(std::string_view text, const std::string& file) {
  ExploreOutcomes outcomes;
  const std::size_t whole = whole_lines(text);
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < whole;) {
    const std::size_t end = text.find('\n', begin);
    const std::string line(text.substr(begin, end - begin));
    begin = end + 1;
    if (++number > 1) {
      parse_line(line, file, number, outcomes);
    } else if (line + "\n" != explore_header()) {
      fail(file, 1,
           "expected results of this version (" MULTITREE_VERSION
           ") and its default parameters, got others: remove the file or choose another");
    }
  }
  return outcomes;
}

ExploreResults::ExploreResults(const std::string& path, PartOf part) {
  if (path.empty()) return;
  std::string mine = path;
  if (part.of > 1) mine += fmt::format(".{}-of-{}", part.number, part.of);
  file_ = std::make_unique<LinesFile>(mine);
  read(mine);
  const std::size_t whole = whole_lines(file_->text());
  file_->keep(whole);
  if (whole == 0) file_->add(explore_header());
  std::vector<std::string> others = parts_of(path);
  if (std::error_code none; std::filesystem::exists(path, none)) others.push_back(path);
  for (const std::string& other : others) {
    if (other != mine) read(other);
  }
}

void ExploreResults::read(const std::string& path) {
  const std::string text = read_file(path);
  outcomes_.merge(parse_explore_results(text, path));
  // The end of another's file may be a line that is just being written.
  if (path != file_->path()) return;
  if (std::string note = unfinished_note(text, path); !note.empty()) {
    notes_.push_back(std::move(note));
  }
}

const ExploreOutcome* ExploreResults::find(const ExplorePoint& point) const {
  const std::scoped_lock lock(mutex_);
  const auto found = outcomes_.find(point.content);
  return found == outcomes_.end() ? nullptr : &found->second;
}

void ExploreResults::add(const ExplorePoint& point, const ExploreOutcome& outcome) {
  const std::string line = explore_line(point.content, outcome);
  const std::scoped_lock lock(mutex_);
  if (file_) file_->add(line);
  outcomes_.insert_or_assign(point.content, outcome);
}

void ExploreResults::put_in_order(std::span<const ExplorePoint> points) {
  if (!file_) return;
  std::string text = explore_header();
  std::set<std::string_view> written;
  for (const ExplorePoint& point : points) {
    const auto found = outcomes_.find(point.content);
    if (found == outcomes_.end() || !written.insert(point.content).second) continue;
    text += explore_line(point.content, found->second);
  }
  for (const auto& [content, outcome] : parse_explore_results(file_->text(), file_->path())) {
    if (!written.contains(content)) text += explore_line(content, outcome);
  }
  if (text != file_->text()) write_file(file_->path(), text);
}

}  // namespace multitree::tools
