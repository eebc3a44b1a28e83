// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Names of networks that were changed: "torus:4x4?ranks=0-7".
#pragma once

#include <string>
#include <string_view>

namespace multitree {

/// The name with one more option of a spec.
inline std::string name_with_option(const std::string& name, std::string_view key,
                                    std::string_view value) {
  std::string result = name;
  result += name.find('?') == std::string::npos ? '?' : '&';
  return result.append(key).append("=").append(value);
}

}  // namespace multitree
