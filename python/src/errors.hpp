// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exceptions of Python for failures of the library.
#pragma once

#include <multitree.h>

#include <string>

namespace multitree::python {

/// A failure under the name of its class in multitree.errors.
class Failure : public std::exception {
 public:
  Failure(std::string kind, std::string words) : kind_(std::move(kind)), words_(std::move(words)) {}
  [[nodiscard]] const char* what() const noexcept override { return words_.c_str(); }
  [[nodiscard]] const std::string& kind() const { return kind_; }

 private:
  std::string kind_, words_;
};

/// The failure that a result of the C API stands for, in the library's words.
/// \throws Failure unless the result is mtSuccess.
void check(mtResult_t result);

/// Class of the exception for a result.
std::string kind_of(mtResult_t result);

}  // namespace multitree::python
