// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a host finds out about its cables: which ports it has, whom they hear, and how fast they
/// are. Nothing of it needs rights or addresses beyond those that a link has by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/job/bootstrap.hpp"
#include "topologies/cluster/cluster.hpp"

namespace multitree::runtime::probe {

/// Interfaces of this host that a cable may be in, in the order of the kernel: not loopback,
/// tunnels, or those that are part of a bridge or bond. Waits at most for `patience` until the
/// addresses of links that have just come up may be used.
/// `interfaces`: which of them, as MULTITREE_INTERFACE says it ("eth*,^docker0"); empty: all.
/// \throws Error(InvalidArgument): it says nothing
std::vector<cluster::Port> list_ports(Deadline patience, const std::string& interfaces);
/// \throws as list_ports()
void check_interfaces(const std::string& interfaces);
std::string own_hostname();
/// No two hosts (or network namespaces) have the same.
std::string own_identity();

/// A secret of 256 random bits as text, for one discovery. \throws Error(Transport)
std::string make_secret();

/// Where beacons are sent: ff02::4d54 and 239.255.77.84, which no router passes on.
inline constexpr std::uint16_t kBeaconPort = 19796;

/// Says on each port which it is, and hears what others say there. A beacon carries a code by the
/// secret; what has none is not heard. Opened before anybody speaks.
class Beacons {
 public:
  /// `host`: the number of this one. Ports that are not up, or have no address, are left out.
  Beacons(const std::vector<cluster::Port>& ports, std::uint32_t host, const std::string& secret);
  ~Beacons();
  Beacons(const Beacons&) = delete;
  Beacons& operator=(const Beacons&) = delete;

  /// A beacon on each port.
  void speak();
  /// Takes in what comes for so long.
  void listen(Deadline time);
  /// Each once; ascending. Numbers of ports are places in the list.
  [[nodiscard]] std::vector<cluster::Hearing> heard() const;
  /// Why a port has no part in it, in words; empty if all have.
  [[nodiscard]] const std::vector<std::string>& left_out() const;

 private:
  struct Ears;
  std::unique_ptr<Ears> ears_;
};

/// One end of a cable that is measured: takes a connection at a port's own address.
class Door {
 public:
  /// \throws Error(Transport): the port cannot be listened at
  explicit Door(const cluster::Port& port);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  [[nodiscard]] std::uint16_t number() const;
  /// Waits for who knows the secret, and plays its part of measure(). \throws Error(Timeout),
  /// Error(Transport)
  void serve(const std::string& secret, Deadline deadline);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

struct Measured {
  Bandwidth forward, backward;  ///< from this end to the other, and back; payload of TCP
  Time latency;                 ///< half of the middle round trip of a byte
};
/// The other end: connects from `port` to the door at `address`. \throws as Door::serve()
Measured measure(const cluster::Port& port, const std::string& address, std::uint16_t door,
                 const std::string& secret, Deadline deadline);

}  // namespace multitree::runtime::probe
