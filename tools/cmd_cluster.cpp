// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree cluster`: hosts with cables between them, found and measured.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/probe/probe.hpp"
#include "tools/cluster/agent.hpp"
#include "tools/cluster/install.hpp"
#include "tools/cluster/remote.hpp"
#include "tools/cluster/report.hpp"
#include "tools/cluster/survey.hpp"
#include "tools/command.hpp"
#include "tools/progress.hpp"
#include "topologies/io/cluster_file.hpp"
#include "topologies/io/files.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

/// Of a message between two ranks of a host.
constexpr Time kMemoryLatency{1'000'000};

struct ClusterFlags {
  std::vector<std::string> hosts;
  std::string ssh = "ssh -o BatchMode=yes -o ConnectTimeout=10", program = "multitree";
  std::string output, expected, file, interfaces;
  std::string memory = "10GB/s";
  std::uint32_t timeout = 30, ranks_per_host = 1;
  bool json = false, agent = false, install = false;
};

/// Letters that mean nothing to a shell: ssh hands what it is given to one.
bool is_plain(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-+/@:%~").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.front() != '-' && std::ranges::all_of(text, plain);
}

/// What is named as the only host may be a file of hosts.
std::string hint_for_file(const std::vector<std::string>& hosts) {
  std::error_code ignored;
  if (hosts.size() != 1 || !std::filesystem::is_regular_file(hosts.front(), ignored)) return {};
  return fmt::format("; if {0} has a host a line, write $(cat {0})", hosts.front());
}

std::vector<std::string> hosts_of(const ClusterFlags& flags) {
  std::vector<std::string> hosts;
  for (const std::string& list : flags.hosts) {
    for (const std::string& host : for_flag("HOSTS", [&] { return split_list(list); })) {
      if (!is_plain(host)) {
        throw Error(ErrorCode::InvalidArgument,
                    fmt::format("HOSTS: expected names such as desk1 or me@desk1, got '{}'", host));
      }
      if (std::ranges::find(hosts, host) != hosts.end()) {
        throw Error(ErrorCode::InvalidArgument,
                    fmt::format("HOSTS: expected each host once, got '{}' twice", host));
      }
      hosts.push_back(host);
    }
  }
  if (hosts.size() < 2) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("HOSTS: expected two hosts or more, got {}{}", hosts.size(),
                            hint_for_file(hosts)));
  }
  return hosts;
}

void check_output(const std::string& output) {
  if (output.empty()) return;
  if (!output.ends_with(".json")) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--output: expected a name that ends in .json, got '{}'", output));
  }
  check_writable(output);
}

std::string findings_text(const std::vector<cluster::Finding>& findings) {
  std::string text;
  for (const cluster::Finding& one : findings) {
    text += fmt::format("# {}: {}\n", one.kind, one.words);
  }
  return text;
}

/// Ports that are not in the table: switches that the network has no use for.
std::string unused_text(const Survey& survey) {
  const std::vector<std::string> names = cluster::node_names(survey.hosts);
  std::string text;
  for (const cluster::Segment& segment : survey.inferred.segments) {
    const auto is_measured = [&](const cluster::Flow& flow) {
      return std::ranges::binary_search(segment.ends, flow.from);
    };
    if (segment.is_cable() || std::ranges::any_of(survey.flows, is_measured)) continue;
    std::vector<std::string> ends;
    for (const cluster::PortId id : segment.ends) {
      ends.push_back(names[id.host] + " " + survey.hosts[id.host].ports[id.port].name);
    }
    text += fmt::format("# switch: {} hear each other; not needed, as cables join all hosts\n",
                        fmt::join(ends, ", "));
  }
  return text;
}

/// Of --topology, if it is given.
std::optional<Topology> expected_network(const ClusterFlags& flags, std::size_t hosts) {
  if (flags.expected.empty()) return std::nullopt;
  Topology expected = load_network({.topology = flags.expected, .changes = {}});
  if (expected.num_ranks() == hosts) return expected;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("--topology: expected a network of {} ranks, one for each host, got "
                          "{} with {}",
                          hosts, expected.name(), expected.num_ranks()));
}

