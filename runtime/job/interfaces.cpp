// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The host's addresses, and the user's choice of them.
#include "runtime/job/interfaces_internal.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>

#include "runtime/job/endpoint_internal.hpp"
#include "runtime/job/wire_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

constexpr const char* kInterface = "MULTITREE_INTERFACE";

std::vector<std::uint8_t> bytes_of_number(const std::string& number) {
  std::vector<std::uint8_t> bytes(sizeof(in6_addr));
  if (::inet_pton(AF_INET6, number.c_str(), bytes.data()) == 1) return bytes;
  bytes.resize(sizeof(in_addr));
  if (::inet_pton(AF_INET, number.c_str(), bytes.data()) == 1) return bytes;
  return {};
}

bool same_bits(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b,
               unsigned bits) {
  if (a.size() != b.size()) return false;
  for (unsigned bit = 0; bit < bits; ++bit) {
    const unsigned mask = 0x80U >> bit % 8;
    if (((a[bit / 8] ^ b[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

bool is_of_a_link_alone(const sockaddr* address) {
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

}  // namespace

std::vector<OwnAddress> own_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {{"lo", kLoopback, true}};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &::freeifaddrs);
  std::vector<OwnAddress> all;
  for (const ifaddrs* it = list; it != nullptr; it = it->ifa_next) {
    if (it->ifa_addr == nullptr || (it->ifa_flags & IFF_UP) == 0) continue;
    const int kind = it->ifa_addr->sa_family;
    if ((kind != AF_INET && kind != AF_INET6) || is_of_a_link_alone(it->ifa_addr)) continue;
    const socklen_t length = kind == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    all.push_back(
        {it->ifa_name, Endpoint(it->ifa_addr, length).host(), (it->ifa_flags & IFF_LOOPBACK) != 0});
  }
  std::ranges::stable_sort(all, {}, [](const OwnAddress& one) {
    return std::pair(one.loopback, one.number.find(':') != std::string::npos);
  });
  return all;
}

InterfaceChoice::InterfaceChoice(std::string_view text, std::string_view what) {
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    rules_.push_back(parse(one, what));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
  }
}

InterfaceChoice::Rule InterfaceChoice::parse(std::string_view text, std::string_view what) {
  const std::string_view whole = text;
  Rule rule;
  rule.leaves_out = text.starts_with('^');
  if (rule.leaves_out) text.remove_prefix(1);
  const std::size_t slash = text.find('/');
  rule.net = bytes_of_number(std::string(text.substr(0, slash)));
  const auto most = static_cast<unsigned>(8 * rule.net.size());
  rule.bits = most;
  bool right = !text.empty();
  if (rule.net.empty()) {
    rule.name = text;
    right = right && slash == std::string_view::npos && text.find(' ') == std::string_view::npos;
  } else if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), rule.bits);
    right = error == std::errc() && end == digits.end() && rule.bits <= most;
  }
  if (right) return rule;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("{}: expected names of interfaces and subnets, as in "
                          "eth0,10.1.0.0/16,^docker0, found \"{}\"",
                          what, whole));
}

bool InterfaceChoice::fits(const Rule& rule, const OwnAddress& address) {
  if (!rule.net.empty()) return same_bits(rule.net, bytes_of_number(address.number), rule.bits);
  std::string_view name = rule.name;
  if (!name.ends_with('*')) return address.interface == name;
  name.remove_suffix(1);
  return address.interface.starts_with(name);
}

bool InterfaceChoice::allows(const OwnAddress& address) const {
  if (address.loopback) return true;
  bool named = false, any_named = false;
  for (const Rule& rule : rules_) {
    const bool fit = fits(rule, address);
    if (rule.leaves_out && fit) return false;
    any_named = any_named || !rule.leaves_out;
    named = named || (!rule.leaves_out && fit);
  }
  return named || !any_named;
}

InterfaceChoice chosen_interfaces() {
  const char* const value = std::getenv(kInterface);
  return {value == nullptr ? "" : value, kInterface};
}

std::vector<std::string> host_addresses() {
  const InterfaceChoice choice = chosen_interfaces();
  std::vector<std::string> numbers;
  bool beyond = false;
  for (const OwnAddress& one : own_addresses()) {
    if (!choice.allows(one)) continue;
    numbers.push_back(one.number);
    beyond = beyond || !one.loopback;
  }
  if (choice.empty() || beyond) return numbers;
  throw Error(ErrorCode::InvalidArgument, fmt::format("{}={}: this host has no such interface",
                                                      kInterface, std::getenv(kInterface)));
}

std::string widest_interface() {
  const InterfaceChoice choice = chosen_interfaces();
  if (choice.empty()) return kAnyAddress;
  static_cast<void>(host_addresses());  // throws if there are none
  std::vector<std::string> beyond;
  for (const OwnAddress& one : own_addresses()) {
    if (!one.loopback && choice.allows(one)) beyond.push_back(one.number);
  }
  return beyond.size() == 1 ? beyond.front() : kAnyAddress;
}

bool may_be_met_at(const std::string& number) {
  const InterfaceChoice choice = chosen_interfaces();
  if (choice.empty()) return true;
  for (const OwnAddress& one : own_addresses()) {
    if (one.number == number) return choice.allows(one);
  }
  return is_loopback(number);  // 127.0.0.0/8 is this host's, though it has one address of it
}

}  // namespace multitree::runtime
