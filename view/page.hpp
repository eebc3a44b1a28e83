// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One page for a browser that shows a network, the schedules made for it, and the proof of its
/// bound. It holds all that it needs and asks no other machine for anything.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"
#include "view/timeline.hpp"

namespace multitree::view {

/// What a page is about.
struct Subject {
  const Topology& topology;
  const Certified& certified;           ///< of the schedules' collective and root
  std::span<const Schedule> schedules;  ///< at least one, verified, of one collective
  std::uint64_t bytes = 0;              ///< > 0; of the buffer, for times and loads
  CostModel cost;                       ///< of predicted times
  /// A network with the same nodes, which are drawn where they are in that; none: in its own.
  const Topology* places_of = nullptr;
  std::span<const Timeline> timelines = {};  ///< on this network, to be laid beside each other
};

/// Numbers that the transfers of all schedules may take in a page. Those of a schedule beyond are
/// left out, which the page says; its loads, steps and times stay.
inline constexpr std::size_t kMostNumbers = 2'000'000;
/// Messages of a timeline that are shown, the first ones.
inline constexpr std::size_t kMostPassages = 50'000;

/// What the page's script draws (view/page/page.js), as JSON. The same subject gives the same
/// bytes.
std::string page_data(const Subject& subject, std::size_t most_numbers = kMostNumbers);

/// HTML, UTF-8. The same subject gives the same bytes. O(transfers + links).
std::string write_page(const Subject& subject, std::size_t most_numbers = kMostNumbers);

}  // namespace multitree::view