int discover(const ClusterFlags& flags) {
  const SurveyOptions options{hosts_of(flags), words_of_command(flags.ssh, "--ssh"), flags.program,
                              flags.interfaces, std::chrono::seconds(flags.timeout)};
  runtime::probe::check_interfaces(flags.interfaces);
  if (!is_plain(flags.program)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--program: expected a path without blanks and signs that a shell "
                            "knows, got '{}'",
                            flags.program));
  }
  check_output(flags.output);
  const cluster::Memory memory{for_flag("--memory", [&] { return parse_bandwidth(flags.memory); }),
                               kMemoryLatency};
  const std::optional<Topology> expected = expected_network(flags, options.hosts.size());
  const Survey survey = tools::survey(options);
  cluster::Cluster cluster =
      cluster::assemble(survey.hosts, survey.inferred.segments, survey.flows);
  std::vector<cluster::Finding> findings = survey.findings;
  for (cluster::Finding& one :
       cluster::judge(survey.hosts, survey.inferred, cluster, expected ? &*expected : nullptr)) {
    findings.push_back(std::move(one));
  }
  if (!cluster.network) {
    findings.push_back(
        {"parts",
         fmt::format("nothing joins all hosts, so there is no network{}",
                     flags.output.empty() && !flags.install ? "" : ", and nothing is written")});
  }
  // Beside a slow cable one more would be a slow one, too: mending it comes first.
  const bool any_slow = std::ranges::any_of(
      findings, [](const cluster::Finding& one) { return one.kind == "slow" && one.fault; });
  const auto advice = cluster.network && !any_slow ? advise(*cluster.network) : std::nullopt;
  if (cluster.network && flags.ranks_per_host > 1) {
    cluster.network = with_ranks_per_host(*cluster.network, flags.ranks_per_host, memory);
  }
  const std::string written = cluster.network ? write_cluster_json(cluster) : std::string();
  std::vector<std::string> installed;
  if (cluster.network && flags.install) installed = install(options, written);
  if (cluster.network && !flags.output.empty()) write_file(flags.output, written);
  if (flags.json) {
    ordered_json json = cluster_json(cluster);
    json["findings"] = findings_json(findings);
    json["advice"] = advice_json(advice);
    if (flags.install) json["installed"] = installed;
    print_json(json);
  } else {
    std::string text = cables_text(cluster) + unused_text(survey) + findings_text(findings);
    if (advice) {
      text += fmt::format(
          "# a cable {} - {} ({}) would help most: an all-reduce takes {:.3f} of "
          "the time at best\n",
          advice->first, advice->second, to_string(advice->bandwidth), advice->share);
    }
    for (std::size_t i = 0; i < installed.size(); ++i) {
      text += fmt::format("# installed on {}: {}\n", options.hosts[i], installed[i]);
    }
    print(text);
  }
  return std::ranges::any_of(findings, &cluster::Finding::fault) ? kNegativeAnswer : kOk;
}

int probe(const ClusterFlags& flags) {
  if (flags.agent) {
    answer_questions();
    return kOk;
  }
  const ordered_json here = describe_this_host(flags.interfaces);
  if (flags.json) {
    print_json(here);
    return kOk;
  }
  std::vector<std::vector<std::string>> rows{{"port", "state", "Mbit/s", "address"}};
  for (const ordered_json& port : here["ports"]) {
    rows.push_back({port["port"].get<std::string>(), port["state"].get<std::string>(),
                    port["mbits"].is_null() ? "-" : port["mbits"].dump(),
                    port["address"].is_null() ? "-" : port["address"].get<std::string>()});
  }
  print(fmt::format("# {}: {} ports\n", here["hostname"].get<std::string>(), rows.size() - 1));
  print(format_table(rows));
  return kOk;
}

