// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Endpoints: opened, waited for, and dropped.
#include "runtime/messages/ucx/connections_internal.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "runtime/messages/ucx/ucx_check_internal.hpp"

namespace multitree::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Longest that abort() and the destructor progress the workers for the endpoints to close.
constexpr std::chrono::milliseconds kCloseTime{50};
/// In which a socket whose peer receives has room again: 64 KiB take 26 ms at 20 Mbit/s.
constexpr std::chrono::milliseconds kQuietTime{50};
/// Rails that can be waited for together; with more (a rank of a large full graph) we poll.
constexpr std::size_t kMaxAwaited = 64;
/// Rounds in which only those rails make progress that have had something to do.
constexpr std::uint32_t kRounds = 4;
/// That the kernel takes for a packet beside its bytes, at the most.
constexpr std::size_t kPacketBytes = 2304;

void on_peer_failure(void* user, ucp_ep_h, ucs_status_t status) {
  static_cast<Peer*>(user)->status = status;
}

}  // namespace

void on_sent(void* request, ucs_status_t status, void* user) {
  auto* posted = static_cast<Posted*>(user);
  posted->request = request;
  posted->status = status;
  posted->done->push_back(posted);
}

void on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* user) {
  auto* posted = static_cast<Posted*>(user);
  posted->request = request;
  posted->status = status;
  posted->received = info->length;
  posted->done->push_back(posted);
}

std::uint64_t Peer::count_sent(std::size_t bytes) {
  unconfirmed += bytes + kPacketBytes;
  return ++sent;
}

/// What UCX copies may be in a buffer of its own, until there is room in the socket's. What it does
/// not is in the socket then, and all before it.
void Peer::count_left(std::uint64_t number, std::size_t bytes) {
  if (bytes > kCopiedBytes) left = std::max(left, number);
}

bool Peer::all_left() const {
  // Three quarters of what the kernel takes.
  const std::size_t room = std::size_t{rail->settings.send_buffer} * 3 / 2;
  return rail->exact && (left == sent || unconfirmed <= room);
}

bool Connections::disarm_ready(std::chrono::milliseconds time) {
  std::array<pollfd, kMaxAwaited> events;
  std::array<Rail*, kMaxAwaited> of;
  nfds_t count = 0;
  for (Rail& rail : rails) {
    if (!rail.armed) continue;
    of[count] = &rail;
    events[count++] = {rail.event_fd, POLLIN, 0};
  }
  rounds_ = 0;
  if (count == 0 || ::poll(events.data(), count, static_cast<int>(time.count())) <= 0) return false;
  for (nfds_t i = 0; i < count; ++i) {
    if (events[i].revents != 0) of[i]->armed = false;
  }
  return true;
}

/// One system call tells which of the sleeping rails have something to do; asking each of their
/// workers costs several. Even that one call is saved while other rails are awake, for some rounds,
/// and after a sleep, which has just made it.
bool Connections::progress() {
  const bool awake = std::ranges::any_of(rails, [](const Rail& rail) { return !rail.armed; });
  if (!slept_ && (!awake || ++rounds_ >= kRounds)) disarm_ready(std::chrono::milliseconds{0});
  slept_ = false;
  bool moved = false;
  for (const Rail& rail : rails) {
    if (rail.worker == nullptr || rail.armed || ucp_worker_progress(rail.worker) == 0) continue;
    moved = true;
    for (Flush& flush : flushes) {
      if (flush.peer->rail == &rail) flush.moved = Clock::now();
    }
  }
  return moved;
}

void Connections::flush(Peer& peer, Completion& completion) {
  completion.state = Completion::State::Pending;
  // Nothing was sent, or all of it has left.
  if (peer.endpoint == nullptr || peer.all_left()) return completion.complete();
  ucp_request_param_t param{};
  const ucs_status_ptr_t request = ucp_ep_flush_nbx(peer.endpoint, &param);
  if (!UCS_PTR_IS_PTR(request)) {
    peer.unconfirmed = 0;
    completion.complete();
    return;
  }
  touch(*peer.rail);
  flushes.push_back({request, &completion, &peer, peer.unconfirmed, Clock::now()});
}

