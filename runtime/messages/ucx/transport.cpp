// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages on connections that are made.
#include "runtime/messages/ucx/transport_internal.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/messages/ucx/ucx_check_internal.hpp"
#include "runtime/messages/ucx/ucx_internal.hpp"

namespace multitree::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// As UCX matches them: the sender besides.
std::uint64_t wire_tag(Seat sender, std::uint64_t tag) {
  return (std::uint64_t{index(sender)} << kTagBits) | tag;
}

}  // namespace

std::optional<SilentLinks> Ucx::silent_links() const {
  return ucx_ == nullptr ? std::nullopt : links_.silent();
}

/// For one message more in each list: UCX, which calls the callbacks, passes no exception on.
void Ucx::make_room() {
  const std::size_t wanted = ucx_->pool.size() + 1;
  for (std::vector<Posted*>* list : {&ucx_->done, &batch_, &free_}) {
    if (list->capacity() < wanted) list->reserve(2 * wanted);
  }
}

Posted& Ucx::post(Seat peer, bool receive, std::size_t bytes, Completion& completion) {
  if (free_.empty()) {
    make_room();
    free_.push_back(&ucx_->pool.emplace_back());
  }
  Posted& posted = *free_.back();
  free_.pop_back();
  posted =
      Posted{&ucx_->done, &completion, nullptr, peer, receive, true, UCS_INPROGRESS, bytes, bytes};
  completion.state = Completion::State::Pending;
  return posted;
}

Peer& Ucx::met(Seat seat) {
  if (ucx_->by_seat[index(seat)] == nullptr) ucx_->add_peer(seat).rail = rail_for_all_;
  return ucx_->peer_of(seat);
}

void Ucx::send(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
               Completion& completion) {
  send_from(UCS_MEMORY_TYPE_HOST, peer, tag, data, bytes, completion);
}

void Ucx::send_device(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
                      Completion& completion) {
  send_from(UCS_MEMORY_TYPE_CUDA, peer, tag, data, bytes, completion);
}

