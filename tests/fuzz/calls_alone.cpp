// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Calls of the C API by a single rank.
#include "caller.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  mtUniqueId id{};
  fuzz::expect(mtGetUniqueId(&id) == mtSuccess, mtGetLastError(nullptr));
  fuzz::Caller(fuzz::Bytes(data, size), 0, 1).play(id);
  return 0;
}
