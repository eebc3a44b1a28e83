// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Queueing disciplines by rtnetlink(7).
#include "runtime/messages/network/shaping_internal.hpp"

#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>

#include "runtime/job/wire_internal.hpp"

namespace multitree::runtime {
namespace {

constexpr std::uint64_t kBytesOfMbit = 1'000'000 / 8;

/// What an attribute holds; null if `attributes` has none of the type with that many bytes.
const void* find(const rtattr* attributes, std::size_t bytes, unsigned type, std::size_t least) {
  auto left = static_cast<int>(bytes);
  for (const rtattr* one = attributes; RTA_OK(one, left); one = RTA_NEXT(one, left)) {
    if ((one->rta_type & NLA_TYPE_MASK) == type) {
      return RTA_PAYLOAD(one) >= least ? RTA_DATA(one) : nullptr;
    }
  }
  return nullptr;
}

/// Bytes a second of a token bucket; 0 if the message is of something else.
std::uint64_t rate_of(const nlmsghdr& header) {
  if (header.nlmsg_len < NLMSG_LENGTH(sizeof(tcmsg))) return 0;
  const auto* const about = static_cast<const tcmsg*>(NLMSG_DATA(&header));
  const auto* const attributes = TCA_RTA(about);
  const std::size_t bytes = header.nlmsg_len - NLMSG_LENGTH(sizeof(tcmsg));
  const auto* const kind = static_cast<const char*>(find(attributes, bytes, TCA_KIND, 4));
  if (kind == nullptr || std::string_view(kind, 3) != "tbf") return 0;
  const auto* const options =
      static_cast<const rtattr*>(find(attributes, bytes, TCA_OPTIONS, sizeof(rtattr)));
  if (options == nullptr) return 0;
  const auto* const holder =
      reinterpret_cast<const rtattr*>(reinterpret_cast<const char*>(options) - RTA_LENGTH(0));
  const std::size_t inner = RTA_PAYLOAD(holder);
  if (const void* wide = find(options, inner, TCA_TBF_RATE64, sizeof(std::uint64_t))) {
    std::uint64_t rate = 0;
    std::memcpy(&rate, wide, sizeof rate);
    return rate;
  }
  tc_tbf_qopt parameters{};
  const void* found = find(options, inner, TCA_TBF_PARMS, sizeof parameters);
  if (found != nullptr) std::memcpy(&parameters, found, sizeof parameters);
  return parameters.rate.rate;
}

bool ask(int socket) {
  struct {
    nlmsghdr header;
    tcmsg about;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_GETQDISC;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  return ::send(socket, &request, sizeof request, 0) == ssize_t{sizeof request};
}

}  // namespace

std::map<int, std::uint32_t> shaped_mbits() {
  std::map<int, std::uint32_t> shaped;
  const Socket socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket.open() || !ask(socket.fd())) return shaped;
  alignas(nlmsghdr) std::array<char, 32 * 1024> buffer;
  while (true) {
    const ssize_t got = ::recv(socket.fd(), buffer.data(), buffer.size(), 0);
    if (got <= 0) return shaped;
    auto left = static_cast<unsigned>(got);
    for (auto* header = reinterpret_cast<nlmsghdr*>(buffer.data()); NLMSG_OK(header, left);
         header = NLMSG_NEXT(header, left)) {
      if (header->nlmsg_type != RTM_NEWQDISC) return shaped;  // the end, or an error
      const std::uint64_t rate = rate_of(*header);
      if (rate == 0) continue;
      const std::uint64_t mbits = std::clamp<std::uint64_t>(
          rate / kBytesOfMbit, 1, std::numeric_limits<std::uint32_t>::max());
      shaped[static_cast<const tcmsg*>(NLMSG_DATA(header))->tcm_ifindex] =
          static_cast<std::uint32_t>(mbits);
    }
  }
}

}  // namespace multitree::runtime