/// UCX 1.13 has been seen to leave a flush over TCP open for good although all had arrived. What is
/// really left waits for room in a socket, and moves now and then: where nothing moves any more,
/// there is nothing left.
bool Connections::settle_flushes() {
  return std::erase_if(flushes, [](const Flush& flush) {
           const bool over = ucp_request_check_status(flush.request) != UCS_INPROGRESS;
           if (!over && Clock::now() - flush.moved <= kQuietTime) return false;
           if (over) flush.peer->unconfirmed -= std::min(flush.peer->unconfirmed, flush.confirms);
           // A connection that failed meanwhile is reported where something is awaited from it.
           ucp_request_free(flush.request);
           if (flush.completion != nullptr) flush.completion->complete();
           return true;
         }) != 0;
}

void Connections::forget_flushes(std::span<const Completion> asked) {
  for (Flush& flush : flushes) {
    const bool ours = std::ranges::any_of(
        asked, [&](const Completion& completion) { return &completion == flush.completion; });
    if (ours) flush.completion = nullptr;
  }
}

void Connections::cancel_receives(const Peer* only) {
  for (Posted& posted : pool) {
    if (posted.active && posted.receive && posted.status == UCS_INPROGRESS &&
        posted.request != nullptr && (only == nullptr || posted.peer == only->seat)) {
      Rail& rail = *peer_of(posted.peer).rail;
      touch(rail);
      ucp_request_cancel(rail.worker, posted.request);
    }
  }
}

bool Connections::can_sleep() const {
  return rails.size() <= kMaxAwaited &&
         std::ranges::all_of(rails, [](const Rail& rail) { return rail.event_fd >= 0; });
}

bool Connections::arm() {
  for (Rail& rail : rails) {
    if (rail.armed) continue;
    // Anything but OK means that there is something to do first.
    if (ucp_worker_arm(rail.worker) != UCS_OK) return false;
    rail.armed = true;
  }
  return true;
}

bool Connections::sleep(std::chrono::milliseconds time) {
  if (!can_sleep()) return false;
  if (!arm()) return true;
  slept_ = true;
  if (disarm_ready(time)) return true;
  // Nothing for so long: all are asked, should one of them have missed its event.
  for (Rail& rail : rails) touch(rail);
  return true;
}

void connect(Peer& peer, const std::string& address) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &on_peer_failure;
  params.err_handler.arg = &peer;
  ucx_check(ucp_ep_create(peer.rail->worker, &params, &peer.endpoint),
            fmt::format("connection to rank {}", peer.seat).c_str());
}

bool close_endpoints(Connections& connections, bool orderly,
                     const std::function<bool()>& progress) {
  std::vector<ucs_status_ptr_t> closing;
  const auto is_left = [orderly](const Peer& peer) { return !orderly && peer.by_memory; };
  for (Peer& peer : connections.peers) {
    if (peer.endpoint == nullptr || is_left(peer)) continue;
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;
    Connections::touch(*peer.rail);
    const ucs_status_ptr_t request = ucp_ep_close_nbx(peer.endpoint, &param);
    if (UCS_PTR_IS_PTR(request)) closing.push_back(request);
    peer.endpoint = nullptr;
  }
  connections.cancel_receives();
  const auto busy = [&] {
    return std::ranges::any_of(closing,
                               [](ucs_status_ptr_t request) {
                                 return ucp_request_check_status(request) == UCS_INPROGRESS;
                               }) ||
           std::ranges::any_of(connections.pool, [&](const Posted& posted) {
             if (!posted.active) return false;
             return posted.receive || !is_left(connections.peer_of(posted.peer));
           });
  };
  const auto until = Clock::now() + kCloseTime;
  while (busy() && Clock::now() < until) {
    if (!progress()) ::sched_yield();
  }
  const bool closed = !busy();
  for (const ucs_status_ptr_t request : closing) ucp_request_free(request);
  for (const Flush& flush : connections.flushes) ucp_request_free(flush.request);
  connections.flushes.clear();
  return closed;
}

void bury(std::unique_ptr<Connections> connections) {
  static std::mutex mutex;
  static auto* graves = new std::vector<std::unique_ptr<Connections>>();  // outlives every thread
  const std::scoped_lock lock(mutex);
  graves->push_back(std::move(connections));
}

}  // namespace multitree::runtime
