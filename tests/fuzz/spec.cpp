// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Networks by name. A spec is as short as its network is large: numbers of more than three digits
/// are no outside input but a wish, and left out.
#include <cctype>

#include "fuzz.hpp"
#include "topologies/registry.hpp"

using namespace multitree;

namespace {

/// Numbers of four digits, or six digits together.
bool asks_for_much(const std::uint8_t* data, std::size_t size) {
  std::size_t together = 0, run = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const bool digit = std::isdigit(data[i]) != 0;
    run = digit ? run + 1 : 0;
    together += digit ? 1 : 0;
    if (run > 3 || together > 6) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (asks_for_much(data, size)) return 0;
  return fuzz::read(data, size,
                    [](std::string_view text) { static_cast<void>(make_topology(text)); });
}
