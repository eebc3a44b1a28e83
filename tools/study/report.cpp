// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Puts the sections together.
#include "tools/study/report.hpp"

#include <fmt/format.h>

#include <array>

#include "tools/command.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

/// By Part.
constexpr std::array<Section (*)(const ReportInput&), kPartNames.size()> kSections = {
    bandwidth_section, scaling_section, training_section, compatibility_section};

std::string introduction(const StudyPlan& plan) {
  return fmt::format(
      "# The MULTITREE study, repeated\n\n"
      "Made by `multitree-study`{}, version " MULTITREE_VERSION
      ", from results.jsonl: {} model, but for\nCompatibility (flit), of {}. The study: Huang et "
      "al., "
      "\"Communication Algorithm-Architecture Co-Design for\nDistributed Deep Learning\", ISCA "
      "2021. Links of 16 GB/s and 150 ns, flits of 16 bytes, 1 GHz.\n",
      plan.quick ? " --quick" : "", nic::to_string(plan.model),
      plan.machine == nic::Machine::Ideal ? "ideal routers and interfaces"
                                          : "the hardware's routers and interfaces");
}

std::string claims_table(const std::vector<Claim>& claims) {
  if (claims.empty()) return {};
  Rows rows = {{"what", "published", "ours, the study's ports", "ours, equal ports", "remark"}};
  for (const Claim& claim : claims) {
    rows.push_back({claim.what, claim.published, claim.unequal, claim.equal, claim.why});
  }
  return "\n## Published and found\n\nThe study's ports: one for all links of a rank for ring and "
         "double binary tree, one a link for the others.\nEqual ports: one a link for everybody, "
         "which changes nothing for one ring (it uses one link of a rank\neither way); a ring "
         "each way uses two.\n\n" +
         markdown_table(rows);
}

std::string summary_table(const std::vector<Claim>& claims) {
  std::vector<std::vector<std::string>> rows = {
      {"", "published", "ours, the study's ports", "ours, equal ports"}};
  for (const Claim& claim : claims) {
    rows.push_back({claim.what, claim.published, claim.unequal, claim.equal});
  }
  return claims.empty() ? std::string() : format_table(rows);
}

}  // namespace

Report make_study_report(const ReportInput& input) {
  Report report;
  std::string body;
  std::vector<Claim> claims;
  for (std::size_t p = 0; p < kPartNames.size(); ++p) {
    if (!input.plan.has(static_cast<Part>(p))) continue;
    Section section = kSections[p](input);
    body += "\n" + section.text;
    claims.insert(claims.end(), section.claims.begin(), section.claims.end());
    report.figures.insert(report.figures.end(), section.figures.begin(), section.figures.end());
  }
  report.markdown = introduction(input.plan) + claims_table(claims) + body;
  report.summary = summary_table(claims);
  return report;
}

}  // namespace multitree::tools
