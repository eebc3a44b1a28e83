// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The first difference between the events of both sides.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nic/program/program.hpp"
#include "rtl/sim/events.hpp"
#include "topologies/topology.hpp"

namespace multitree::rtl {

/// Compares the hardware's events with the model's, until they differ.
class Comparison {
 public:
  Comparison(std::vector<Event> expected, const Topology& topology, const nic::Program& program)
      : topology_(topology), program_(program), last_begun_(topology.num_ranks(), 0) {
    for (const Event& e : expected) {
      if (e.kind == Event::Kind::Begun) last_begun_[e.place] = e.cycle;
    }
    std::erase_if(expected, [&](const Event& e) { return is_idle_step(e); });
    expected_ = std::move(expected);
  }

  /// All of the hardware's of one cycle. Cycles follow each other.
  void compare(std::uint32_t cycle, std::span<const Event> all) {
    if (!difference_.empty()) return;
    std::vector<Event> got(all.begin(), all.end());
    std::erase_if(got, [&](const Event& e) { return is_idle_step(e); });
    const auto begin = expected_.begin() + static_cast<std::ptrdiff_t>(next_);
    const auto end = std::find_if(begin, expected_.end(),
                                  [&](const Event& event) { return event.cycle > cycle; });
    next_ = static_cast<std::size_t>(end - expected_.begin());
    count_ += got.size();
    if (std::equal(begin, end, got.begin(), got.end())) return;
    std::vector<Event> missing, extra;
    std::set_difference(begin, end, got.begin(), got.end(), std::back_inserter(missing));
    std::set_difference(got.begin(), got.end(), begin, end, std::back_inserter(extra));
    difference_ = fmt::format("cycle {}:", cycle);
    for (const Event& e : missing) {
      difference_ += fmt::format(" model: {};", describe(e, topology_, program_));
    }
    for (const Event& e : extra) {
      difference_ += fmt::format(" hardware: {};", describe(e, topology_, program_));
    }
    difference_.pop_back();
  }

  [[nodiscard]] const std::string& difference() const { return difference_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  /// A step in which the rank has nothing left to begin: hardware that is done counts no steps.
  [[nodiscard]] bool is_idle_step(const Event& e) const {
    return e.kind == Event::Kind::Step && e.cycle > last_begun_[e.place];
  }

  const Topology& topology_;
  const nic::Program& program_;
  std::vector<std::uint32_t> last_begun_;  // [rank]: cycle
  std::vector<Event> expected_;
  std::size_t next_ = 0;
  std::uint64_t count_ = 0;
  std::string difference_;
};

}  // namespace multitree::rtl
