// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where the files of the project are, for tests that read some.
#pragma once

#include <string>
#include <string_view>

namespace multitree::test {

/// The full path of a file or folder given relative to the project: "tests/data/good".
std::string source_path(std::string_view relative);

}  // namespace multitree::test
