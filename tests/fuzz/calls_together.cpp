// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Calls of the C API by three ranks, threads of this process, which are not always of one mind.
#include <thread>

#include "caller.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr int kRanks = 3;
  mtUniqueId id{};
  fuzz::expect(mtGetUniqueId(&id) == mtSuccess, mtGetLastError(nullptr));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([=] { fuzz::Caller(fuzz::Bytes(data, size), rank, kRanks).play(id); });
  }
  for (std::thread& one : ranks) one.join();
  return 0;
}
