// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What every rank has measured, told to all.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime::measuring {

/// Collective: everybody's values, as they lie in memory. \returns by seat
/// \throws Error(Transport), Error(Timeout) of the bootstrap
template <typename T>
std::vector<std::vector<T>> exchange_all(const std::vector<T>& mine, Bootstrap& job,
                                         Deadline timeout) {
  const std::string blob(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(T));
  std::vector<std::vector<T>> all;
  for (const std::string& other : job.all_gather(blob, timeout)) {
    auto& theirs = all.emplace_back(other.size() / sizeof(T));
    if (!theirs.empty()) std::memcpy(theirs.data(), other.data(), theirs.size() * sizeof(T));
  }
  return all;
}

}  // namespace multitree::runtime::measuring
