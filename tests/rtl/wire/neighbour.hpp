// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who a node has a cable to, as a test plays it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rtl/wire/cable.hpp"

namespace multitree::rtl {

/// The other end of a cable.
struct Neighbour {
  Neighbour(Cable& cable, Places places)
      : there(cable), here({cable.way().to, cable.way().from, cable.way().lane}, 0, 1500, places) {
    left.fill(places.flits);
  }

  void hear() {
    here.flush({}, [&](std::span<const std::byte> frame) { there.receive(*decode(frame), {}); });
  }
  void say() {
    there.flush({}, [&](std::span<const std::byte> frame) { here.receive(*decode(frame), {}); });
    LinkFlit flit;
    while (here.take_flit(flit)) {
      got.push_back(flit);
      if (returns_credits) here.put_credit(flit.vc);
    }
    for (std::uint8_t vc = 0; here.take_credit(vc);) ++left[vc];
  }

  Cable &there, here;
  std::array<std::uint32_t, mt_pkg::kNumVc> left{};  ///< places that it knows of
  std::vector<LinkFlit> got;
  bool returns_credits = true;
};

}  // namespace multitree::rtl
