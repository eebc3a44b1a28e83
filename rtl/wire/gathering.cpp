// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/gathering.hpp"

#include <utility>

#include "topologies/error.hpp"

namespace multitree::rtl {

Gathering::Gathering(runtime::Bootstrap& bootstrap, std::string words,
                     std::chrono::milliseconds deadline)
    : all_(std::async(std::launch::async, [this, &bootstrap, words = std::move(words), deadline] {
        return bootstrap.all_gather(words, deadline, [this] {
          if (has_given_up_) throw Error(ErrorCode::Transport, "nic job: this rank gives up");
        });
      })) {}

}  // namespace multitree::rtl
