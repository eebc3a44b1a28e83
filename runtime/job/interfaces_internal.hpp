// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which of this host's interfaces a job may be met at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace multitree::runtime {

/// An address that this host has.
struct OwnAddress {
  std::string interface;
  std::string number;  ///< IPv4 or IPv6
  bool loopback = false;
};
/// Of all interfaces that are up: IPv4 before IPv6, and those of the host alone last. Without the
/// IPv6 addresses that are of a link alone.
std::vector<OwnAddress> own_addresses();

/// What the user has said: names of interfaces ("eth0", "ib*"), addresses and subnets
/// ("10.1.0.0/16", "fd00::/8"), each of which "^" leaves out, with commas between. An interface may
/// be met at if one of those without "^" fits, or there are none of them, and none of those with.
class InterfaceChoice {
 public:
  /// Empty: all. \throws Error(InvalidArgument) naming `what`.
  InterfaceChoice(std::string_view text, std::string_view what);
  [[nodiscard]] bool empty() const { return rules_.empty(); }
  /// Loopback always may: it is this host's alone.
  [[nodiscard]] bool allows(const OwnAddress& address) const;

 private:
  struct Rule {
    bool leaves_out = false;
    std::string name;               ///< of interfaces, "*" at its end: the beginning of one; or
    std::vector<std::uint8_t> net;  ///< bytes of the address
    unsigned bits = 0;              ///< of it that count
  };
  static Rule parse(std::string_view text, std::string_view what);
  [[nodiscard]] static bool fits(const Rule& rule, const OwnAddress& address);
  std::vector<Rule> rules_;
};

/// By MULTITREE_INTERFACE. \throws Error(InvalidArgument).
InterfaceChoice chosen_interfaces();

/// The numbers of this host's addresses at which a job may be met, as own_addresses().
/// \throws Error(InvalidArgument): there are none beside loopback, though some were asked for.
std::vector<std::string> host_addresses();
/// Where a door is to listen whose visitors may come from anywhere: the only address that they may
/// come to, or kAnyAddress.
std::string widest_interface();
/// Whether a connection that came to `number` came by an interface at which the job may be met.
bool may_be_met_at(const std::string& number);

}  // namespace multitree::runtime
