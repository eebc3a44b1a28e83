// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All nodes of a process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rtl/wire/plan.hpp"
#include "rtl/wire/station.hpp"

namespace multitree::rtl {

class Stations {
 public:
  using Clock = Station::Clock;

  /// \param plan outlives them \param here numbers of the nodes, at least one
  /// \param job number that frames carry \param frame_bytes that a frame may have
  /// \param open makes the port for frames from and to others; empty: there are no others
  Stations(const Plan& plan, std::vector<std::uint16_t> here, std::uint32_t job,
           std::size_t frame_bytes, const OpenPort& open);

  void start();
  /// Of all. \returns whether anything moved \throws Error(InvalidInput) naming the node whose
  /// frames or flits are not what they should be
  bool turn();
  /// Until a frame comes, but no longer.
  void wait(std::chrono::milliseconds most) { stations_.front()->wait(most); }

  /// Of ranks; switches always are.
  [[nodiscard]] bool are_done() const;
  /// "rank 3": those that are not done.
  [[nodiscard]] std::vector<std::string> late() const;
  /// \throws Error(InvalidInput) with what a node reports
  void check_errors();
  /// As Station::silent(), of the first node of which that can be said.
  [[nodiscard]] std::string silent(Clock::duration most) const;
  /// Ranks as they were when they were done. \pre all are
  [[nodiscard]] std::vector<WireReport> reports() const;

 private:
  [[nodiscard]] WireReport report_of(std::size_t i) const;

  const Plan& plan_;
  std::vector<std::uint16_t> here_;
  std::unique_ptr<MemoryWires> wires_;  // unless there is one node, with a port of its own
  std::vector<std::unique_ptr<Station>> stations_;  // as here_
  std::vector<std::optional<WireReport>> done_;     // as here_: of ranks that are
  Clock::time_point started_;
};

}  // namespace multitree::rtl
