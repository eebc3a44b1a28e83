// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The bytes of a unique id, and the doors that are open for those who have one.
///
///     byte  0      4        5          6     8                 24
///           "MTid" version  addresses  port  nonce (16 bytes)  addresses
///
/// An address is a byte with its length, 4 or 16, and so many bytes.
#include "runtime/job/unique_id.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <mutex>
#include <random>

#include "runtime/job/interfaces_internal.hpp"
#include "runtime/job/tcp_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

constexpr std::string_view kIdMagic = "MTid";
constexpr char kIdVersion = 2;
constexpr std::size_t kPortAt = 6, kNonceAt = 8, kAddressesAt = 24;

/// Nobody says that an id will not be used. Of those that were not, so many stay open.
constexpr std::size_t kMostDoors = 64;

/// Listening sockets of this process whose job has not begun, those of the latest ids.
class Doors {
 public:
  /// Never destroyed, as all that threads use which may be there when the process ends.
  static Doors& instance() {
    static Doors& doors = *new Doors;
    return doors;
  }
  void open(const std::string& token, Socket socket) {
    const std::scoped_lock lock(mutex_);
    if (doors_.size() == kMostDoors) doors_.pop_front();
    doors_.push_back({token, ::getpid(), std::move(socket)});
  }
  /// The door of this token, to whoever asks first; else a closed socket. After a fork it is the
  /// parent's alone.
  Socket take(const std::string& token) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(doors_, [](const Door& door) { return door.process != ::getpid(); });
    const auto it = std::ranges::find(doors_, token, &Door::token);
    if (it == doors_.end()) return {};
    Socket socket = std::move(it->socket);
    doors_.erase(it);
    return socket;
  }

 private:
  struct Door {
    std::string token;
    pid_t process;
    Socket socket;
  };
  std::mutex mutex_;
  std::list<Door> doors_;  ///< the oldest first
};

std::string token_of(const UniqueId& id) {
  std::string token;
  for (std::size_t i = kNonceAt; i < kAddressesAt; ++i) {
    token += fmt::format("{:02x}", static_cast<unsigned char>(id[i]));
  }
  return token;
}

[[noreturn]] void refuse_id() {
  throw Error(ErrorCode::InvalidArgument,
              "unique id: expected the bytes that mtGetUniqueId() or make_unique_id() of this "
              "version made, found others");
}

std::vector<Address> addresses_of(const UniqueId& id) {
  if (std::string_view(id.data(), 4) != kIdMagic || id[4] != kIdVersion) refuse_id();
  std::uint16_t port = 0;
  std::memcpy(&port, id.data() + kPortAt, sizeof port);
  std::vector<Address> addresses;
  std::size_t at = kAddressesAt;
  for (std::size_t left = static_cast<unsigned char>(id[5]); left > 0; --left) {
    const std::size_t length = at < id.size() ? static_cast<unsigned char>(id[at]) : 0;
    const int kind = length == sizeof(in6_addr) ? AF_INET6 : AF_INET;
    if ((kind == AF_INET && length != sizeof(in_addr)) || at + 1 + length > id.size()) {
      refuse_id();
    }
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(kind, id.data() + at + 1, text.data(), text.size());
    addresses.push_back({text.data(), ntohs(port)});
    at += 1 + length;
  }
  return addresses;
}

/// As many as there is room for.
void write_addresses(const std::vector<std::string>& numbers, UniqueId& id) {
  std::size_t count = 0, at = kAddressesAt;
  for (const std::string& number : numbers) {
    const bool longer = number.find(':') != std::string::npos;
    const std::size_t length = longer ? sizeof(in6_addr) : sizeof(in_addr);
    if (at + 1 + length > id.size()) break;
    if (::inet_pton(longer ? AF_INET6 : AF_INET, number.c_str(), id.data() + at + 1) != 1) continue;
    id[at] = static_cast<char>(length);
    at += 1 + length;
    ++count;
  }
  id[5] = static_cast<char>(count);
}

}  // namespace

UniqueId make_unique_id() {
  UniqueId id{};
  kIdMagic.copy(id.data(), kIdMagic.size());
  id[4] = kIdVersion;
  std::random_device device;
  for (std::size_t i = kNonceAt; i < kAddressesAt; ++i) id[i] = static_cast<char>(device());
  const std::string interface = widest_interface();
  Socket door = listen_at(0, interface);
  const std::uint16_t port = htons(port_of(door));
  std::memcpy(id.data() + kPortAt, &port, sizeof port);
  write_addresses(interface == kAnyAddress ? host_addresses() : std::vector{interface}, id);
  Doors::instance().open(token_of(id), std::move(door));
  return id;
}

std::shared_ptr<Bootstrap> join_by_id(const UniqueId& id, Seat seat, std::uint32_t size,
                                      const BootstrapOptions& options) {
  if (index(seat) >= size) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected a rank below the {} of the job, found {}", size, seat));
  }
  TcpOptions tcp;
  tcp.addresses = addresses_of(id);
  tcp.token = token_of(id);
  Socket door = Doors::instance().take(tcp.token);
  if (size == 1) return make_in_process_bootstraps(1)[0];
  tcp.seat = seat;
  tcp.size = size;
  tcp.description = "unique id";
  tcp.hosted_by_rank = true;
  tcp.coordinator_name = "the process that made the id";
  tcp.deadline = options.deadline;
  tcp.cancellation = options.cancellation;
  if (door.open()) {
    const std::string at = local_address(door);
    tcp.addresses.insert(tcp.addresses.begin(),
                         {at == kAnyAddress ? kLoopback : at, port_of(door)});
    tcp.coordinator = std::make_unique<Coordinator>(std::move(door), size, tcp.token);
  }
  return join_over_tcp(std::move(tcp));
}

}  // namespace multitree::runtime
