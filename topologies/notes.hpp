// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What was taken for granted about a network where its description left it open, for whoever
/// asked.
#pragma once

#include <string>
#include <vector>

namespace multitree {

/// Collects what is noted on this thread while it lives, one sentence each; the latest that lives
/// gets it. Without one, notes go nowhere.
class Notes {
 public:
  Notes();
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;
  ~Notes();

  /// Tells whoever collects, once for equal texts.
  static void add(const std::string& text);
  /// Where notes go that nobody here collects. For a library that holds this code once more, and
  /// is called by one that may collect.
  static void forward_to(void (*other_add)(const std::string& text));
  [[nodiscard]] const std::vector<std::string>& all() const { return all_; }

 private:
  Notes* before_;
  std::vector<std::string> all_;
};

}  // namespace multitree
