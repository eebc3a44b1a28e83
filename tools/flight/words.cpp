// SPDX-License-Identifier: BSD-3-Clause
#include "tools/flight/words.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "tools/command.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;
using runtime::flight::Flight;
using runtime::flight::FlightJob;
using runtime::flight::Life;
using runtime::flight::LoggedCall;

constexpr double kSecond = 1e9;

constexpr std::string_view kLives[] = {"runs", "dead", "?"};
std::string_view words_of(Life life) { return kLives[static_cast<std::size_t>(life)]; }

/// "2026-03-01 10:01:25.123", UTC.
std::string words_of_time(std::int64_t ns) {
  const auto seconds = static_cast<std::time_t>(ns / 1'000'000'000);
  return fmt::format("{:%F %T}.{:03}", fmt::gmtime(seconds), ns / 1'000'000 % 1000);
}

/// "0-3, 7".
template <typename Ranks>
std::string words_of_ranks(const Ranks& ranks) {
  std::string words;
  for (auto at = ranks.begin(); at != ranks.end();) {
    const std::uint32_t from = *at;
    std::uint32_t to = from;
    while (++at != ranks.end() && *at == to + 1) ++to;
    words += fmt::format("{}{}", words.empty() ? "" : ", ", from);
    if (to != from) words += fmt::format("-{}", to);
  }
  return words.empty() ? "-" : words;
}

std::vector<std::uint32_t> awaited(const Flight& flight) {
  std::vector<std::uint32_t> ranks;
  for (const runtime::Seat seat : flight.wait->where.awaits) ranks.push_back(index(seat));
  return ranks;
}

/// What a rank is in: the call that it waits in, else the latest.
std::string doing(const Flight& flight) {
  if (flight.wait) return flight.wait->where.what;
  if (flight.calls.empty()) return "no call yet";
  const LoggedCall& last = flight.calls.back();
  return fmt::format("{} #{}: {}", last.ended ? "after" : "in", last.number, last.words);
}

/// A call by its number and words; ranks that call different things under a number have a row each.
struct CallRow {
  std::int64_t begun_ns = 0;  ///< by the first
  std::set<std::uint32_t> begun, ended;
};
using CallRows = std::map<std::pair<std::uint64_t, std::string>, CallRow>;

CallRows rows_of(const FlightJob& job, std::uint64_t calls) {
  std::uint64_t latest = 0;
  for (const Flight& flight : job.flights) latest = std::max(latest, flight.begun);
  CallRows rows;
  for (const Flight& flight : job.flights) {
    for (const LoggedCall& call : flight.calls) {
      if (call.number + calls < latest) continue;
      CallRow& row = rows[{call.number, call.words}];
      if (row.begun.empty() || call.begun_ns < row.begun_ns) row.begun_ns = call.begun_ns;
      row.begun.insert(flight.rank);
      if (call.ended) row.ended.insert(flight.rank);
    }
  }
  return rows;
}

std::string failures_of(const FlightJob& job) {
  std::map<std::string, std::set<std::uint32_t>> failures;
  for (const Flight& flight : job.flights) {
    if (!flight.failure.empty()) failures[flight.failure].insert(flight.rank);
  }
  std::string text;
  for (const auto& [words, ranks] : failures) {
    text += fmt::format("rank {}: {}\n", words_of_ranks(ranks), one_line(words));
  }
  return text;
}

ordered_json to_json(const Flight& flight) {
  ordered_json calls = ordered_json::array();
  for (const LoggedCall& call : flight.calls) {
    calls.push_back({{"number", call.number},
                     {"call", call.words},
                     {"begun", static_cast<double>(call.begun_ns) / kSecond},
                     {"ended", call.ended}});
  }
  ordered_json result{{"rank", flight.rank},
                      {"host", flight.host},
                      {"process", flight.process},
                      {"life", words_of(flight.life)},
                      {"calls_begun", flight.begun}};
  if (flight.wait) {
    result["wait"] = {{"call", flight.wait->where.what},
                      {"how", flight.wait->where.how},
                      {"place", flight.wait->where.place},
                      {"ranks", awaited(flight)},
                      {"since", static_cast<double>(flight.wait->since_ns) / kSecond}};
  }
  if (!flight.failure.empty()) result["failure"] = flight.failure;
  result["calls"] = std::move(calls);
  return result;
}

double seconds_waited(const Flight& flight, std::int64_t now_ns) {
  if (!flight.wait) return 0;
  return std::max(0.0, static_cast<double>(now_ns - flight.wait->since_ns) / kSecond);
}

/// A metric, and its value at a rank.
struct Metric {
  std::string_view name, type, help;
  double (*value)(const Flight& flight, std::int64_t now_ns);
};
constexpr std::array kMetrics{
    Metric{"multitree_calls_total", "counter", "Collectives that a rank has begun.",
           [](const Flight& flight, std::int64_t) { return static_cast<double>(flight.begun); }},
    Metric{"multitree_wait_seconds", "gauge",
           "For how long a rank has waited in a call; 0 below a tenth of a second.",
           seconds_waited},
    Metric{"multitree_failed", "gauge", "1 once a rank's communicator has failed.",
           [](const Flight& flight, std::int64_t) { return flight.failure.empty() ? 0.0 : 1.0; }},
    Metric{
        "multitree_dead", "gauge", "1 if a rank's process is not there any more.",
        [](const Flight& flight, std::int64_t) { return flight.life == Life::Dead ? 1.0 : 0.0; }}};

/// As Prometheus wants labels.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == '"') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

}  // namespace

