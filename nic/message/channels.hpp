// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links, injection and ejection ports as one list of channels, and the routes of messages on them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nic/network/ports.hpp"
#include "nic/parameters.hpp"
#include "nic/program/program.hpp"
#include "topologies/topology.hpp"

namespace multitree::nic {

/// A link or a port of an interface.
struct Channel {
  std::uint32_t latency = 1;             ///< cycles that its credits take, at least 1
  std::uint32_t delay = 1;               ///< from a flit's start to its earliest start on the next
  std::uint32_t interval = kWholeCycle;  ///< cycles a flit, in units of 2^-16
};

/// A message's way: injection port, links, ejection port.
struct Hop {
  std::uint32_t channel = 0;
  std::uint8_t channel_class = 0;  ///< of virtual channels; ports have none and take class 0
};

/// Which channels there are and who uses them. Ports are laid out as in the flit-level network.
class Channels {
 public:
  Channels(const Program& program, const Topology& topology, const Parameters& parameters);

  [[nodiscard]] std::span<const Channel> all() const { return channels_; }
  [[nodiscard]] std::uint32_t num_links() const { return links_; }
  [[nodiscard]] std::uint32_t classes() const { return classes_; }
  [[nodiscard]] const Ports& ports() const { return ports_; }
  [[nodiscard]] std::span<const Hop> route(std::uint32_t route) const {
    return std::span(hops_).subspan(first_hop_[route], first_hop_[route + 1] - first_hop_[route]);
  }
  /// Of the longest route.
  [[nodiscard]] std::uint32_t most_hops() const { return most_hops_; }
  /// Cycles from a flit's start at the interface to its arrival at the other, if nothing delays it.
  [[nodiscard]] std::uint64_t delay(std::uint32_t route) const { return delays_[route]; }
  /// Whether an injection port's messages never meet those of another, nor wait for credits: each
  /// channel on their way has one that feeds it, takes a flit a cycle, and has buffers for the way
  /// of a flit there and of its credit back.
  [[nodiscard]] bool is_private(std::uint32_t injection_port) const {
    return private_[injection_port] != 0;
  }
  [[nodiscard]] bool all_private() const {
    return std::ranges::all_of(private_, [](std::uint8_t is) { return is != 0; });
  }
  /// Of the first route whose injection port is not private: what is in its way, in words; empty:
  /// all are private.
  [[nodiscard]] std::string hindrance() const { return std::string(hindrance_); }
  [[nodiscard]] std::uint32_t first_port() const { return links_; }

 private:
  void add_routes(const Program& program, const Topology& topology, const Parameters& parameters);
  void find_private(const Program& program, const Parameters& parameters);

  std::uint32_t links_ = 0, first_ejection_ = 0, classes_ = 1, most_hops_ = 0;
  std::vector<Channel> channels_;
  Ports ports_;
  std::vector<Hop> hops_;
  std::vector<std::uint32_t> first_hop_;
  std::vector<std::uint64_t> delays_;
  std::vector<std::uint8_t> private_;  // [injection port]
  std::string_view hindrance_;
};

}  // namespace multitree::nic
