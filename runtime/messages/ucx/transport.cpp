// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tagged messages over UCX: one endpoint a peer, on the rail of the wire to it where there is one.
#include <fmt/format.h>
#include <sched.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "runtime/execution/engine_internal.hpp"
#include "runtime/job/wire_internal.hpp"
#include "runtime/messages/ucx/connections_internal.hpp"
#include "runtime/messages/ucx/devices_internal.hpp"
#include "runtime/messages/ucx/heartbeat_internal.hpp"
#include "runtime/messages/ucx/ucx_check_internal.hpp"
#include "runtime/messages/ucx/ucx_internal.hpp"

namespace multitree::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Of the first contact; no collective uses its last message number.
constexpr std::uint64_t kHelloTag = (std::uint64_t{1} << kTagBits) - 1;
/// Over slow networks: as much as a link carries in about 5 ms at 100 Mbit/s. With UCX's header
/// below the 64 KiB of its TCP buffers, or it would cut every message in two.
constexpr std::size_t kSlowSegmentBytes = 60 * 1024;
/// 1.3 ms at 100 Mbit/s, where a message costs some 15 us of processor time at both ends.
constexpr std::size_t kSlowMergeBytes = 16 * 1024;
/// On their way to a peer; four messages at the least. What is more urgent need not wait long
/// behind what is sent already.
constexpr std::size_t kSlowWindowBytes = 64 * 1024;
constexpr std::chrono::milliseconds kNap{5};
/// Of the first contact: so many polls with something to do, and then a look at who has died.
constexpr std::uint32_t kBusyPolls = 16;

/// Worker addresses of one rank, by the wire they are for; the empty name is for all else.
using Addresses = std::map<std::string, std::string>;

std::string name_of(const std::optional<Wire>& wire) {
  return wire ? fmt::format("{}/{}", wire->subnet.address, wire->subnet.prefix) : std::string();
}

std::string pack(const Addresses& addresses) {
  Writer writer;
  for (const auto& [wire, address] : addresses) writer.text(wire).text(address);
  return writer.bytes();
}

/// Where the heartbeats of the link to `rank` are heard.
std::string heartbeat_name(std::uint32_t rank) { return fmt::format("heartbeat {}", rank); }

std::optional<std::string> find_address(const std::string& packed, const std::string& wanted) {
  Reader reader(packed);
  while (const auto name = reader.text()) {
    auto address = reader.text();
    if (*name == wanted && address) return address;
  }
  return std::nullopt;
}

/// The address for `wire`. \throws Error(Transport) if the rank has opened none for it
std::string address_for(const std::string& packed, const std::string& wire, std::uint32_t rank) {
  if (auto address = find_address(packed, wire)) return *address;
  throw Error(ErrorCode::Transport, fmt::format("rank {} has no connection for the network {}",
                                                rank, wire.empty() ? "that UCX chooses" : wire));
}

class Ucx final : public Transport {
 public:
  Ucx(Bootstrap& bootstrap, const TransportOptions& options);
  ~Ucx() override { close(true); }

  void send(std::uint32_t peer, std::uint64_t tag, const void* data, std::size_t bytes,
            Completion& completion) override;
  void receive(std::uint32_t peer, std::uint64_t tag, void* data, std::size_t bytes,
               Completion& completion) override;
  [[nodiscard]] bool takes_device_memory() const override {
    return ucx_ != nullptr && std::ranges::all_of(ucx_->rails, &Rail::cuda);
  }
  void send_device(std::uint32_t peer, std::uint64_t tag, const void* data, std::size_t bytes,
                   Completion& completion) override;
  void receive_device(std::uint32_t peer, std::uint64_t tag, void* data, std::size_t bytes,
                      Completion& completion) override;
  bool progress() override;
  void flush(std::uint32_t peer, Completion& completion) override {
    ucx_->flush(ucx_->peer_of(peer), completion);
  }
  void drain(Deadline deadline) override;
  void abort() override { close(false); }
  bool sleep(std::chrono::milliseconds time) override {
    return ucx_ != nullptr && ucx_->sleep(time);
  }
  [[nodiscard]] std::optional<SilentLinks> silent_links() const override;
  [[nodiscard]] TransportLimits limits() const override;
  [[nodiscard]] std::string describe() const override;

