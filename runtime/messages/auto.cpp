// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// By the environment, or by what is there.
#include "runtime/messages/auto_internal.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "runtime/messages/ucx/ucx_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

constexpr std::string_view kAuto = "auto";
/// In front of a name that was given.
constexpr char kTold = '=';

/// What this rank would take.
std::string wanted_here() {
  const char* const variable = std::getenv(kTransportVariable);
  if (variable == nullptr || *variable == '\0' || variable == kAuto) {
    return has_ucx() ? "ucx" : "tcp";
  }
  return std::string(1, kTold) + std::string(find_transport(variable).name);
}

std::string words_of_wish(const std::string& wish) {
  if (!wish.starts_with(kTold)) return fmt::format("no {}", kTransportVariable);
  return fmt::format("{}{}", kTransportVariable, wish);
}

}  // namespace

std::string transport_here(const std::string& name) {
  if (name != kAuto) return name;
  const std::string wanted = wanted_here();
  return wanted.starts_with(kTold) ? wanted.substr(1) : wanted;
}

std::string agreed_transport(const Gathered& wanted) {
  std::string agreed = wanted[0];
  for (std::size_t i = 1; i < wanted.size(); ++i) {
    if (wanted[i] == agreed) continue;
    if (wanted[i].starts_with(kTold) || agreed.starts_with(kTold)) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("expected one transport at all ranks, found {} at rank 0 and {} at "
                              "rank {}",
                              words_of_wish(wanted[0]), words_of_wish(wanted[i]), i));
    }
    agreed = "tcp";
  }
  return agreed.starts_with(kTold) ? agreed.substr(1) : agreed;
}

std::unique_ptr<Transport> make_auto(Bootstrap& bootstrap, const TransportOptions& options) {
  std::string name;
  try {
    name = agreed_transport(bootstrap.all_gather(wanted_here(), options.deadline));
  } catch (const Error& error) {
    // The others are not kept waiting.
    if (error.code() == ErrorCode::InvalidArgument) bootstrap.report_failure(error.what());
    throw;
  }
  return make_transport(name, bootstrap, options);
}

}  // namespace multitree::runtime
