// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Independent pieces of work on all processors.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace multitree {

/// Threads that in_parallel() uses at most.
inline std::size_t parallel_threads() {
#ifdef __cpp_lib_jthread
  return std::max(1U, std::thread::hardware_concurrency());
#else
  return 1;  // a page of a browser
#endif
}

/// Calls work(0) .. work(count - 1), each once, in any order, on as many threads as there are
/// processors. \throws what the one with the least number has thrown, after all that had begun have
/// ended
template <class Work>
void in_parallel(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::size_t failed = count;
  std::exception_ptr error;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (i < failed) {
          failed = i;
          error = std::current_exception();
        }
        next = count;
      }
    }
  };
  {
#ifdef __cpp_lib_jthread
    const std::size_t threads = std::min(parallel_threads(), count);
    std::vector<std::jthread> others;
    try {
      for (std::size_t t = 1; t < threads; ++t) others.emplace_back(run);
    } catch (const std::system_error&) {  // the system has no more threads: it takes longer
    }
#endif
    run();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace multitree
