// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All are asked at the same time who they are and whom they hear; cables are measured one at a
/// time, so that none is in another's way.
#include "tools/cluster/survey.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/probe/probe.hpp"
#include "tools/cluster/remote.hpp"
#include "tools/command.hpp"
#include "tools/progress.hpp"

namespace multitree::tools {
namespace {

using cluster::Flow;
using cluster::Host;
using cluster::PortId;
using cluster::Segment;
using nlohmann::json;
using nlohmann::ordered_json;
using Milliseconds = std::chrono::milliseconds;

/// Beacons of a port, of which one has to arrive.
constexpr int kRounds = 8, kGapMs = 40;
/// For beacons that are still under way.
constexpr int kLastWaitMs = 250;
constexpr int kMeasureMs = 20'000;
/// More than anything takes that is asked for after that.
constexpr Milliseconds kAnswerPatience{30'000};
/// A cable that seems slow is measured so many times more: it may be the host that was busy.
constexpr int kAgain = 2;

Host host_of(const json& answer, const std::string& reach) {
  Host host{reach,
            answer.at("hostname").get<std::string>(),
            answer.at("identity").get<std::string>(),
            {}};
  for (const json& row : answer.at("ports")) {
    const json &address = row.at("address"), &mbits = row.at("mbits"), &over = row.at("over");
    host.ports.push_back({row.at("port").get<std::string>(), row.at("state").get<std::string>(),
                          address.is_null() ? std::string() : address.get<std::string>(),
                          mbits.is_null() ? 0 : mbits.get<std::uint32_t>(),
                          over.is_null() ? std::string() : over.get<std::string>()});
  }
  return host;
}

class Surveyor {
 public:
  explicit Surveyor(const SurveyOptions& options) : options_(options) {}

  Survey run() {
    meet();
    listen();
    std::vector<Segment> cables, switches;
    for (const Segment& segment : found_.inferred.segments) {
      (segment.is_cable() ? cables : switches).push_back(segment);
    }
    for (const Segment& cable : cables) measure(cable.ends[0], cable.ends[1]);
    measure_again(cables);
    // Switches are of no use where cables join all hosts; most often they are the office's network.
    if (!cluster::assemble(found_.hosts, cables, found_.flows).network) {
      for (const Segment& segment : switches) measure_switch(segment);
    }
    return std::move(found_);
  }

 private:
  void meet();
  void listen();
  void measure(PortId here, PortId there);
  void measure_again(const std::vector<Segment>& cables);
  void measure_switch(const Segment& segment);
  [[nodiscard]] std::string name_of(PortId id) const {
    return found_.hosts[id.host].reach + " " + found_.hosts[id.host].ports[id.port].name;
  }
  void ask_all(const ordered_json& question) {
    for (Remote& remote : remotes_) remote.ask(question);
  }

  const SurveyOptions& options_;
  std::vector<Remote> remotes_;
  Survey found_;
};

void Surveyor::meet() {
  const Progress progress(fmt::format("reaching {} hosts", options_.hosts.size()));
  remotes_ = start_agents(options_);
  const std::string secret = runtime::probe::make_secret();
  const auto until = std::chrono::steady_clock::now() + options_.patience;
  for (std::size_t i = 0; i < remotes_.size(); ++i) {
    remotes_[i].ask(
        {{"ask", "hello"}, {"secret", secret}, {"host", i}, {"interfaces", options_.interfaces}});
  }
  std::vector<Error> failures;
  std::map<std::string, std::string> seen;
  for (Remote& remote : remotes_) {
    try {
      const auto left = std::chrono::ceil<Milliseconds>(until - std::chrono::steady_clock::now());
      const json answer = checked_answer(remote, "its ports", std::max(left, Milliseconds(1)));
      if (answer.at("version") != MULTITREE_VERSION) {
        throw Error(ErrorCode::Transport,
                    fmt::format("{}: expected multitree {}, as here, found {}", remote.host(),
                                MULTITREE_VERSION, answer.at("version").dump()));
      }
      found_.hosts.push_back(host_of(answer, remote.host()));
      const auto [it, fresh] = seen.emplace(found_.hosts.back().identity, remote.host());
      if (!fresh) {
        throw Error(ErrorCode::InvalidArgument,
                    fmt::format("{} and {}: expected different hosts, found the same one twice",
                                it->second, remote.host()));
      }
    } catch (const Error& error) {
      failures.push_back(error);
    } catch (const json::exception& error) {
      failures.emplace_back(ErrorCode::Transport,
                            fmt::format("{}: expected the answer of multitree {}: {}",
                                        remote.host(), MULTITREE_VERSION, error.what()));
    }
  }
  if (failures.empty()) return;
  for (std::size_t i = 0; i + 1 < failures.size(); ++i) {
    print_error(fmt::format("multitree: {}\n", failures[i].what()));
  }
  throw failures.back();
}

void Surveyor::listen() {
  const Progress progress("listening who faces whom");
  ask_all({{"ask", "listen"}});
  for (std::size_t i = 0; i < remotes_.size(); ++i) {
    const json answer = checked_answer(remotes_[i], "its ports to listen", kAnswerPatience);
    for (const json& words : answer.at("left_out")) {
      found_.findings.push_back(
          {"unheard", found_.hosts[i].reach + " " + words.get<std::string>()});
    }
  }
  ask_all({{"ask", "speak"}, {"rounds", kRounds}, {"gap_ms", kGapMs}});
  for (Remote& remote : remotes_) checked_answer(remote, "its beacons", kAnswerPatience);
  ask_all({{"ask", "heard"}, {"wait_ms", kLastWaitMs}});
  std::vector<cluster::Hearing> heard;
  for (std::uint32_t i = 0; i < remotes_.size(); ++i) {
    const json answer = checked_answer(remotes_[i], "whom it has heard", kAnswerPatience);
    for (const json& row : answer.at("heard")) {
      const PortId here{i, row.at(0).get<std::uint32_t>()};
      const PortId there{row.at(1).get<std::uint32_t>(), row.at(2).get<std::uint32_t>()};
      const bool known = there.host < found_.hosts.size() &&
                         there.port < found_.hosts[there.host].ports.size() &&
                         here.port < found_.hosts[i].ports.size();
      if (known) heard.push_back({here, there});
    }
  }
  found_.inferred = cluster::infer(std::move(heard));
}

void Surveyor::measure(PortId here, PortId there) {
  const Progress progress(fmt::format("measuring {} - {}", name_of(here), name_of(there)));
  Remote &from = remotes_[here.host], &to = remotes_[there.host];
  const auto fails = [&](const json& answer) {
    if (!answer.contains("error")) return false;
    found_.findings.push_back({"dead", fmt::format("{} - {}: they hear each other, and no "
                                                   "connection goes over it: {}",
                                                   name_of(here), name_of(there),
                                                   one_line(answer["error"].get<std::string>()))});
    return true;
  };
  to.ask({{"ask", "open"}, {"port", there.port}});
  const json door = to.answer("a door at " + name_of(there), kAnswerPatience);
  if (fails(door)) return;
  to.ask({{"ask", "serve"}, {"deadline_ms", kMeasureMs}});
  from.ask({{"ask", "measure"},
            {"port", here.port},
            {"address", found_.hosts[there.host].ports[there.port].address},
            {"door", door.at("door")},
            {"deadline_ms", kMeasureMs}});
  const json answer = from.answer("the rate of " + name_of(here), kAnswerPatience);
  const json served = to.answer("the rate of " + name_of(there), kAnswerPatience);
  if (fails(answer) || fails(served)) return;
  const Time latency{answer.at("latency").get<std::int64_t>()};
  found_.flows.push_back({here, there, {answer.at("forward").get<std::uint64_t>()}, latency});
  found_.flows.push_back({there, here, {answer.at("backward").get<std::uint64_t>()}, latency});
}

void Surveyor::measure_again(const std::vector<Segment>& cables) {
  std::map<std::pair<PortId, PortId>, std::uint64_t> best;
  for (const Flow& flow : found_.flows) best[{flow.from, flow.to}] = flow.rate.bytes_per_second;
  std::vector<std::uint64_t> rates;
  for (const auto& [ends, rate] : best) rates.push_back(rate);
  if (rates.empty()) return;
  std::ranges::sort(rates);
  const double least = cluster::kSlow * static_cast<double>(rates[rates.size() / 2]);
  for (const Segment& cable : cables) {
    const auto [a, b] = std::pair(cable.ends[0], cable.ends[1]);
    const bool measured = best.contains({a, b});
    if (!measured || static_cast<double>(std::min(best[{a, b}], best[{b, a}])) >= least) continue;
    for (int i = 0; i < kAgain; ++i) measure(a, b);
  }
}

/// Each port with the two that follow it, so that one slow port does not make another seem slow.
void Surveyor::measure_switch(const Segment& segment) {
  const std::size_t count = segment.ends.size();
  for (const std::size_t step : {1, 2}) {
    for (std::size_t i = 0; i < count; ++i) {
      const PortId a = segment.ends[i], b = segment.ends[(i + step) % count];
      if (a.host != b.host) measure(a, b);
    }
  }
}

}  // namespace

std::vector<Remote> start_agents(const SurveyOptions& options) {
  std::vector<Remote> agents;
  for (const std::string& host : options.hosts) {
    std::vector<std::string> command = options.ssh;
    command.insert(command.end(), {host, options.program, "cluster", "probe", "--agent"});
    agents.emplace_back(host, command);
  }
  return agents;
}

json checked_answer(Remote& remote, const std::string& what, Milliseconds deadline) {
  json answer = remote.answer(what, deadline);
  if (!answer.contains("error")) return answer;
  throw Error(ErrorCode::Transport,
              fmt::format("{}: {}: {}", remote.host(), what, one_line(answer["error"].dump())));
}

Survey survey(const SurveyOptions& options) { return Surveyor(options).run(); }

}  // namespace multitree::tools
