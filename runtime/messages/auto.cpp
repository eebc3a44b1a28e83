// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// By the environment, or by what is there.
#include "runtime/messages/auto_internal.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/job/log_internal.hpp"
#include "runtime/job/wire_internal.hpp"
#include "runtime/messages/network/devices_internal.hpp"
#include "runtime/messages/ucx/ucx_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

constexpr std::string_view kAuto = "auto";

/// Its program may hand over memory of a GPU, which UCX sends from where it lies.
bool uses_cuda() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  ::dlclose(driver);
  return true;
}

TransportWish wish_here(const TransportOptions& options) {
  TransportWish wish;
  const char* const variable = std::getenv(kTransportVariable);
  if (variable != nullptr && *variable != '\0' && variable != kAuto) {
    wish.told = find_transport(variable).name;
    return wish;
  }
  wish.has_ucx = has_ucx();
  if (uses_cuda()) {
    wish.needs = "uses CUDA";
  } else if (!ucx_is_tcp()) {
    wish.needs = "has RDMA, or UCX_TLS or UCX_NET_DEVICES is set";
  }
  wish.goes_on = options.on_link_failure != OnLinkFailure::Stop;
  wish.encrypts = options.encrypt;
  wish.host = pack(describe_host_with_cables());
  return wish;
}

TransportWish unpack_wish(const std::string& text) {
  Reader reader(text);
  const auto told = reader.text(), needs = reader.text(), host = reader.text();
  const auto ucx = reader.number(), goes_on = reader.number(), encrypts = reader.number();
  if (!told || !needs || !host || !ucx || !goes_on || !encrypts) {
    throw Error(ErrorCode::Transport, "invalid wish for a transport");
  }
  return {*told, *needs, *ucx != 0, *goes_on != 0, *encrypts != 0, *host};
}

std::string words_of_wish(const std::string& told) {
  if (told.empty()) return fmt::format("no {}", kTransportVariable);
  return fmt::format("{}={}", kTransportVariable, told);
}

AgreedTransport by_hosts(const std::vector<TransportWish>& wishes) {
  std::vector<Host> hosts;
  for (const TransportWish& wish : wishes) hosts.push_back(unpack_host(wish.host));
  const Ways ways = choose_ways(hosts, Seat{0});
  if (use_cables(hosts)) {
    return {"tcp", hosts.front().installed
                       ? "the cluster's file that is installed on the hosts names cables"
                       : "MULTITREE_CLUSTER names cables between hosts"};
  }
  if (ways.slow_network) {
    return {"tcp", "each rank is on a host of its own, and no interface is faster than 10 Gbit/s"};
  }
  return {"ucx", "ranks share hosts, or an interface is faster than 10 Gbit/s"};
}

}  // namespace

std::string pack(const TransportWish& wish) {
  Writer writer;
  writer.text(wish.told).text(wish.needs).text(wish.host);
  writer.number(wish.has_ucx ? 1 : 0).number(wish.goes_on ? 1 : 0).number(wish.encrypts ? 1 : 0);
  return writer.bytes();
}

AgreedTransport agreed_transport(const Gathered& texts) {
  std::vector<TransportWish> wishes;
  for (const std::string& text : texts) wishes.push_back(unpack_wish(text));
  const std::string& told = wishes.front().told;
  for (std::size_t i = 1; i < wishes.size(); ++i) {
    if (wishes[i].told == told) continue;
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected one transport at all ranks, found {} at rank 0 and {} at "
                            "rank {}",
                            words_of_wish(told), words_of_wish(wishes[i].told), i));
  }
  if (!told.empty()) return {told, words_of_wish(told)};
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (wishes[i].encrypts) return {"tcp", fmt::format("rank {} encrypts what it sends", i)};
  }
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (!wishes[i].has_ucx) return {"tcp", fmt::format("rank {} has no UCX", i)};
  }
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (!wishes[i].needs.empty()) return {"ucx", fmt::format("rank {} {}", i, wishes[i].needs)};
  }
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (wishes[i].goes_on) return {"tcp", fmt::format("rank {} goes on where links fail", i)};
  }
  return by_hosts(wishes);
}

AgreedTransport transport_of_job(const std::string& name, Bootstrap& bootstrap,
                                 const TransportOptions& options) {
  if (name != kAuto) return {name, "it was asked for"};
  try {
    return agreed_transport(bootstrap.all_gather(pack(wish_here(options)), options.deadline));
  } catch (const Error& error) {
    // The others are not kept waiting.
    if (error.code() == ErrorCode::InvalidArgument) bootstrap.report_failure(error.what());
    throw;
  }
}

std::unique_ptr<Transport> make_auto(Bootstrap& bootstrap, const TransportOptions& options) {
  const AgreedTransport agreed = transport_of_job(std::string(kAuto), bootstrap, options);
  if (bootstrap.seat() == Seat{0}) logger().info("transport {}: {}", agreed.name, agreed.why);
  return make_transport(agreed.name, bootstrap, options);
}

}  // namespace multitree::runtime