 private:
  void open_rails(const Ways& ways);
  void connect_all(Bootstrap& bootstrap, Addresses mine, Deadline deadline);
  void watch_links(const std::vector<Host>& hosts, Deadline deadline, Addresses& mine);
  void answer_links(const std::vector<std::string>& all);
  void greet(Bootstrap& bootstrap, Deadline deadline);
  [[noreturn]] void link_is_dead(Bootstrap& bootstrap, const SilentLinks& silent) const;
  Posted& post(std::uint32_t peer, bool receive, std::size_t bytes, Completion& completion);
  void send_from(ucs_memory_type_t memory, std::uint32_t peer, std::uint64_t tag, const void* data,
                 std::size_t bytes, Completion& completion);
  void receive_into(ucs_memory_type_t memory, std::uint32_t peer, std::uint64_t tag, void* data,
                    std::size_t bytes, Completion& completion);
  void find_left(SilentLinks& silent) const;
  /// Then a rank that lives and cannot be reached is behind a dead link.
  [[nodiscard]] bool watches_hosts() const { return heartbeats_ != nullptr && ways_.alone; }
  [[nodiscard]] SilentLinks unreachable(std::uint32_t peer) const {
    SilentLinks silent{{peer}, {}, Deadline{0}};
    find_left(silent);
    return silent;
  }
  void settle(Posted& posted);
  void report_failed_peers();
  void close(bool orderly);

  std::uint32_t rank_;
  Ways ways_;
  std::unique_ptr<Connections> ucx_ = std::make_unique<Connections>();  ///< null once closed
  std::unique_ptr<Heartbeats> heartbeats_;  ///< null if links are not watched; as long as ucx_
  std::vector<Posted*> free_, batch_;
};

Ucx::Ucx(Bootstrap& bootstrap, const TransportOptions& options) : rank_(bootstrap.rank()) {
  if (bootstrap.size() > kMaxRanks) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} ranks; message tags tell {} apart", bootstrap.size(), kMaxRanks));
  }
  try {
    std::vector<Host> hosts;
    for (const auto& text : bootstrap.all_gather(pack(describe_host()), options.deadline)) {
      hosts.push_back(unpack_host(text));
    }
    ways_ = choose_ways(hosts, rank_);
    for (const std::uint32_t rank : options.peers) ucx_->peers.push_back({rank});
    open_rails(ways_);
    Addresses mine;
    if (options.link_deadline.count() > 0) watch_links(hosts, options.link_deadline, mine);
    connect_all(bootstrap, std::move(mine), options.deadline);
    greet(bootstrap, options.deadline);
  } catch (...) {
    close(false);
    throw;
  }
}

/// A rail for each wire that leads to a peer, and one for the peers that no wire leads to.
void Ucx::open_rails(const Ways& ways) {
  std::map<std::string, Rail*> by_wire;
  for (Peer& peer : ucx_->peers) {
    const std::optional<Wire>& wire = ways.wires[peer.rank];
    Rail*& rail = by_wire[name_of(wire)];
    if (rail == nullptr) {
      rail = &ucx_->rails.emplace_back();
      // Shared memory must be polled: waking up through it costs ten times its latency.
      open_rail(*rail, {.device = wire ? wire->device : std::string(),
                        .slow = ways.slow_network,
                        .wakeup = wire || ways.slow_network});
    }
    peer.rail = rail;
  }
}

/// Opens this rank's end of each link; `mine` is where the others learn of it.
void Ucx::watch_links(const std::vector<Host>& hosts, Deadline deadline, Addresses& mine) {
  heartbeats_ = std::make_unique<Heartbeats>(deadline);
  for (const Peer& peer : ucx_->peers) {
    const auto ip = address_towards(hosts, ways_, rank_, peer.rank);
    const auto here = ip ? heartbeats_->open(peer.rank, *ip) : std::nullopt;
    if (here) mine.emplace(heartbeat_name(peer.rank), pack(*here));
  }
}

