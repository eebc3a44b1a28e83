// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The border between exceptions inside and results outside.
#pragma once

#include <stdexcept>
#include <string>

#include "runtime/c/multitree.h"
#include "topologies/error.hpp"

namespace multitree::runtime::c {

/// What a function of the C API is to return, with the words for it.
class Failure : public std::runtime_error {
 public:
  Failure(mtResult_t result, const std::string& words)
      : std::runtime_error(words), result_(result) {}
  [[nodiscard]] mtResult_t result() const noexcept { return result_; }

 private:
  mtResult_t result_;
};

mtResult_t result_of(ErrorCode code) noexcept;

/// The exception in flight as a result; its words become the thread's last error. \pre in a catch
/// block.
mtResult_t result_in_flight() noexcept;
/// The last error of this thread, "" if there was none.
std::string& thread_words() noexcept;

/// Runs the body of a function of the C API: what it throws becomes a result. A body returns
/// nothing (success) or a result.
template <typename Body>
mtResult_t guarded(const Body& body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return mtSuccess;
    } else {
      return body();
    }
  } catch (...) {
    return result_in_flight();
  }
}

/// \throws Failure(mtInvalidArgument) naming the argument that is NULL.
void require(const void* pointer, const char* name);

}  // namespace multitree::runtime::c
