// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree verify`: proves a schedule file, or says what is wrong with it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/verify.hpp"
#include "tools/certificates.hpp"
#include "tools/command.hpp"
#include "tools/progress.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

struct VerifyFlags {
  std::string schedule;
  std::string topology;
  std::size_t max_violations = 20;
  bool certificate = false;
  bool json = false;
};

ordered_json to_json(const Violation& violation) {
  ordered_json json = {{"kind", to_string(violation.kind)}};
  if (violation.step) json["step"] = *violation.step;
  if (violation.chunk) json["chunk"] = *violation.chunk;
  if (violation.src) json["src"] = index(*violation.src);
  if (violation.dst) json["dst"] = index(*violation.dst);
  if (violation.link) json["link"] = index(*violation.link);
  json["message"] = violation.message;
  return json;
}

ordered_json to_json(const SchedulePlan& plan, const Topology& topology,
                     const VerifyReport& report) {
  ordered_json violations = ordered_json::array();
  for (const Violation& violation : report.violations) violations.push_back(to_json(violation));
  return {{"ok", report.ok()},
          {"collective", to_string(plan.schedule.collective)},
          {"algorithm", plan.schedule.algorithm},
          {"topology", topology.name()},
          {"ranks", plan.schedule.ranks},
          {"chunks", plan.schedule.chunks.size()},
          {"steps", plan.schedule.num_steps()},
          {"transfers", plan.schedule.transfers.size()},
          {"total_violations", report.total_violations},
          {"violations", violations}};
}

void print_answer(const SchedulePlan& plan, const Topology& topology, const VerifyReport& report) {
  const Schedule& schedule = plan.schedule;
  print(fmt::format("{}: {} by {} on {}: {} ranks, {} chunks, {} steps, {} transfers\n",
                    report.ok() ? "verified" : "NOT CORRECT", to_string(schedule.collective),
                    schedule.algorithm, topology.name(), schedule.ranks, schedule.chunks.size(),
                    schedule.num_steps(), schedule.transfers.size()));
  for (const Violation& violation : report.violations) print(violation.message + "\n");
  if (report.total_violations > report.violations.size()) {
    print(fmt::format("... {} violations in all\n", report.total_violations));
  }
}

/// What the certificate in the file proves, and how near the schedule comes to it.
CertificateReport check(const SchedulePlan& plan, const Topology& topology,
                        const VerifyFlags& flags) {
  if (!plan.certificate) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: expected a certificate (key 'certificate') to check, got none",
                            flags.schedule));
  }
  return check_certificate(*plan.certificate, topology, &plan.schedule);
}

ordered_json to_json(const CertificateReport& report, const Topology& topology) {
  ordered_json violations = ordered_json::array();
  for (const CertificateViolation& violation : report.violations) {
    violations.push_back({{"kind", to_string(violation.fault)}, {"message", violation.message}});
  }
  return {{"ok", report.ok()},
          {"model", certificate_model(topology)},
          {"bound_shards", report.bound.str()},
          {"load_shards", report.load ? report.load->str() : ""},
          {"load_over_bound", report.ratio ? report.ratio->str() : ""},
          {"optimal", report.optimal},
          {"steps", report.steps},
          {"least_steps", report.step_bound},
          {"violations", violations}};
}

void print_answer(const CertificateReport& report, const Topology& topology) {
  for (const CertificateViolation& violation : report.violations) {
    print(fmt::format("{}: {}\n", to_string(violation.fault), violation.message));
  }
  if (!report.ok()) {
    print("NOT PROVED: the certificate is wrong\n");
    return;
  }
  print(fmt::format("proved: at least {} shard times; the busiest link takes {}",
                    report.bound.str(), report.load->str()));
  if (report.optimal) {
    print(fmt::format(": optimal ({})\n", certificate_model(topology)));
  } else if (report.ratio) {
    print(fmt::format(": {} = {:.3f} times that\n", report.ratio->str(),
                      report.ratio->convert_to<double>()));
  } else {
    print("\n");
  }
  print(fmt::format("proved: at least {} steps with chunks of this size; it takes {}\n",
                    report.step_bound, report.steps));
}

/// Verifies one schedule and says so; `json` is what --json prints of it.
bool answer(const SchedulePlan& plan, const VerifyFlags& flags, ordered_json& json) {
  const VerifyReport report =
      verify(plan.schedule, plan.topology, {.max_violations = flags.max_violations});
  // A schedule that is not correct has no load worth comparing.
  std::optional<CertificateReport> proof;
  if (flags.certificate && report.ok()) proof = check(plan, plan.topology, flags);
  json = to_json(plan, plan.topology, report);
  if (proof) json["certificate"] = to_json(*proof, plan.topology);
  if (!flags.json) {
    print_answer(plan, plan.topology, report);
    if (proof) print_answer(*proof, plan.topology);
  }
  return report.ok() && (!proof || proof->ok());
}

int run(const VerifyFlags& flags) {
  const Progress progress("verifying " + flags.schedule);
  const auto [text, name] = read_certificate(flags.schedule);
  std::optional<Topology> other;
  if (!flags.topology.empty()) {
    other = for_flag("--topology", [&] { return load_with_notes(flags.topology); });
  }
  if (flags.certificate && is_certificate(text)) {
    return check_certificate({text, name}, {.topology = std::move(other)}, flags.json);
  }
  PlanFile file = parse_plan_json(text, name);
  if (other) file.topology = std::move(*other);
  bool ok = true;
  ordered_json answers = ordered_json::array();
  for (SizedSchedule& sized : file.schedules) {
    const SchedulePlan plan{file.topology, std::move(sized.schedule), file.certificate};
    ok = answer(plan, flags, answers.emplace_back()) && ok;
  }
  if (flags.json) print_json(answers.size() == 1 ? answers.front() : answers);
  return ok ? kOk : kNegativeAnswer;
}

}  // namespace

Command add_verify_command(CLI::App& parent) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* app = parent.add_subcommand(
      "verify", "Prove that a schedule does its collective on its network without contention");
  app->add_option("schedule", flags->schedule, "Schedule or plan file ('-': standard input)")
      ->required();
  app->add_option("-t,--topology", flags->topology,
                  "Verify on this network instead of the one in the file");
  app->add_option("--max-violations", flags->max_violations, "Print at most this many")
      ->check(number_from(0))
      ->capture_default_str();
  app->add_flag("--certificate", flags->certificate,
                "Check the certificate in the file too, and compare the schedule with it; or the "
                "file is a certificate by itself, of a bandwidth, a time or an iteration");
  app->add_flag("--json", flags->json, "Print JSON");
  app->footer("Example: multitree schedule -t mesh:4x4 -a multitree | multitree verify -");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace multitree::tools
