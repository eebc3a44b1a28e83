// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Lines of JSON, one a point.
#include "tools/study/results.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "topologies/error.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kFormat = "multitree study results 1";
constexpr const char* kNumbers[] = {"cycles", "clock_hz", "messages", "link_flits",
                                    "busiest_link_flits"};
constexpr std::uint64_t Outcome::*kMembers[] = {&Outcome::cycles, &Outcome::clock_hz,
                                                &Outcome::messages, &Outcome::link_flits,
                                                &Outcome::busiest_link_flits};

[[noreturn]] void fail(const std::string& file, std::size_t line, const std::string& what) {
  throw Error(ErrorCode::InvalidInput, fmt::format("{}:{}: {}", file, line, what));
}

/// One result: the point's key without the outcome, and the outcome.
void parse_line(const std::string& line, const std::string& file, std::size_t number,
                Outcomes& outcomes) {
  ordered_json json = ordered_json::parse(line, nullptr, false);
  if (!json.is_object()) fail(file, number, "expected a result, got what is no JSON object");
  Outcome outcome;
  for (std::size_t i = 0; i < std::size(kNumbers); ++i) {
    const auto found = json.find(kNumbers[i]);
    if (found == json.end() || !found->is_number_unsigned()) {
      fail(file, number, fmt::format("'{}': expected a number", kNumbers[i]));
    }
    outcome.*kMembers[i] = found->get<std::uint64_t>();
    json.erase(kNumbers[i]);
  }
  if (outcome.clock_hz == 0) fail(file, number, "'clock_hz': expected a number >= 1, got 0");
  outcomes[json.dump()] = outcome;
}

}  // namespace

std::string results_header() {
  return ordered_json{{"format", kFormat},
                      {"version", MULTITREE_VERSION},
                      {"defaults", ordered_json::parse(nic::write_parameters(nic::Parameters{}))}}
             .dump() +
         "\n";
}

std::string result_line(const Point& point, const Outcome& outcome) {
  ordered_json json = ordered_json::parse(key_of(point));
  for (std::size_t i = 0; i < std::size(kNumbers); ++i) json[kNumbers[i]] = outcome.*kMembers[i];
  return json.dump() + "\n";
}

ParsedResults parse_results(std::string_view text, const std::string& file) {
  ParsedResults parsed;
  parsed.whole = whole_lines(text);
  parsed.note = unfinished_note(text, file);
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < parsed.whole;) {
    const std::size_t end = text.find('\n', begin);
    const std::string line(text.substr(begin, end - begin));
    begin = end + 1;
    if (++number > 1) {
      parse_line(line, file, number, parsed.outcomes);
    } else if (line + "\n" != results_header()) {
      fail(file, 1,
           "expected results of this version (" MULTITREE_VERSION
           ") and its default parameters, got others: remove the file or choose another "
           "directory");
    }
  }
  return parsed;
}

ResultsFile::ResultsFile(const std::string& path) : file_(path) {
  ParsedResults parsed = parse_results(file_.text(), path);
  outcomes_ = std::move(parsed.outcomes);
  note_ = std::move(parsed.note);
  file_.keep(parsed.whole);
  if (parsed.whole == 0) file_.add(results_header());
}

std::optional<Outcome> ResultsFile::find(const Point& point) const {
  const std::string key = key_of(point);
  const std::scoped_lock lock(mutex_);
  const auto found = outcomes_.find(key);
  return found == outcomes_.end() ? std::nullopt : std::optional(found->second);
}

void ResultsFile::add(const Point& point, const Outcome& outcome) {
  const std::string line = result_line(point, outcome);
  const std::scoped_lock lock(mutex_);
  file_.add(line);
  outcomes_[key_of(point)] = outcome;
}

}  // namespace multitree::tools
