// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The table of transports.
#include "runtime/messages/transport.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "runtime/messages/auto_internal.hpp"
#include "runtime/messages/loopback_internal.hpp"
#include "runtime/messages/tcp/tcp_internal.hpp"
#include "runtime/messages/ucx/ucx_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

constexpr const char* kLinkTimeoutVariable = "MULTITREE_LINK_TIMEOUT";
constexpr const char* kEncryptVariable = "MULTITREE_ENCRYPT";
constexpr const char* kLinkFailureVariable = "MULTITREE_ON_LINK_FAILURE";

constexpr std::array kTransports{
    TransportKind{"auto",
                  "as MULTITREE_TRANSPORT says; else tcp between hosts on slow networks, else ucx",
                  true, &make_auto},
    TransportKind{"loopback", "threads of one process, through shared queues", true,
                  &make_loopback},
    TransportKind{"tcp", "TCP sockets, one connection a pair of ranks", true, &make_tcp},
    TransportKind{"ucx", "UCX: shared memory, TCP, InfiniBand, as UCX_TLS allows", false,
                  &make_ucx},
};

}  // namespace

std::string words_of(const SilentLinks& silent, Seat self) {
  const Seat first = silent.peers.front();
  const DeadLink link = link_between(self, first);
  const std::string where = silent.where.empty() ? std::string() : ", " + silent.where;
  if (silent.deadline == Deadline{0}) {
    return fmt::format("no connection to rank {} over link {}-{}{}", first, link.a, link.b, where);
  }
  std::string words = fmt::format("nothing from rank {} over link {}-{} for {} ms", first, link.a,
                                  link.b, silent.deadline.count());
  const std::span<const Seat> others = std::span(silent.peers).subspan(1);
  if (!others.empty()) words += fmt::format(" (nor from rank {})", fmt::join(others, ", "));
  return words + where;
}

std::optional<OnLinkFailure> link_failure_named(std::string_view name) {
  if (name == "stop") return OnLinkFailure::Stop;
  if (name == "continue") return OnLinkFailure::Continue;
  if (name == "adapt") return OnLinkFailure::Adapt;
  return std::nullopt;
}

OnLinkFailure on_link_failure(const std::optional<OnLinkFailure>& choice) {
  if (choice) return *choice;
  const char* const variable = std::getenv(kLinkFailureVariable);
  const std::string_view value = variable == nullptr ? "" : variable;
  if (value.empty()) return OnLinkFailure::Stop;
  if (const auto named = link_failure_named(value)) return *named;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("{}: expected stop, continue or adapt, found \"{}\"",
                          kLinkFailureVariable, value));
}

bool encrypts(const std::optional<bool>& choice) {
  if (choice) return *choice;
  const char* const variable = std::getenv(kEncryptVariable);
  const std::string_view value = variable == nullptr ? "" : variable;
  if (value.empty() || value == "0") return false;
  if (value == "1") return true;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("{}: expected 0 or 1, found \"{}\"", kEncryptVariable, value));
}

Deadline link_timeout(const std::optional<Deadline>& choice) {
  constexpr Deadline kDefault{5'000};
  constexpr double kMost = 2e6;
  if (choice) return *choice;
  const char* const variable = std::getenv(kLinkTimeoutVariable);
  const std::string_view value = variable == nullptr ? "" : variable;
  if (value.empty()) return kDefault;
  double seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (error != std::errc{} || end != value.data() + value.size() ||
      !(seconds >= 0 && seconds <= kMost)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{}: expected seconds from 0 to {}, found \"{}\"", kLinkTimeoutVariable,
                            kMost, value));
  }
  return Deadline(static_cast<std::int64_t>(std::ceil(seconds * 1e3)));
}

void Transport::send_device(Seat, std::uint64_t, const void*, std::size_t, Completion&) {
  throw std::logic_error(describe() + " does not send device memory");
}

void Transport::receive_device(Seat, std::uint64_t, void*, std::size_t, Completion&) {
  throw std::logic_error(describe() + " does not receive into device memory");
}

void Transport::send_noted(Seat, std::uint64_t, const Note&, const void*, std::size_t,
                           Completion&) {
  throw std::logic_error(describe() + " carries no notes");
}

void Transport::receive_noted(Seat, std::uint64_t, Note&, void*, std::size_t, Completion&) {
  throw std::logic_error(describe() + " carries no notes");
}

void Transport::flush(Seat, Completion& completion) { completion.complete(); }

std::span<const TransportKind> transports() { return kTransports; }

const TransportKind& find_transport(std::string_view name) {
  std::string names;
  for (const TransportKind& kind : kTransports) {
    if (kind.name == name) return kind;
    names += fmt::format(" {}", kind.name);
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("unknown transport \"{}\"; one of:{}", name, names));
}

std::unique_ptr<Transport> make_transport(std::string_view name, Bootstrap& bootstrap,
                                          const TransportOptions& options) {
  const TransportKind& kind = find_transport(name);
  if (options.encrypt && !kind.encrypts) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("transport {} does not encrypt, as {} or --encrypt asks for: take "
                            "transport tcp, or a network that encrypts",
                            name, kEncryptVariable));
  }
  return kind.make(bootstrap, options);
}

}  // namespace multitree::runtime
