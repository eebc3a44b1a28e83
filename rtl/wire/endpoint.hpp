// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A node whose links are cables: hardware, or software that does what the hardware does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nic/parameters.hpp"
#include "nic/table/table.hpp"
#include "rtl/sim/loader.hpp"
#include "rtl/sim/network.hpp"
#include "rtl/wire/cable.hpp"
#include "topologies/topology.hpp"

namespace multitree::rtl {

/// All cables of a node.
struct Cables {
  std::vector<Cable> all;
  std::vector<std::uint32_t> out, in;  ///< [port], as the links of its node: which of `all`
  [[nodiscard]] Cable& of_out(std::size_t port) { return all[out[port]]; }
  [[nodiscard]] Cable& of_in(std::size_t port) { return all[in[port]]; }
};

/// One cable for each link to another node and the link back, if there is one.
/// \param frame_bytes that a frame may have \param places of each link
Cables make_cables(const Topology& topology, NodeId node, std::uint32_t job,
                   std::size_t frame_bytes, Places places);

/// A rank or a switch. What only ranks have is as of one that has nothing to do.
class Endpoint {
 public:
  Endpoint() = default;
  virtual ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  /// Its contribution, and what it ends with.
  [[nodiscard]] virtual std::span<std::byte> buffer() { return {}; }
  /// From here on it sends.
  virtual void start() {}
  /// Does what can be done now, or a part of it. \returns whether there was anything.
  virtual bool work() = 0;
  /// All is sent and taken in; what others send each other through it still has to be carried.
  [[nodiscard]] virtual bool is_done() const { return true; }
  /// What went wrong; empty: nothing.
  [[nodiscard]] virtual std::string error() = 0;
};

/// What a rank is to do.
struct Part {
  const Topology& topology;
  const Collective& collective;
  Rank rank{};
  Cables& cables;
};

/// A verilated interface with its router and memory, loaded by its registers.
/// \throws Error(Unsupported) as Network and load()
std::unique_ptr<Endpoint> make_hardware_endpoint(const Part& part, Adders adders);
/// The same tables, executed by this processor.
/// \throws Error(Unsupported) as load()
std::unique_ptr<Endpoint> make_software_endpoint(const Part& part);

struct SwitchPart {
  const Topology& topology;
  const nic::Parameters& parameters;
  NodeId node{};
  Cables& cables;
};

/// A verilated router. \throws Error(Unsupported) as Network
std::unique_ptr<Endpoint> make_hardware_switch(const SwitchPart& part);
/// A router in this processor, whose virtual channels have places as those of the hardware.
std::unique_ptr<Endpoint> make_software_switch(const SwitchPart& part);

/// What the hardware of that rank is told. \throws as load()
std::vector<RegisterWrite> writes_of(const Part& part);

}  // namespace multitree::rtl
