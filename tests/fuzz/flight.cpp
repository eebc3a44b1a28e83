// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flight records, behind the words by which they begin, as long as these are.
#include "runtime/flight/flights.hpp"

#include <algorithm>

#include "fuzz.hpp"
#include "runtime/flight/layout_internal.hpp"

using namespace multitree;
using namespace multitree::runtime::flight;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::read(data, size, [](std::string_view text) {
    std::string bytes(sizeof(Page), '\0');
    std::ranges::copy(kMagic, bytes.begin());
    const std::size_t length = std::min(text.size(), bytes.size() - kMagic.size());
    std::copy_n(text.begin(), length, bytes.begin() + kMagic.size());
    const Flight flight = parse_flight(bytes, fuzz::kFile);
    fuzz::expect(flight.rank < flight.ranks, "a rank that its job does not have");
    fuzz::expect(flight.calls.size() <= kCalls, "more calls than are kept");
  });
}
