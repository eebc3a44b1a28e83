// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Lines of JSON, one a point.
#include "tools/study/results.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "topologies/error.hpp"
#include "topologies/io/files.hpp"

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

[[noreturn]] void fail_io(const std::string& path, std::string_view what) {
  throw Error(ErrorCode::Io, fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
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
  parsed.whole = text.rfind('\n') + 1;  // 0 without any
  if (parsed.whole != text.size()) {
    parsed.note =
        fmt::format("{}: dropped the last line, which an interrupted run left unfinished", file);
  }
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

ResultsFile::ResultsFile(const std::string& path) : path_(path) {
  fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd_ == -1) fail_io(path, "cannot open");
  try {
    if (flock(fd_, LOCK_EX | LOCK_NB) == -1) fail_io(path, "cannot lock, is another run using it");
    ParsedResults parsed = parse_results(read_file(path), path);
    outcomes_ = std::move(parsed.outcomes);
    note_ = std::move(parsed.note);
    if (ftruncate(fd_, static_cast<off_t>(parsed.whole)) == -1) fail_io(path, "cannot cut off");
    if (parsed.whole == 0) write(results_header());
  } catch (...) {
    close(fd_);
    throw;
  }
}

ResultsFile::~ResultsFile() { close(fd_); }

void ResultsFile::write(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(fd_, line.data(), line.size());
    if (written == -1 && errno == EINTR) continue;
    if (written == -1) fail_io(path_, "cannot write");
    line.remove_prefix(static_cast<std::size_t>(written));
  }
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
  write(line);
  outcomes_[key_of(point)] = outcome;
}

}  // namespace multitree::tools
