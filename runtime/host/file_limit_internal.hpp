// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A limit on the size of files that also counts memory which is shared as a file.
#pragma once

#include <csignal>
#include <ctime>

namespace multitree::runtime::host {

/// While it lives, what is larger than this process's files may be (`ulimit -f`) is an error
/// (EFBIG) in this thread, and not the death of the process by SIGXFSZ.
class FileLimitIsAnError {
 public:
  FileLimitIsAnError() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~FileLimitIsAnError() {
    if (sigismember(&before_, SIGXFSZ) == 1) return;
    const timespec now{};
    while (::sigtimedwait(&signal_, nullptr, &now) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  FileLimitIsAnError(const FileLimitIsAnError&) = delete;
  FileLimitIsAnError& operator=(const FileLimitIsAnError&) = delete;

 private:
  sigset_t signal_{}, before_{};
};

}  // namespace multitree::runtime::host
