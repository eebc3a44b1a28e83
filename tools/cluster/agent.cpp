// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Questions and answers:
///
///     hello    secret, host, interfaces
///                                  who and what this host is
///     listen                       hears beacons from now on
///     speak    rounds, gap_ms      sends them, and hears
///     heard    wait_ms             hears, and tells whom it has heard: [own port, host, port]
///     open     port                a door at a port: its number
///     serve    deadline_ms         one measurement at that door
///     measure  port, address, door, deadline_ms
///     keep     text                a part of the cluster's file
///     prepare                      writes it beside where jobs look for it: that file
///     install                      puts it in place
#include "tools/cluster/agent.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/probe/probe.hpp"
#include "tools/cluster/install.hpp"
#include "tools/command.hpp"
#include "topologies/error.hpp"
#include "topologies/exception_words.hpp"

namespace multitree::tools {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using runtime::Deadline;
namespace probe = runtime::probe;

constexpr int kMostSilence = 600'000;  ///< ms
/// Until addresses of links that have just come up may be used.
constexpr Deadline kAddressPatience{5000};

ordered_json describe(const std::vector<cluster::Port>& ports) {
  ordered_json rows = ordered_json::array();
  for (const cluster::Port& port : ports) {
    rows.push_back(
        {{"port", port.name},
         {"state", port.state},
         {"address", port.address.empty() ? ordered_json(nullptr) : ordered_json(port.address)},
         {"mbits", port.mbits == 0 ? ordered_json(nullptr) : ordered_json(port.mbits)},
         {"over", port.over.empty() ? ordered_json(nullptr) : ordered_json(port.over)}});
  }
  return {{"hostname", probe::own_hostname()},
          {"identity", probe::own_identity()},
          {"version", MULTITREE_VERSION},
          {"ports", rows}};
}

/// A line of standard input; empty if there are no more, or none comes.
std::string next_line(std::string& rest) {
  while (rest.find('\n') == std::string::npos) {
    pollfd event{STDIN_FILENO, POLLIN, 0};
    std::array<char, 4096> bytes{};
    if (::poll(&event, 1, kMostSilence) <= 0) return {};
    const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n <= 0) return {};
    rest.append(bytes.data(), static_cast<std::size_t>(n));
  }
  const auto end = rest.find('\n') + 1;
  std::string line = rest.substr(0, end);
  rest.erase(0, end);
  return line;
}

Deadline milliseconds(const json& question, const char* key) {
  return Deadline(question.at(key).get<std::int64_t>());
}

class Agent {
 public:
  ordered_json answer(const json& question) {
    const auto found = answers_.find(question.at("ask").get<std::string>());
    if (found == answers_.end()) {
      throw Error(ErrorCode::InvalidInput, "no such question: " + question.dump());
    }
    return (this->*found->second)(question);
  }

 private:
  using Answer = ordered_json (Agent::*)(const json&);

  ordered_json hello(const json& question) {
    secret_ = question.at("secret").get<std::string>();
    host_ = question.at("host").get<std::uint32_t>();
    ports_ = probe::list_ports(kAddressPatience, question.at("interfaces").get<std::string>());
    return describe(ports_);
  }
  ordered_json listen(const json&) {
    beacons_ = std::make_unique<probe::Beacons>(ports_, host_, secret_);
    return {{"left_out", beacons_->left_out()}};
  }
  ordered_json speak(const json& question) {
    for (int round = question.at("rounds").get<int>(); round > 0 && beacons_; --round) {
      beacons_->speak();
      beacons_->listen(milliseconds(question, "gap_ms"));
    }
    return {{"done", true}};
  }
  ordered_json heard(const json& question) {
    ordered_json rows = ordered_json::array();
    if (beacons_ != nullptr) {
      beacons_->listen(milliseconds(question, "wait_ms"));
      for (const cluster::Hearing& one : beacons_->heard()) {
        rows.push_back({one.listener.port, one.speaker.host, one.speaker.port});
      }
    }
    beacons_.reset();
    return {{"heard", rows}};
  }
  ordered_json open(const json& question) {
    door_ = std::make_unique<probe::Door>(port_of(question));
    return {{"door", door_->number()}};
  }
  ordered_json serve(const json& question) {
    if (door_ != nullptr) door_->serve(secret_, milliseconds(question, "deadline_ms"));
    door_.reset();
    return {{"done", true}};
  }
  ordered_json measure(const json& question) {
    const auto found = probe::measure(port_of(question), question.at("address").get<std::string>(),
                                      question.at("door").get<std::uint16_t>(), secret_,
                                      milliseconds(question, "deadline_ms"));
    return {{"forward", found.forward.bytes_per_second},
            {"backward", found.backward.bytes_per_second},
            {"latency", found.latency.picoseconds}};
  }
  ordered_json keep(const json& question) {
    installation_.add(question.at("text").get<std::string>());
    return {{"done", true}};
  }
  ordered_json prepare(const json&) { return {{"file", installation_.prepare()}}; }
  ordered_json install(const json&) {
    installation_.commit();
    return {{"done", true}};
  }
  [[nodiscard]] const cluster::Port& port_of(const json& question) const {
    return ports_.at(question.at("port").get<std::size_t>());
  }

  const std::map<std::string, Answer> answers_{
      {"hello", &Agent::hello},     {"listen", &Agent::listen}, {"speak", &Agent::speak},
      {"heard", &Agent::heard},     {"open", &Agent::open},     {"serve", &Agent::serve},
      {"measure", &Agent::measure}, {"keep", &Agent::keep},     {"prepare", &Agent::prepare},
      {"install", &Agent::install}};
  std::string secret_;
  std::uint32_t host_ = 0;
  std::vector<cluster::Port> ports_;
  std::unique_ptr<probe::Beacons> beacons_;
  std::unique_ptr<probe::Door> door_;
  Installation installation_;
};

}  // namespace

ordered_json describe_this_host(const std::string& interfaces) {
  return describe(probe::list_ports(kAddressPatience, interfaces));
}

void answer_questions() {
  Agent agent;
  std::string rest;
  for (std::string line = next_line(rest); !line.empty(); line = next_line(rest)) {
    ordered_json answer;
    try {
      answer = agent.answer(json::parse(line));
    } catch (const std::exception& error) {
      answer = {{"error", plain_words(error)}};
    }
    print(answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  }
}

}  // namespace multitree::tools
