// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whole files, without the types that the parsers use.
#include "algorithms/io/files.hpp"

#include <optional>

#include "algorithms/io/io.hpp"
#include "topologies/io/files.hpp"

namespace multitree {

StoredPlan load_plan_file(const std::string& path) {
  PlanFile file = parse_plan_json(read_file(path), path == "-" ? "standard input" : path);
  return {std::move(file.topology), std::move(file.schedules)};
}

void store_plan_file(const std::string& path, const StoredPlan& plan,
                     std::string_view certificate) {
  std::optional<CertificateFile> proof;
  if (!certificate.empty()) proof = parse_certificate_json(certificate, "certificate");
  const Certificate* cuts = proof ? &proof->certificate : nullptr;
  write_file(path, plan.schedules.size() == 1
                       ? write_schedule_json(plan.schedules[0].schedule, plan.topology, cuts)
                       : write_plan_json(plan.schedules, plan.topology, cuts));
}

}  // namespace multitree