std::string status_table(const FlightJob& job, std::int64_t now_ns) {
  std::vector<std::vector<std::string>> rows{
      {"rank", "host", "process", "", "calls", "call", "waits", "for rank", "at"}};
  for (const Flight& flight : job.flights) {
    rows.push_back({std::to_string(flight.rank), one_line(flight.host),
                    std::to_string(flight.process), std::string(words_of(flight.life)),
                    std::to_string(flight.begun), one_line(doing(flight)),
                    flight.wait ? fmt::format("{:.1f} s", seconds_waited(flight, now_ns)) : "-",
                    flight.wait ? words_of_ranks(awaited(flight)) : "-",
                    flight.wait ? one_line(flight.wait->where.place) : "-"});
  }
  return format_table(rows);
}

std::string postmortem_tables(const FlightJob& job, std::uint64_t calls) {
  std::string text = failures_of(job);
  std::vector<std::vector<std::string>> rows{
      {"call", "begun, UTC", "what", "begun by", "ended at"}};
  for (const auto& [key, row] : rows_of(job, calls)) {
    rows.push_back({fmt::format("#{}", key.first), words_of_time(row.begun_ns), key.second,
                    words_of_ranks(row.begun), words_of_ranks(row.ended)});
  }
  return text + (rows.size() > 1 ? "\n" + format_table(rows) : "");
}

ordered_json flights_json(const std::vector<FlightJob>& jobs) {
  ordered_json all = ordered_json::array();
  for (const FlightJob& job : jobs) {
    ordered_json flights = ordered_json::array();
    for (const Flight& flight : job.flights) flights.push_back(to_json(flight));
    all.push_back({{"job", fmt::format("{:016x}", job.job)},
                   {"ranks", job.ranks},
                   {"blame", job.blame},
                   {"slow", job.slow},
                   {"records", std::move(flights)}});
  }
  return {{"jobs", std::move(all)}};
}

std::string flights_metrics(const std::vector<FlightJob>& jobs, std::int64_t now_ns) {
  std::string text;
  for (const Metric& metric : kMetrics) {
    text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", metric.name, metric.help, metric.name,
                        metric.type);
    for (const FlightJob& job : jobs) {
      for (const Flight& flight : job.flights) {
        text +=
            fmt::format("{}{{job=\"{:016x}\",rank=\"{}\",host=\"{}\"}} {:.15g}\n", metric.name,
                        job.job, flight.rank, escaped(flight.host), metric.value(flight, now_ns));
      }
    }
  }
  return text;
}

}  // namespace multitree::tools