void Ucx::connect_all(Bootstrap& bootstrap, Addresses mine, Deadline deadline) {
  for (const Peer& peer : ucx_->peers) {
    std::string& address = mine[name_of(ways_.wires[peer.rank])];
    if (address.empty()) address = address_of(*peer.rail);
  }
  const std::vector<std::string> all = bootstrap.all_gather(pack(mine), deadline);
  answer_links(all);
  for (Peer& peer : ucx_->peers) {
    const std::string address =
        address_for(all[peer.rank], name_of(ways_.wires[peer.rank]), peer.rank);
    try {
      connect(peer, address);
    } catch (const Error&) {
      if (!watches_hosts() || await_failure(bootstrap)) throw;
      link_is_dead(bootstrap, unreachable(peer.rank));
    }
  }
  if (heartbeats_ != nullptr) heartbeats_->start();
}

/// Before connections are made, which may take some ranks longer than others.
void Ucx::answer_links(const std::vector<std::string>& all) {
  if (heartbeats_ == nullptr) return;
  for (Peer& peer : ucx_->peers) {
    const auto there = find_address(all[peer.rank], heartbeat_name(rank_));
    const auto end = there ? unpack_heartbeat(*there) : std::nullopt;
    if (!end) continue;
    heartbeats_->connect(peer.rank, *end);
    peer.heard = heartbeats_->heard(peer.rank);
  }
  heartbeats_->answer();
}

/// A small message each way before any large one: connections are then complete, which UCX needs
/// (large messages sent while they are being made have been seen to hang), and a peer that cannot
/// be reached is known now and by name.
void Ucx::greet(Bootstrap& bootstrap, Deadline deadline) {
  std::vector<std::uint64_t> heard(ucx_->peers.size());
  std::vector<Completion> sent(ucx_->peers.size()), received(ucx_->peers.size());
  const std::uint64_t word = rank_;
  for (std::size_t i = 0; i < ucx_->peers.size(); ++i) {
    receive(ucx_->peers[i].rank, kHelloTag, &heard[i], sizeof word, received[i]);
    send(ucx_->peers[i].rank, kHelloTag, &word, sizeof word, sent[i]);
  }
  const auto until = Clock::now() + deadline;
  std::uint32_t busy = 0;
  for (std::size_t i = 0; i < ucx_->peers.size();) {
    if (progress() && ++busy % kBusyPolls != 0) continue;
    for (const Completion* completion : {&sent[i], &received[i]}) {
      if (completion->state != Completion::State::Failed) continue;
      if (watches_hosts() && !await_failure(bootstrap)) {
        link_is_dead(bootstrap, unreachable(ucx_->peers[i].rank));
      }
      throw Error(ErrorCode::Transport, fmt::format("rank {}: first contact with rank {}: {}",
                                                    rank_, ucx_->peers[i].rank, completion->error));
    }
    if (sent[i].state == Completion::State::Done && received[i].state == Completion::State::Done) {
      ++i;
      continue;
    }
    if (const auto silent = silent_links()) link_is_dead(bootstrap, *silent);
    if (const auto failure = bootstrap.failure()) {
      const std::string what = fmt::format("rank {}: {} during the first contact with rank {}",
                                           rank_, *failure, ucx_->peers[i].rank);
      if (const auto link = bootstrap.dead_link()) throw LinkError(*link, what);
      throw Error(ErrorCode::Transport, what);
    }
    if (Clock::now() > until) {
      throw Error(ErrorCode::Timeout,
                  fmt::format("rank {}: no first message {} rank {} over UCX within {} ms", rank_,
                              received[i].state == Completion::State::Done ? "to" : "from",
                              ucx_->peers[i].rank, deadline.count()));
    }
    if (!sleep(kNap)) ::sched_yield();
  }
  drain(deadline);
}

