// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Packed floats of another rank: a width, a count, and the packed bytes.
#include <vector>

#include "fuzz.hpp"
#include "runtime/kernels/lossless.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  const std::size_t width = std::size_t{2} << bytes.below(3);
  const std::size_t count = bytes.number() % 5000;
  const std::string packed = bytes.all();
  std::vector<char> to(count * width);
  return fuzz::read(nullptr, 0, [&](std::string_view) {
    runtime::LosslessCodec().decode(to.data(), count, width, packed.data(), packed.size());
  });
}
