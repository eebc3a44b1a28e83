// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Jobs that a process is in, so that a rank which waits in one answers the questions of others.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime {

/// While it lives, the thread that used the job last answers for it where it waits in another;
/// until one has, any does.
class Attendance {
 public:
  explicit Attendance(std::shared_ptr<Bootstrap> job);
  ~Attendance();
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;

  /// From here on by this thread.
  void use();

  struct Entry;

 private:
  std::shared_ptr<Entry> entry_;
};

/// Tells those who ask in other jobs of this thread where this rank is: it waits `where` says, in
/// `self`. Returns what another rank has found out: that ranks wait for each other in two jobs, of
/// which this is one.
std::optional<std::string> answer_elsewhere(const Bootstrap& self,
                                            const std::function<Whereabouts()>& where);

}  // namespace multitree::runtime