/// Also wires that lead to no peer.
void Ucx::find_left(SilentLinks& silent) const {
  std::set<std::uint32_t> left;
  for (const Peer& peer : ucx_->peers) {
    if (peer.heard != nullptr) left.insert(peer.rank);
  }
  for (std::uint32_t rank = 0; rank < ways_.wires.size(); ++rank) {
    if (ways_.wires[rank]) left.insert(rank);
  }
  for (const std::uint32_t peer : silent.peers) left.erase(peer);
  silent.left.assign(left.begin(), left.end());
}

void Ucx::link_is_dead(Bootstrap& bootstrap, const SilentLinks& silent) const {
  const std::string why = words_of(silent, rank_);
  bootstrap.report_dead_links(silent.peers, silent.left, why);
  throw LinkError(link_between(rank_, silent.peers.front()),
                  fmt::format("rank {}: {}", rank_, why));
}

std::optional<SilentLinks> Ucx::silent_links() const {
  if (heartbeats_ == nullptr || ucx_ == nullptr) return std::nullopt;
  auto silent = heartbeats_->silent();
  if (silent) find_left(*silent);
  return silent;
}

Posted& Ucx::post(std::uint32_t peer, bool receive, std::size_t bytes, Completion& completion) {
  if (free_.empty()) free_.push_back(&ucx_->pool.emplace_back());
  Posted& posted = *free_.back();
  free_.pop_back();
  posted =
      Posted{&ucx_->done, &completion, nullptr, peer, receive, true, UCS_INPROGRESS, bytes, bytes};
  completion.state = Completion::State::Pending;
  return posted;
}

void Ucx::send(std::uint32_t peer, std::uint64_t tag, const void* data, std::size_t bytes,
               Completion& completion) {
  send_from(UCS_MEMORY_TYPE_HOST, peer, tag, data, bytes, completion);
}

void Ucx::send_device(std::uint32_t peer, std::uint64_t tag, const void* data, std::size_t bytes,
                      Completion& completion) {
  send_from(UCS_MEMORY_TYPE_CUDA, peer, tag, data, bytes, completion);
}

void Ucx::send_from(ucs_memory_type_t memory, std::uint32_t peer, std::uint64_t tag,
                    const void* data, std::size_t bytes, Completion& completion) {
  Posted& posted = post(peer, false, bytes, completion);
  const Peer& to = ucx_->peer_of(peer);
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.cb.send = &on_sent;
  param.user_data = &posted;
  param.memory_type = memory;
  const ucs_status_ptr_t request = ucp_tag_send_nbx(
      to.endpoint, data, bytes, (static_cast<std::uint64_t>(rank_) << kTagBits) | tag, &param);
  // Without a request there was no callback.
  if (!UCS_PTR_IS_PTR(request)) {
    Connections::touch_lightly(*to.rail);
    posted.status = UCS_PTR_STATUS(request);
    ucx_->done.push_back(&posted);
  } else {
    Connections::touch(*to.rail);
    posted.request = request;
  }
}

void Ucx::receive(std::uint32_t peer, std::uint64_t tag, void* data, std::size_t bytes,
                  Completion& completion) {
  receive_into(UCS_MEMORY_TYPE_HOST, peer, tag, data, bytes, completion);
}

void Ucx::receive_device(std::uint32_t peer, std::uint64_t tag, void* data, std::size_t bytes,
                         Completion& completion) {
  receive_into(UCS_MEMORY_TYPE_CUDA, peer, tag, data, bytes, completion);
}

void Ucx::receive_into(ucs_memory_type_t memory, std::uint32_t peer, std::uint64_t tag, void* data,
                       std::size_t bytes, Completion& completion) {
  Posted& posted = post(peer, true, bytes, completion);
  Rail& rail = *ucx_->peer_of(peer).rail;
  Connections::touch_lightly(rail);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                       UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.cb.recv = &on_received;
  param.user_data = &posted;
  param.memory_type = memory;
  const ucs_status_ptr_t request = ucp_tag_recv_nbx(
      rail.worker, data, bytes, (static_cast<std::uint64_t>(peer) << kTagBits) | tag,
      ~std::uint64_t{0}, &param);
  if (!UCS_PTR_IS_PTR(request)) {
    posted.status = UCS_PTR_STATUS(request);
    ucx_->done.push_back(&posted);
  } else {
    posted.request = request;
  }
}

