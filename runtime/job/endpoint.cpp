// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Between text and the system's addresses.
#include "runtime/job/endpoint_internal.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace multitree::runtime {
namespace {

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

AddressList look_up(const std::string& host, std::uint16_t port, int flags, int& error) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  return {error == 0 ? list : nullptr, &::freeaddrinfo};
}

std::optional<Endpoint> end_of(int fd, decltype(&::getsockname) ask) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (ask(fd, any, &length) != 0) return std::nullopt;
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return std::nullopt;
  return Endpoint(any, length);
}

}  // namespace

Endpoint::Endpoint(const sockaddr* address, socklen_t length) : length_(length) {
  std::memcpy(&storage_, address, length);
}

std::optional<Endpoint> Endpoint::of(const std::string& host, std::uint16_t port) {
  int error = 0;
  const AddressList list = look_up(host, port, AI_NUMERICHOST, error);
  if (list == nullptr) return std::nullopt;
  return Endpoint(list->ai_addr, list->ai_addrlen);
}

std::vector<Endpoint> Endpoint::find(const std::string& host, std::uint16_t port,
                                     std::string* error) {
  int code = 0;
  const AddressList list = look_up(host, port, 0, code);
  if (code != 0 && error != nullptr) *error = ::gai_strerror(code);
  std::vector<Endpoint> found;
  for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    found.emplace_back(one->ai_addr, one->ai_addrlen);
  }
  std::ranges::stable_partition(found, [](const Endpoint& one) { return one.family() == AF_INET; });
  return found;
}

std::optional<Endpoint> Endpoint::here(int fd) { return end_of(fd, &::getsockname); }
std::optional<Endpoint> Endpoint::there(int fd) { return end_of(fd, &::getpeername); }

std::uint16_t Endpoint::port() const {
  if (family() == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
}

std::string Endpoint::host() const {
  std::array<char, INET6_ADDRSTRLEN + IF_NAMESIZE + 1> text{};
  if (family() == AF_INET) {
    const auto* const in = reinterpret_cast<const sockaddr_in*>(&storage_);
    return ::inet_ntop(AF_INET, &in->sin_addr, text.data(), text.size());
  }
  if (family() != AF_INET6) return {};
  const auto* const in = reinterpret_cast<const sockaddr_in6*>(&storage_);
  if (IN6_IS_ADDR_V4MAPPED(&in->sin6_addr)) {
    return ::inet_ntop(AF_INET, in->sin6_addr.s6_addr + 12, text.data(), text.size());
  }
  // With the interface of an address that is of a link alone.
  const int error =
      ::getnameinfo(get(), length_, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? text.data() : "";
}

}  // namespace multitree::runtime
