// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks as processes of one parent, with a page that all of them see in place of NCCL's own
/// exchange.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/nccl/abi_internal.hpp"

namespace multitree::nccl {

inline constexpr std::chrono::seconds kPatience{60};

/// Calls until it answers true. \throws std::runtime_error naming what did not come
template <typename Ready>
void wait_until(const char* what, Ready ready) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!ready()) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error(std::string("waited in vain for ") + what);
    }
    std::this_thread::yield();
  }
}

struct Shared {
  static constexpr int kMost = 8;
  std::atomic<int> arrived{0};
  std::array<std::array<char, kHandleBytes>, kMost> handles{};

  void barrier(int ranks) {
    const int turn = arrived.fetch_add(1) / ranks;
    wait_until("all ranks", [&] { return arrived.load() >= (turn + 1) * ranks; });
  }
};

/// Runs `rank(shared, i)` in so many processes; its exceptions are printed. \returns how many
/// failed
template <typename Rank>
int run_processes(int ranks, Rank rank) {
  void* const page =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw std::runtime_error("no shared page");
  auto* const shared = new (page) Shared;
  std::vector<pid_t> children;
  for (int i = 0; i < ranks; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      int status = 0;
      try {
        rank(*shared, i);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", i, error.what());
        status = 1;
      }
      ::_exit(status);
    }
    children.push_back(child);
  }
  int failures = 0;
  for (const pid_t child : children) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) ++failures;
  }
  return failures;
}

}  // namespace multitree::nccl
