// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all ranks have said, with what neighbours say alike told once: of a barrier or an agreement
/// it is a few bytes, however many ranks there are.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace multitree::runtime {

std::string pack_runs(const std::vector<const std::string*>& texts);
/// So many of them; those that `packed` lacks are empty.
std::vector<std::string> unpack_runs(const std::string& packed, std::size_t texts);

}  // namespace multitree::runtime
