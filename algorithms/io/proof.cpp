// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From exact numbers to text.
#include "algorithms/io/proof.hpp"

#include <fmt/format.h>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/report.hpp"
#include "topologies/error.hpp"

namespace multitree {

Proof prove_bound(const Topology& topology, Collective collective, Rank root) {
  const Certified certified = certify(topology, collective, root);
  return {.bound = certified.certificate.bound.str(),
          .optimum = certified.exact,
          .certificate = write_certificate_json(certified.certificate, topology)};
}

ProofReport check_proof(std::string_view certificate, const Schedule& schedule,
                        const Topology& topology, std::uint64_t bytes) {
  const CertificateFile file = parse_certificate_json(certificate, "certificate");
  if (file.topology != topology) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("certificate: expected one for {}, got one for {}", topology.name(),
                            file.topology.name()));
  }
  const CertificateReport checked = check_certificate(file.certificate, topology, &schedule);
  ProofReport report{.faults = {},
                     .bound = checked.bound.str(),
                     .load = checked.load.value_or(0).str(),
                     .ratio = checked.ratio.value_or(1).convert_to<double>(),
                     .optimal = checked.optimal,
                     .bound_seconds = seconds_of(checked.bound, topology, bytes)};
  for (const CertificateViolation& violation : checked.violations) {
    report.faults.push_back(violation.message);
  }
  return report;
}

}  // namespace multitree
