// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// UCX statuses become Errors here and nowhere else.
#pragma once

#include <string>

#include "runtime/messages/ucx/library_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {

/// "Input/output error", in UCX's own words.
inline std::string words_of(ucs_status_t status) { return ucs_status_string(status); }

/// \throws Error(Transport) "UCX: <what>: <status>" unless the status is UCS_OK.
inline void ucx_check(ucs_status_t status, const char* what) {
  if (status != UCS_OK) {
    throw Error(ErrorCode::Transport, std::string("UCX: ") + what + ": " + words_of(status));
  }
}

}  // namespace multitree::runtime
