// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a rank has heard others say, and who is told of it.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime {

/// Keeps what comes before there is a listener. Of one thread.
class Hearing {
 public:
  void hear(Seat from, std::string words) {
    if (kept_.size() == kMostKept) kept_.pop_front();
    kept_.emplace_back(from, std::move(words));
  }
  void set(Bootstrap::Listener listener) { listener_ = std::move(listener); }
  /// Tells the listener all that there is; what it answers.
  std::vector<std::string> tell() {
    std::vector<std::string> answers;
    while (listener_ != nullptr && !kept_.empty()) {
      const auto [from, words] = std::move(kept_.front());
      kept_.pop_front();
      if (std::string answer = listener_(from, words); !answer.empty()) {
        answers.push_back(std::move(answer));
      }
    }
    return answers;
  }

 private:
  /// Of a rank that does not listen, as it does not want what others agree on.
  static constexpr std::size_t kMostKept = 1024;

  std::deque<std::pair<Seat, std::string>> kept_;
  Bootstrap::Listener listener_;
};

}  // namespace multitree::runtime