int show(const ClusterFlags& flags) {
  const cluster::Cluster cluster = parse_cluster_json(read_file(flags.file), flags.file);
  if (flags.json) {
    print_json(cluster_json(cluster));
    return kOk;
  }
  std::string text;
  const Topology& network = *cluster.network;
  std::uint32_t rank = 0;
  for (const cluster::Place& host : cluster.hosts) {
    const std::uint32_t first = rank;
    while (rank < network.num_ranks() &&
           cluster::host_of(network.node(network.node_of(Rank{rank})).name) == host.node) {
      ++rank;
    }
    const std::string ranks = rank - first == 1 ? fmt::format("rank {}", first)
                                                : fmt::format("ranks {}-{}", first, rank - 1);
    text += fmt::format("# {}: {}, reached as {}\n", ranks, host.node, host.reach);
  }
  print(text + cables_text(cluster));
  return kOk;
}

void add_interfaces(CLI::App& app, ClusterFlags& flags) {
  app.add_option("--interfaces", flags.interfaces,
                 "Interfaces that may be ports, as in 'enp*,^docker0' (all)");
}

CLI::App* add_discover(CLI::App& app, ClusterFlags& flags) {
  CLI::App* discover = app.add_subcommand(
      "discover", "Find the cables between hosts, measure them, and say which are not right");
  discover
      ->add_option("hosts", flags.hosts,
                   "Hosts, as the command of --ssh reaches them; rank i "
                   "of the network is the i-th")
      ->required();
  discover
      ->add_option("--ssh", flags.ssh,
                   "What runs a program on a host: it is followed by the host and the program")
      ->capture_default_str();
  discover->add_option("--program", flags.program, "This program on the hosts")
      ->capture_default_str();
  add_interfaces(*discover, flags);
  discover->add_option("-o,--output", flags.output,
                       "Write network and ports here: for -t, and for MULTITREE_CLUSTER");
  discover->add_flag("--install", flags.install,
                     "Write them on every host, where jobs find them that name nothing");
  discover->add_option(
      "-t,--topology", flags.expected,
      "Network that is expected: its ranks are the hosts, by their names or in order");
  discover
      ->add_option("--ranks-per-host", flags.ranks_per_host,
                   "Ranks of a host in the network: the first has the cables, and forwards for the "
                   "others")
      ->check(number_from(1, 1024))
      ->capture_default_str();
  discover->add_option("--memory", flags.memory, "What ranks of a host tell each other in a second")
      ->capture_default_str();
  discover->add_option("--timeout", flags.timeout, "Seconds until every host has to have answered")
      ->check(number_from(1, 3600))
      ->capture_default_str();
  discover->add_flag("--json", flags.json, "Print JSON instead of the table");
  discover->footer(
      "Exit code 1: a cable is slow, wrong or missing; 4: a host cannot be asked.\n"
      "As in: multitree cluster discover desk1,desk2,desk3 -o desks.json");
  return discover;
}

}  // namespace

Command add_cluster_command(CLI::App& parent) {
  auto flags = std::make_shared<ClusterFlags>();
  CLI::App* app =
      parent.add_subcommand("cluster", "Hosts that are joined by cables without a switch");
  app->require_subcommand(1);
  CLI::App* discover_app = add_discover(*app, *flags);
  CLI::App* probe_app =
      app->add_subcommand("probe", "The ports of this host that cables may be in");
  CLI::Option* json = probe_app->add_flag("--json", flags->json, "Print JSON");
  add_interfaces(*probe_app, *flags);
  probe_app
      ->add_flag("--agent", flags->agent, "Answer the questions of a discovery on standard input")
      ->excludes(json);
  CLI::App* show_app = app->add_subcommand("show", "What a file of 'cluster discover -o' says");
  show_app->add_option("file", flags->file, "The file ('-': standard input)")->required();
  show_app->add_flag("--json", flags->json, "Print JSON");
  show_app->footer("As in: multitree cluster show desks.json");
  for (CLI::App* either : {app, probe_app}) either->footer("Example: multitree cluster probe");
  return {app, [flags, discover_app, probe_app, show_app] {
            if (discover_app->parsed()) return discover(*flags);
            return probe_app->parsed() ? probe(*flags) : show(*flags);
          }};
}

}  // namespace multitree::tools