void Ucx::send_from(ucs_memory_type_t memory, Seat peer, std::uint64_t tag, const void* data,
                    std::size_t bytes, Completion& completion) {
  Peer& to = met(peer);
  if (to.endpoint == nullptr) connect(to, address_of_stranger(peer));
  Posted& posted = post(peer, false, bytes, completion);
  posted.number = to.count_sent(bytes);
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.cb.send = &on_sent;
  param.user_data = &posted;
  param.memory_type = memory;
  const ucs_status_ptr_t request =
      ucp_tag_send_nbx(to.endpoint, data, bytes, wire_tag(self_, tag), &param);
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

void Ucx::receive(Seat peer, std::uint64_t tag, void* data, std::size_t bytes,
                  Completion& completion) {
  receive_into(UCS_MEMORY_TYPE_HOST, peer, tag, data, bytes, completion);
}

void Ucx::receive_device(Seat peer, std::uint64_t tag, void* data, std::size_t bytes,
                         Completion& completion) {
  receive_into(UCS_MEMORY_TYPE_CUDA, peer, tag, data, bytes, completion);
}

void Ucx::receive_into(ucs_memory_type_t memory, Seat peer, std::uint64_t tag, void* data,
                       std::size_t bytes, Completion& completion) {
  Rail& rail = *met(peer).rail;
  Posted& posted = post(peer, true, bytes, completion);
  Connections::touch_lightly(rail);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                       UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.cb.recv = &on_received;
  param.user_data = &posted;
  param.memory_type = memory;
  const ucs_status_ptr_t request =
      ucp_tag_recv_nbx(rail.worker, data, bytes, wire_tag(peer, tag), ~std::uint64_t{0}, &param);
  if (!UCS_PTR_IS_PTR(request)) {
    posted.status = UCS_PTR_STATUS(request);
    ucx_->done.push_back(&posted);
  } else {
    posted.request = request;
  }
}

bool Ucx::has_come(Seat peer, std::uint64_t tag) const {
  if (ucx_ == nullptr) return false;
  const Peer* const met = ucx_->by_seat[index(peer)];
  const Rail& rail = met != nullptr ? *met->rail : *rail_for_all_;
  ucp_tag_recv_info_t info{};
  return ucp_tag_probe_nb(rail.worker, wire_tag(peer, tag), ~std::uint64_t{0}, 0, &info) != nullptr;
}

void Ucx::settle(Posted& posted) {
  if (posted.request != nullptr) ucp_request_free(posted.request);
  Completion* completion = posted.completion;
  posted.active = false;
  free_.push_back(&posted);
  if (completion == nullptr) return;
  Peer& peer = ucx_->peer_of(posted.peer);
  const ucs_status_t broken = peer.status;
  if (posted.receive && peer.heard != nullptr) peer.heard->store(true, std::memory_order_relaxed);
  if (posted.status == UCS_ERR_MESSAGE_TRUNCATED ||
      (posted.status == UCS_OK && !completion->takes(posted.received, posted.expected))) {
    completion->fail_length(
        posted.received,
        fmt::format("message from rank {} is not of the {} bytes that were expected", posted.peer,
                    posted.expected));
  } else if (posted.status != UCS_OK) {
    completion->fail(fmt::format("connection to rank {} failed ({})", posted.peer,
                                 words_of(broken != UCS_OK ? broken : posted.status)));
  } else {
    if (!posted.receive) peer.count_left(posted.number, posted.expected);
    completion->complete(posted.received);
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

Transport::Arrivals Ucx::await_arrivals(std::vector<int>& descriptors) {
  if (ucx_ == nullptr || !ucx_->can_sleep()) return Arrivals::Unknown;
  if (!ucx_->done.empty() || !ucx_->arm()) return Arrivals::Here;
  for (const Rail& rail : ucx_->rails) descriptors.push_back(rail.event_fd);
  return Arrivals::Awaited;
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

bool Ucx::drain(Deadline deadline) {
  if (ucx_ == nullptr) return true;
  const auto until = Clock::now() + deadline;
  std::vector<Completion> left(ucx_->peers.size());
  for (std::size_t i = 0; i < left.size(); ++i) ucx_->flush(ucx_->peers[i], left[i]);
  // What a dead link holds back will not leave, and the others are told of it later.
  bool late = false;
  while (!ucx_->flushes.empty() && !silent_links() && !(late = Clock::now() >= until)) {
    if (!progress() && !sleep(kNap)) ::sched_yield();
  }
  ucx_->forget_flushes(left);
  return !late;
}

/// Never waits for a peer. After a failure, or where UCX will not let go in time, worker and
/// context are left to the end of the process.
void Ucx::close(bool orderly) {
  if (ucx_ == nullptr) return;
  for (Peer& peer : ucx_->peers) peer.heard = nullptr;
  links_.stop();
  for (Posted& posted : ucx_->pool) posted.completion = nullptr;
  for (Flush& flush : ucx_->flushes) flush.completion = nullptr;
  const bool closed = close_endpoints(*ucx_, orderly, [this] { return progress(); });
  if (!orderly || !closed) {
    bury(std::move(ucx_));
    return;
  }
  for (Rail& rail : ucx_->rails) close_rail(rail);
  ucx_.reset();
}

TransportLimits Ucx::limits() const {
  if (!links_.ways().slow_network) return {};
  return slow_network_limits(links_.ways(), std::getenv("UCX_RNDV_THRESH") == nullptr);
}

std::string Ucx::describe() const {
  const char* transports = std::getenv("UCX_TLS");
  const auto wires =
      std::ranges::count_if(links_.ways().wires, [](const auto& wire) { return wire.has_value(); });
  return fmt::format("UCX {}{}{}{}", ucp_get_version_string(),
                     transports == nullptr ? "" : " over ", transports == nullptr ? "" : transports,
                     wires == 0 ? "" : fmt::format(", {} neighbours on wires of their own", wires));
}

bool has_ucx() { return load_ucx().empty(); }

std::unique_ptr<Transport> make_ucx(Bootstrap& bootstrap, const TransportOptions& options) {
  if (!has_ucx()) {
    const std::string why = fmt::format(
        "rank {}: transport ucx: expected UCX on this machine or "
        "transport tcp, found none: {}",
        bootstrap.seat(), load_ucx());
    bootstrap.report_failure(why);  // others may have it
    throw Error(ErrorCode::Unsupported, why);
  }
  return std::make_unique<Ucx>(bootstrap, options);
}

}  // namespace multitree::runtime
