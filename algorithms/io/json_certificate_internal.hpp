// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The JSON object that a certificate is, in schedule files and in files of its own.
#pragma once

#include <string>

#include "algorithms/certificate/certificate.hpp"
#include "topologies/io/json_document.hpp"

namespace multitree {

/// The object, a cut a line, without a line end.
std::string certificate_object(const Certificate& certificate, const Topology& topology);

/// Checks form and ranges, not what the cuts prove. \throws Error(InvalidInput) "file:line: ...".
Certificate parse_certificate(const JsonValue& value, const Topology& topology);

/// The collective that a string names. \throws Error(InvalidInput) "file:line: ...".
Collective parse_collective(const JsonValue& value);

}  // namespace multitree
