// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exceptions in words for a user.
#pragma once

#include <exception>
#include <new>
#include <string>

namespace multitree {

/// Its what(), but that of memory that is exhausted, which has the name of a class.
inline std::string plain_words(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? "out of memory" : error.what();
}

}  // namespace multitree
