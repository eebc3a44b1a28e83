// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Proofs of least times as files (docs/file-formats.md).
#pragma once

#include <string>
#include <string_view>

#include "algorithms/certificate/time_certificate.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// A certificate with the network that it is for.
struct TimeCertificateFile {
  Topology topology;
  TimeCertificate certificate;
};

/// Canonical, byte-stable; a cut is one line.
std::string write_time_certificate_json(const TimeCertificate& certificate,
                                        const Topology& topology);
/// Checks form and ranges, not what is proved (check_time_certificate()). \throws
/// Error(InvalidInput) "file:line: ...".
TimeCertificateFile parse_time_certificate_json(std::string_view text, const std::string& file);

/// Whether a text says that it is such a file.
bool is_time_certificate(std::string_view text);

}  // namespace multitree
