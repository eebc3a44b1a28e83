// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Checks files that are certificates by themselves: of a bandwidth bound, of a least time, of an
/// iteration of training.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topologies/topology.hpp"
#include "training/model.hpp"

namespace multitree::tools {

struct CertificateText {
  std::string text;
  std::string name;  ///< of the file, for messages
};
/// \param path "-": standard input
CertificateText read_certificate(const std::string& path);

/// Whether a file's schema is that of a certificate.
[[nodiscard]] bool is_certificate(std::string_view text);

/// What certificates are checked against, where it is not what lies in their files.
struct Claims {
  std::optional<Topology> topology = std::nullopt;
  std::optional<training::Model> model = std::nullopt;  ///< of an iteration
};

/// Prints what the certificate proves, or all that is wrong with it. \returns the exit code.
/// \throws Error(InvalidInput) "file:line: ..."
int check_certificate(const CertificateText& file, const Claims& claims, bool json);

}  // namespace multitree::tools
