// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Threads of which the system may have no more.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "topologies/error.hpp"

namespace multitree {

/// A thread that does `work`. \param purpose for the message, as "progress"
/// \throws Error(Io) "cannot start a thread for PURPOSE: CAUSE"
template <typename Work>
std::thread start_thread(const char* purpose, Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::Io, std::string("cannot start a thread for ") + purpose + ": " +
                                   error.code().message());
  }
}

/// Calls work(0) .. work(count - 1), each in a thread of its own, and comes back when all have
/// ended. \pre work throws nothing. \param refused called as refused(i, error) in place of a work
/// whose thread the system does not start
template <typename Work, typename Refused>
void in_threads(const char* purpose, std::size_t count, const Work& work, const Refused& refused) {
  std::vector<std::thread> threads(count);
  for (std::size_t i = 0; i < count; ++i) {
    try {
      threads[i] = start_thread(purpose, [&work, i] { work(i); });
    } catch (const std::exception& error) {
      refused(i, error);
    }
  }
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace multitree
