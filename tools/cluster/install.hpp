// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A cluster's file on each of its hosts, where jobs look for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/cluster/survey.hpp"

namespace multitree::tools {

/// Writes it on every host that `options` names, by the same commands: on all or, where one of them
/// cannot, on none. \returns the files, by host. \throws Error(Transport), Error(Timeout) with the
/// words of the host.
std::vector<std::string> install(const SurveyOptions& options, std::string_view text);

/// The same on this host, in two steps, for the program there.
class Installation {
 public:
  Installation() = default;
  ~Installation();
  Installation(const Installation&) = delete;
  Installation& operator=(const Installation&) = delete;

  /// A part of the text, one after the other.
  void add(std::string_view part) { text_ += part; }
  /// Writes it beside the file, whose name is returned, and which stays as it is. \throws
  /// Error(Io), Error(InvalidInput): the text is of no cluster
  std::string prepare();
  /// Puts it in place. \throws Error(Io), Error(InvalidInput): it is not prepared
  void commit();

 private:
  std::string text_, file_, beside_;  ///< beside_: written, and not in place; else empty
};

}  // namespace multitree::tools
