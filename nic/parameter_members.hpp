// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Members of Parameters by name, one at a time.
#pragma once

#include <string>
#include <vector>

#include "nic/parameters.hpp"

namespace multitree {
class JsonValue;
}

namespace multitree::nic {

/// All names, in the order of the struct.
std::vector<std::string> parameter_names();

/// Reads one member. \pre `name` is one of parameter_names().
/// \throws Error(InvalidInput) "file:line: ..." on what makes no sense, as read_parameters().
void read_parameter(const std::string& name, const JsonValue& value, Parameters& parameters);

}  // namespace multitree::nic
