// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The one exception type of the project.
#pragma once

#include <stdexcept>
#include <string>

namespace multitree {

/// What kind of failure an Error reports. The command line maps each to a documented exit code.
enum class ErrorCode {
  InvalidArgument,  ///< a flag, a spec string or an API argument is wrong (exit 2)
  Unsupported,      ///< a valid request that this algorithm or build cannot serve (exit 2)
  InvalidInput,     ///< a file's content is wrong; the message starts with file:line (exit 3)
  Io,               ///< a file cannot be read or written (exit 3)
  Transport,        ///< a peer, the network or the bootstrap failed (exit 4)
  Timeout,          ///< a deadline passed; the message says what was awaited (exit 4)
  Cuda,             ///< the accelerator failed (exit 4)
};

/// Thrown for everything a caller can be told about. A negative *answer* (a schedule that does not
/// verify, say) is a value and never an Error.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace multitree
