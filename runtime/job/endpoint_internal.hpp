// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Addresses of IPv4 and IPv6 as sockets take them.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace multitree::runtime {

/// An address and a port.
class Endpoint {
 public:
  Endpoint() = default;
  /// Copies `length` bytes. \pre they are an IPv4 or IPv6 address
  Endpoint(const sockaddr* address, socklen_t length);
  /// Of a number ("10.0.0.1", "fd00::1", "fe80::1%eth0"); empty if `host` is none.
  static std::optional<Endpoint> of(const std::string& host, std::uint16_t port);
  /// Of a name or number, those of IPv4 first; why there are none.
  static std::vector<Endpoint> find(const std::string& host, std::uint16_t port,
                                    std::string* error = nullptr);
  /// Of a socket's own end, or of the other; empty if it has none.
  static std::optional<Endpoint> here(int fd);
  static std::optional<Endpoint> there(int fd);

  [[nodiscard]] int family() const { return storage_.ss_family; }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  [[nodiscard]] socklen_t length() const { return length_; }
  [[nodiscard]] std::uint16_t port() const;
  /// The number, as of() takes it. One of IPv4 that came to a socket for both is written as such.
  [[nodiscard]] std::string host() const;
  bool operator==(const Endpoint& other) const {
    return port() == other.port() && host() == other.host();
  }

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

}  // namespace multitree::runtime
