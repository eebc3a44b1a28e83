// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks as threads, on every path that host memory takes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "c_api_support.hpp"

namespace multitree::c_api_test {

using Numbers = std::vector<std::int32_t>;
using Counts = std::vector<std::size_t>;

struct PathCase {
  const char* name;
  const char* transport;
  const char* algorithm;    ///< "auto": shared memory
  const char* peer_memory;  ///< MULTITREE_PEER_MEMORY
};

inline void PrintTo(const PathCase& path, std::ostream* out) { *out << path.name; }

class OnEveryPath : public ::testing::TestWithParam<PathCase> {
 protected:
  void SetUp() override { ::setenv("MULTITREE_PEER_MEMORY", GetParam().peer_memory, 1); }
  void TearDown() override { ::unsetenv("MULTITREE_PEER_MEMORY"); }

  /// Runs `body(rank, comm)` in a thread for each rank; communicators that failed are freed as
  /// well.
  static void run(int ranks, const std::function<void(int, mtComm_t)>& body) {
    const mtUniqueId id = new_id();
    in_threads(ranks, [&](int rank) {
      mtConfig_t config = loopback();
      config.transport = GetParam().transport;
      config.algorithm = GetParam().algorithm;
      mtComm_t comm = nullptr;
      ASSERT_EQ(mtCommInitRankConfig(&comm, ranks, id, rank, &config), mtSuccess)
          << mtGetLastError(nullptr);
      body(rank, comm);
      mtCommDestroy(comm);
    });
  }
};

inline auto all_paths() {
  return ::testing::Values(
      PathCase{"Host", "loopback", "auto", "1"}, PathCase{"HostInParts", "loopback", "auto", "0"},
      PathCase{"Loopback", "loopback", "ring", "1"}, PathCase{"Ucx", "ucx", "ring", "1"},
      PathCase{"Tcp", "tcp", "ring", "1"});
}

inline std::string name_of_path(const ::testing::TestParamInfo<PathCase>& path) {
  return path.param.name;
}

}  // namespace multitree::c_api_test
