// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reads traces: rows by their names, messages by the rows that they are in.
#include "view/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "topologies/io/json_document.hpp"

namespace multitree::view {
namespace {

/// Trace Event Format counts microseconds.
constexpr double kSecondsOfUnit = 1e-6;
constexpr std::uint64_t kMostNumber = std::numeric_limits<std::uint32_t>::max();

/// "n0->n1 (2)" is a further lane of row "n0->n1".
std::string without_lane(const std::string& name) {
  const std::size_t space = name.rfind(" (");
  const bool is_lane = space != std::string::npos && name.ends_with(')') &&
                       name.find_first_not_of("0123456789", space + 2) == name.size() - 1;
  return is_lane ? name.substr(0, space) : name;
}

class Reader {
 public:
  Reader(const JsonDocument& document, const Topology& topology) : document_(document) {
    const std::vector<std::string> rows = link_rows(topology);
    for (std::uint32_t i = 0; i < rows.size(); ++i) number_of_.emplace(rows[i], i);
    name_ = topology.name();
  }

  std::vector<Passage> read() {
    const JsonValue events = JsonValue(document_).at("traceEvents");
    const std::size_t count = events.size();
    for (std::size_t i = 0; i < count; ++i) {
      const JsonValue event = events.at(i);
      const std::string kind = event.at("ph").string();
      if (kind == "M") name(event);
      if (kind == "X") span(event);
    }
    if (passages_.empty()) {
      events.fail(
          "expected messages on links, as `multitree simulate --trace` and `multitree run --trace` "
          "write them, got none");
    }
    return std::move(passages_);
  }

 private:
  /// Of a group of rows, or of a row.
  void name(const JsonValue& event) {
    const std::string what = event.at("name").string();
    if (what == "process_name") {
      group_of_[event.at("pid").integer(0, kMostNumber)] = event.at("args").at("name").string();
    } else if (what == "thread_name") {
      row_of_[event.at("tid").integer(0, kMostNumber)] = event.at("args").at("name").string();
    }
  }

  void span(const JsonValue& event) {
    const std::string& group = group_of_[event.at("pid").integer(0, kMostNumber)];
    if (group == "run" && ++iterations_ > 1) {
      event.fail(
          "expected a trace of one algorithm and size, got another iteration: give `multitree run` "
          "the same size by -b and -e, and one algorithm");
    }
    if (group != "links") return;
    const std::string row = without_lane(row_of_[event.at("tid").integer(0, kMostNumber)]);
    const auto number = number_of_.find(row);
    if (number == number_of_.end()) {
      event.fail(fmt::format("expected a link of {}, got '{}': the trace is of another network",
                             name_, row));
    }
    const double begin = event.at("ts").number() * kSecondsOfUnit;
    passages_.push_back(
        {.row = number->second,
         .step = static_cast<std::uint32_t>(event.at("args").at("step").integer(0, kMostNumber)),
         .reduces = event.at("name").string().starts_with("reduce"),
         .begin = begin,
         .end = begin + event.at("dur").number() * kSecondsOfUnit});
  }

  const JsonDocument& document_;
  std::string name_;
  std::map<std::string, std::uint32_t> number_of_;  // of rows
  std::map<std::uint64_t, std::string> group_of_, row_of_;
  std::vector<Passage> passages_;
  std::uint32_t iterations_ = 0;
};

}  // namespace

std::vector<std::string> link_rows(const Topology& topology) {
  std::vector<std::string> rows;
  std::map<std::string, bool> known;
  for (const Link& link : topology.links()) {
    std::string name =
        fmt::format("{}->{}", topology.node(link.src).name, topology.node(link.dst).name);
    if (known.emplace(name, true).second) rows.push_back(std::move(name));
  }
  return rows;
}

Timeline parse_timeline(std::string_view text, const std::string& file, const Topology& topology) {
  const JsonDocument document(text, file);
  Timeline timeline{.name = file, .passages = Reader(document, topology).read()};
  const auto order = [](const Passage& p) { return std::tuple(p.begin, p.row, p.step, p.end); };
  std::ranges::sort(timeline.passages, {}, order);
  const double first = timeline.passages.front().begin;
  for (Passage& passage : timeline.passages) {
    passage.begin -= first;
    passage.end -= first;
  }
  return timeline;
}

}  // namespace multitree::view