void Ucx::settle(Posted& posted) {
  if (posted.request != nullptr) ucp_request_free(posted.request);
  Completion* completion = posted.completion;
  posted.active = false;
  free_.push_back(&posted);
  if (completion == nullptr) return;
  const Peer& peer = ucx_->peer_of(posted.peer);
  const ucs_status_t broken = peer.status;
  if (posted.receive && peer.heard != nullptr) peer.heard->store(true, std::memory_order_relaxed);
  if (posted.status == UCS_ERR_MESSAGE_TRUNCATED ||
      (posted.status == UCS_OK && posted.received != posted.expected)) {
    completion->fail(fmt::format("message from rank {} is not of the {} bytes that were expected",
                                 posted.peer, posted.expected));
  } else if (posted.status != UCS_OK) {
    completion->fail(fmt::format("connection to rank {} failed ({})", posted.peer,
                                 words_of(broken != UCS_OK ? broken : posted.status)));
  } else {
    completion->complete();
  }
}

bool Ucx::progress() {
  if (ucx_ == nullptr) return false;
  const bool moved = ucx_->progress();
  report_failed_peers();
  const bool flushed = !ucx_->flushes.empty() && ucx_->settle_flushes();
  if (ucx_->done.empty()) return moved || flushed;
  batch_.swap(ucx_->done);
  for (Posted* posted : batch_) settle(*posted);
  batch_.clear();
  return true;
}

/// Sends to a failed peer complete by themselves; receives belong to no connection and must be
/// cancelled.
void Ucx::report_failed_peers() {
  for (Peer& peer : ucx_->peers) {
    if (peer.status == UCS_OK || peer.reported) continue;
    peer.reported = true;
    ucx_->cancel_receives(&peer);
  }
}

void Ucx::drain(Deadline deadline) {
  if (ucx_ == nullptr) return;
  const auto until = Clock::now() + deadline;
  std::vector<Completion> left(ucx_->peers.size());
  for (std::size_t i = 0; i < left.size(); ++i) ucx_->flush(ucx_->peers[i], left[i]);
  // What a dead link holds back will not leave, and the others are told of it later.
  while (!ucx_->flushes.empty() && Clock::now() < until && !silent_links()) {
    if (!progress() && !sleep(kNap)) ::sched_yield();
  }
  ucx_->forget_flushes(left);
}

/// Never waits for a peer. After a failure, or where UCX will not let go in time, worker and
/// context are left to the end of the process.
void Ucx::close(bool orderly) {
  if (ucx_ == nullptr) return;
  for (Peer& peer : ucx_->peers) peer.heard = nullptr;
  heartbeats_.reset();
  for (Posted& posted : ucx_->pool) posted.completion = nullptr;
  for (Flush& flush : ucx_->flushes) flush.completion = nullptr;
  const bool closed = close_endpoints(*ucx_, [this] { return progress(); });
  if (!orderly || !closed) {
    bury(std::move(ucx_));
    return;
  }
  for (Rail& rail : ucx_->rails) close_rail(rail);
  ucx_.reset();
}

TransportLimits Ucx::limits() const {
  if (!ways_.slow_network) return {};
  return {.segment_bytes = kSlowSegmentBytes,
          .window_bytes = kSlowWindowBytes,
          .merge_bytes = kSlowMergeBytes};
}

std::string Ucx::describe() const {
  const char* transports = std::getenv("UCX_TLS");
  const auto wires = std::ranges::count_if(ways_.wires, [](const auto& wire) { return !!wire; });
  return fmt::format("UCX {}{}{}{}", ucp_get_version_string(),
                     transports == nullptr ? "" : " over ", transports == nullptr ? "" : transports,
                     wires == 0 ? "" : fmt::format(", {} neighbours on wires of their own", wires));
}

}  // namespace

std::unique_ptr<Transport> make_ucx(Bootstrap& bootstrap, const TransportOptions& options) {
  return std::make_unique<Ucx>(bootstrap, options);
}

}  // namespace multitree::runtime
