// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From the environment to a joined job.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "runtime/job/environment_internal.hpp"
#include "runtime/job/interfaces_internal.hpp"
#include "runtime/job/log_internal.hpp"
#include "runtime/job/process_manager_internal.hpp"
#include "runtime/job/tcp_job_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {

std::string make_token() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

namespace {

/// As long as a port may be taken without anybody being told.
constexpr std::chrono::milliseconds kMoment{500};

/// "10.0.0.1:4242,127.0.0.1:4242;token": what rank 0 publishes through a process manager.
std::string describe_coordinator(const Socket& door, const std::string& token) {
  const std::string at = local_address(door);
  std::string text;
  for (const std::string& host : at == kAnyAddress ? host_addresses() : std::vector{at}) {
    text += (text.empty() ? "" : ",") + words_of(Address{host, port_of(door)});
  }
  return fmt::format("{};{}", text, token);
}

void parse_coordinator(std::string_view text, TcpOptions& options) {
  const std::size_t end = text.find(';');
  if (end == std::string_view::npos) {
    throw Error(ErrorCode::Transport,
                fmt::format("expected rank 0's addresses and token, found \"{}\"", text));
  }
  options.token = text.substr(end + 1);
  for (std::string_view rest = text.substr(0, end); !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(','));
    options.addresses.push_back(parse_address(one, "rank 0's address"));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
}

/// Where rank 0 listens: where the others look for it, and nowhere else. That cannot be known where
/// the host's own name leads to its loopback interface, as Debian's /etc/hosts has it, or where the
/// address is that of another host which passes connections on.
std::string interface_of(const std::string& host) {
  const std::string number = resolve(host);
  if (is_loopback(host)) return number.empty() ? kLoopback : number;
  const std::vector<OwnAddress> own = own_addresses();
  const auto here = std::ranges::find(own, number, &OwnAddress::number);
  if (is_loopback(number) || here == own.end()) return widest_interface();
  if (chosen_interfaces().allows(*here)) return number;
  throw Error(
      ErrorCode::InvalidArgument,
      fmt::format("the rendezvous is at {}, of interface {}, which MULTITREE_INTERFACE leaves "
                  "out",
                  number, here->interface));
}

/// How a process reaches a door of its own.
Address from_here(const Socket& door) {
  const std::string at = local_address(door);
  return {at == kAnyAddress ? kLoopback : at, port_of(door)};
}

/// A named port can be taken for a moment, by a connection that the kernel gave it to or by the
/// rank 0 of the job before. Whoever waits longer than that is told, once.
Socket listen_patiently(const Address& rendezvous, Deadline deadline) {
  const std::string interface = interface_of(rendezvous.host);
  const auto begin = std::chrono::steady_clock::now(), end = begin + deadline;
  for (bool told = false;;) {
    try {
      return listen_at(rendezvous.port, interface);
    } catch (const Error& error) {
      const auto now = std::chrono::steady_clock::now();
      if (now > end) throw;
      if (!told && now - begin > kMoment) {
        told = true;
        logger().warn("{}; trying for {} s more: another job may meet there (`ss -ltnp` names it)",
                      error.what(),
                      std::chrono::duration_cast<std::chrono::seconds>(end - now).count());
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::shared_ptr<Bootstrap> join_through_manager(const Job& job, TcpOptions options) {
  // The number of ranks is known only after the exchange has begun, so rank 0 opens its door first
  // and lets people in afterwards.
  Socket door;
  const std::string token = make_token();
  const auto publish = [&] {
    door = listen_at(0, widest_interface());  // nobody has told yet from where the others come
    return describe_coordinator(door, token);
  };
  Exchanged exchanged =
      job.kind == JobKind::Pmix
          ? exchange_over_pmix(publish, options.deadline)
          : exchange_over_pmi1(job.pmi_fd, job.seat, job.size, publish, options.deadline);
  options.seat = exchanged.seat;
  options.size = exchanged.size;
  options.session = std::move(exchanged.session);
  options.hosted_by_rank = true;
  parse_coordinator(exchanged.value, options);
  if (door.open()) {
    options.coordinator = std::make_unique<Coordinator>(std::move(door), options.size, token);
  }
  return join_over_tcp(std::move(options));
}

/// Jobs that nobody has told a secret say so, once.
void tell_who_may_come(const Job& job) {
  if (!job.open || job.launcher_hosts || job.seat != Seat{0} || job.size == 1) return;
  const Address& at = job.coordinator;
  logger().warn(
      "this job has no secret: {} can take a rank's seat; MULTITREE_KEY_FILE names a file with one",
      is_loopback(at.host) ? "every user of this host" : "whoever can reach " + words_of(at));
}

}  // namespace

bool started_by_launcher() { return detect_job(&process_environment).kind != JobKind::Single; }

std::shared_ptr<Bootstrap> make_bootstrap(const BootstrapOptions& options) {
  const Job job = detect_job(&process_environment);
  logger().debug("started by: {}", job.description);
  TcpOptions tcp;
  tcp.deadline = options.deadline;
  tcp.cancellation = options.cancellation;
  tcp.description = job.description;
  tcp.coordinator_name = job.launcher_hosts ? "the launcher" : "rank 0 (coordinator)";
  if (job.kind == JobKind::Single) return make_in_process_bootstraps(1)[0];
  tell_who_may_come(job);
  if (job.kind != JobKind::Address) return join_through_manager(job, std::move(tcp));
  tcp.seat = job.seat;
  tcp.size = job.size;
  tcp.addresses = {job.coordinator};
  tcp.token = job.token;
  tcp.open = job.open;
  tcp.hosted_by_rank = !job.launcher_hosts;
  tcp.on_this_host = is_loopback(job.coordinator.host);
  if (job.seat == Seat{0} && !job.launcher_hosts) {
    // Not to the very end: the others are still there then, to be told why.
    Socket door = listen_patiently(job.coordinator, options.deadline / 2);
    // The name that others know this host by need not lead back to it from here.
    tcp.addresses = {from_here(door)};
    tcp.coordinator = std::make_unique<Coordinator>(std::move(door), job.size, job.token);
  }
  return join_over_tcp(std::move(tcp));
}

std::shared_ptr<Bootstrap> renumbered(std::shared_ptr<Bootstrap> job, Seat seat,
                                      Deadline deadline) {
  TcpOptions tcp;
  tcp.size = job->size();
  tcp.seat = seat;
  tcp.deadline = deadline;
  tcp.description = job->describe();
  tcp.open = job->is_open();
  tcp.hosted_by_rank = true;
  const auto* const connected = dynamic_cast<const Tcp*>(job.get());
  tcp.on_this_host = connected != nullptr && connected->on_this_host();
  Socket door;
  const std::string token = make_token();
  Writer card;
  card.number(index(seat));
  if (job->seat() == Seat{0}) {
    door = listen_at(0, connected == nullptr ? widest_interface() : connected->reached_at());
    card.text(describe_coordinator(door, token));
  }
  const Gathered cards = job->all_gather(card.bytes(), deadline);
  std::vector<bool> seen(cards.size());
  for (const std::string& one : cards) {
    const std::uint32_t number = Reader(one).number().value_or(tcp.size);
    if (number >= tcp.size || seen[number]) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("renumbering: expected each rank below {} once, found {}{}", tcp.size,
                              number, number < tcp.size ? " twice" : ""));
    }
    seen[number] = true;
  }
  if (tcp.size == 1) return job;
  Reader host(cards[0]);
  tcp.coordinator_name = fmt::format("rank {} (coordinator)", host.number().value_or(0));
  parse_coordinator(host.text().value_or(""), tcp);
  if (door.open()) {
    tcp.addresses.insert(tcp.addresses.begin(), from_here(door));
    tcp.coordinator = std::make_unique<Coordinator>(std::move(door), tcp.size, token);
  }
  tcp.session = std::move(job);
  return join_over_tcp(std::move(tcp));
}

}  // namespace multitree::runtime
