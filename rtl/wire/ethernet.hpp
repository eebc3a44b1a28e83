// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Frames on Ethernet interfaces and TAP devices. Linux.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rtl/wire/frame_port.hpp"
#include "runtime/job/bootstrap.hpp"

namespace multitree::rtl {

/// IEEE 802: for experiments within one organisation.
inline constexpr std::uint16_t kEtherType = 0x88b5;

using MacAddress = std::array<std::uint8_t, 6>;

/// All interfaces of a process that frames may take.
class Ethernet final : public FramePort {
 public:
  /// \param interfaces names; "tap:NAME" is a TAP device, which is made unless it is there, with an
  /// address of the process's; none: all Ethernet interfaces that are up. \param seat of the
  /// process
  /// \throws Error(InvalidArgument) for an interface that is not there or not Ethernet, or if there
  /// is none; Error(Io) without the right to open one.
  Ethernet(const std::vector<std::string>& interfaces, std::uint32_t seat);
  ~Ethernet() override;

  /// Bytes of a frame's payload that all interfaces carry.
  [[nodiscard]] std::size_t frame_bytes() const;

  /// Collective: says who is here on all interfaces until all have found all nodes that they have
  /// links to. Of the interfaces on which a node was heard, links take those on which the fewest
  /// others were, in turn: a cable rather than a network of all.
  /// \throws Error(Timeout) naming nodes that were not heard; as Bootstrap::barrier()
  void find(const Neighbourhood& around, runtime::Bootstrap& bootstrap,
            std::chrono::milliseconds timeout);

  std::span<const std::byte> receive() override;
  void send(const Way& way, std::span<const std::byte> frame) override;
  void wait(std::chrono::milliseconds most) override;

 private:
  struct Interface {
    std::string name;
    int file = -1;
    MacAddress address{};
    std::size_t mtu = 0;
  };
  struct Peer {
    std::size_t interface = 0;
    MacAddress address{};
    auto operator<=>(const Peer&) const = default;
  };

  void open(const std::string& name);
  void open_tap(const std::string& name);
  void send_on(const Interface& interface, const MacAddress& to, std::span<const std::byte> frame);
  void say_hello(const Neighbourhood& around);
  void listen(std::uint32_t job, std::map<std::uint32_t, std::vector<Peer>>& heard);
  void choose(const std::vector<Way>& ways,
              const std::map<std::uint32_t, std::vector<Peer>>& heard);

  std::uint32_t seat_;
  std::vector<Interface> interfaces_;
  std::map<Way, Peer> peers_;
  std::size_t next_ = 0;  // interface that is asked first
  Peer last_;             // that receive() had a frame from
  std::vector<std::byte> in_, out_;
};

}  // namespace multitree::rtl
