// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tagged messages over UCX: one context and worker a communicator, one endpoint a peer.
#include <fmt/format.h>
#include <sched.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <mutex>

#include "runtime/ucx_check_internal.hpp"
#include "runtime/ucx_internal.hpp"

namespace multitree::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Longest that abort() and the destructor progress the worker for the endpoints to close.
constexpr std::chrono::milliseconds kCloseTime{50};
/// Of the first contact; no collective uses its last message number.
constexpr std::uint64_t kHelloTag = (std::uint64_t{1} << kTagBits) - 1;

/// Whether UCX_TLS lets shared memory in.
bool wants_shared_memory() {
  const char* variable = std::getenv("UCX_TLS");
  if (variable == nullptr) return true;
  std::string_view rest = variable;
  const bool excludes = rest.starts_with('^');
  if (excludes) rest.remove_prefix(1);
  bool listed = false;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    constexpr std::array kNames{"all", "shm", "sm", "mm", "posix", "sysv"};
    listed |= std::find(kNames.begin(), kNames.end(), name) != kNames.end();
  }
  return listed || excludes;
}

/// UCX tells of a dead peer only through transports that can detect one. Shared memory can, but not
/// by default, and would silently be left out for TCP. What the user has set stays. Through the
/// environment, as ucp_config_modify() of UCX 1.13 accepts settings of single transports and then
/// ignores them.
void apply_settings() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (wants_shared_memory()) ::setenv("UCX_MM_ERROR_HANDLING", "y", 0);
  });
}

/// What a UCX callback leaves behind: it stores and returns.
struct Posted {
  std::vector<Posted*>* done = nullptr;
  Completion* completion = nullptr;  ///< null after abort()
  void* request = nullptr;
  std::uint32_t peer = 0;  ///< a rank
  bool receive = false;
  bool active = false;
  ucs_status_t status = UCS_OK;
  std::size_t expected = 0, received = 0;
};

struct Peer {
  std::uint32_t rank = 0;
  ucp_ep_h endpoint = nullptr;
  ucs_status_t status = UCS_OK;  ///< why UCX gave the connection up
  bool reported = false;
};

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

void on_peer_failure(void* user, ucp_ep_h, ucs_status_t status) {
  static_cast<Peer*>(user)->status = status;
}

/// All that UCX may hold an address of.
struct Connections {
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  std::vector<Peer> peers;  ///< ascending by rank; fixed once connected
  std::deque<Posted> pool;
  std::vector<Posted*> done;
};

/// What is left behind after a failure. Destroying a worker with unfinished business could hang,
/// and complains of every message that nobody took; a failed communicator costs its worker's
/// memory.
void bury(std::unique_ptr<Connections> connections) {
  static std::mutex mutex;
  static auto* graves = new std::vector<std::unique_ptr<Connections>>();  // outlives every thread
  const std::scoped_lock lock(mutex);
  graves->push_back(std::move(connections));
}

class Ucx final : public Transport {
 public:
  Ucx(Bootstrap& bootstrap, const TransportOptions& options);
  ~Ucx() override { close(true); }

  void send(std::uint32_t peer, std::uint64_t tag, const void* data, std::size_t bytes,
            Completion& completion) override;
  void receive(std::uint32_t peer, std::uint64_t tag, void* data, std::size_t bytes,
               Completion& completion) override;
  [[nodiscard]] bool takes_device_memory() const override { return cuda_; }
  void send_device(std::uint32_t peer, std::uint64_t tag, const void* data, std::size_t bytes,
                   Completion& completion) override;
  void receive_device(std::uint32_t peer, std::uint64_t tag, void* data, std::size_t bytes,
                      Completion& completion) override;
  bool progress() override;
  void drain(Deadline deadline) override;
  void abort() override { close(false); }
  [[nodiscard]] std::string describe() const override;

 private:
  void open_worker(bool several_threads);
  void connect(Peer& peer, const std::string& address);
  void greet(Bootstrap& bootstrap, Deadline deadline);
  Posted& post(std::uint32_t peer, bool receive, std::size_t bytes, Completion& completion);
  void send_from(ucs_memory_type_t memory, std::uint32_t peer, std::uint64_t tag, const void* data,
                 std::size_t bytes, Completion& completion);
  void receive_into(ucs_memory_type_t memory, std::uint32_t peer, std::uint64_t tag, void* data,
                    std::size_t bytes, Completion& completion);
  void settle(Posted& posted);
  void report_failed_peers();
  Peer& peer_of(std::uint32_t rank);
  void close(bool orderly);
  bool close_endpoints();

  std::uint32_t rank_;
  bool cuda_ = false;  ///< UCX knows CUDA memory; without, such a pointer would crash it
  std::unique_ptr<Connections> ucx_ = std::make_unique<Connections>();  ///< null once closed
  std::vector<Posted*> free_, batch_;
};

Ucx::Ucx(Bootstrap& bootstrap, const TransportOptions& options) : rank_(bootstrap.rank()) {
  if (bootstrap.size() > kMaxRanks) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} ranks; message tags tell {} apart", bootstrap.size(), kMaxRanks));
  }
  try {
    open_worker(options.several_threads);
    ucp_address_t* address = nullptr;
    std::size_t bytes = 0;
    ucx_check(ucp_worker_get_address(ucx_->worker, &address, &bytes), "worker address");
    const std::string mine(reinterpret_cast<const char*>(address), bytes);
    ucp_worker_release_address(ucx_->worker, address);
    const std::vector<std::string> addresses = bootstrap.all_gather(mine, options.deadline);
    for (const std::uint32_t rank : options.peers) ucx_->peers.push_back({rank});
    for (Peer& peer : ucx_->peers) connect(peer, addresses[peer.rank]);
    greet(bootstrap, options.deadline);
  } catch (...) {
    close(false);
    throw;
  }
}

void Ucx::open_worker(bool several_threads) {
  apply_settings();
  ucp_config_t* config = nullptr;
  ucx_check(ucp_config_read(nullptr, nullptr, &config), "configuration");
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_TAG;
  const ucs_status_t status = ucp_init(&params, config, &ucx_->context);
  ucp_config_release(config);
  ucx_check(status, "start");
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  ucx_check(ucp_context_query(ucx_->context, &attributes), "memory types");
  cuda_ = (attributes.memory_types & (std::uint64_t{1} << UCS_MEMORY_TYPE_CUDA)) != 0;
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  // Collectives on device memory are progressed by a thread of their own, one at a time with
  // others.
  worker.thread_mode = several_threads ? UCS_THREAD_MODE_SERIALIZED : UCS_THREAD_MODE_SINGLE;
  ucx_check(ucp_worker_create(ucx_->context, &worker, &ucx_->worker), "worker");
}

void Ucx::connect(Peer& peer, const std::string& address) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &on_peer_failure;
  params.err_handler.arg = &peer;
  ucx_check(ucp_ep_create(ucx_->worker, &params, &peer.endpoint),
            fmt::format("connection to rank {}", peer.rank).c_str());
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
  for (std::size_t i = 0; i < ucx_->peers.size();) {
    if (progress()) continue;
    for (const Completion* completion : {&sent[i], &received[i]}) {
      if (completion->state != Completion::State::Failed) continue;
      throw Error(ErrorCode::Transport, fmt::format("rank {}: first contact with rank {}: {}",
                                                    rank_, ucx_->peers[i].rank, completion->error));
    }
    if (sent[i].state == Completion::State::Done && received[i].state == Completion::State::Done) {
      ++i;
      continue;
    }
    if (const auto failure = bootstrap.failure()) {
      throw Error(ErrorCode::Transport,
                  fmt::format("rank {}: {} during the first contact with rank {}", rank_, *failure,
                              ucx_->peers[i].rank));
    }
    if (Clock::now() > until) {
      throw Error(ErrorCode::Timeout,
                  fmt::format("rank {}: no first message {} rank {} over UCX within {} ms", rank_,
                              received[i].state == Completion::State::Done ? "to" : "from",
                              ucx_->peers[i].rank, deadline.count()));
    }
    ::sched_yield();
  }
  drain(deadline);
}

Peer& Ucx::peer_of(std::uint32_t rank) {
  return *std::lower_bound(ucx_->peers.begin(), ucx_->peers.end(), rank,
                           [](const Peer& peer, std::uint32_t r) { return peer.rank < r; });
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
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.cb.send = &on_sent;
  param.user_data = &posted;
  param.memory_type = memory;
  const ucs_status_ptr_t request =
      ucp_tag_send_nbx(peer_of(peer).endpoint, data, bytes,
                       (static_cast<std::uint64_t>(rank_) << kTagBits) | tag, &param);
  // Without a request there was no callback.
  if (!UCS_PTR_IS_PTR(request)) {
    posted.status = UCS_PTR_STATUS(request);
    ucx_->done.push_back(&posted);
  } else {
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
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                       UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.cb.recv = &on_received;
  param.user_data = &posted;
  param.memory_type = memory;
  const ucs_status_ptr_t request = ucp_tag_recv_nbx(
      ucx_->worker, data, bytes, (static_cast<std::uint64_t>(peer) << kTagBits) | tag,
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
  const ucs_status_t broken = peer_of(posted.peer).status;
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
  const bool moved = ucp_worker_progress(ucx_->worker) != 0;
  report_failed_peers();
  if (ucx_->done.empty()) return moved;
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
    for (Posted& posted : ucx_->pool) {
      if (posted.active && posted.receive && posted.peer == peer.rank &&
          posted.status == UCS_INPROGRESS && posted.request != nullptr) {
        ucp_request_cancel(ucx_->worker, posted.request);
      }
    }
  }
}

void Ucx::drain(Deadline deadline) {
  if (ucx_ == nullptr) return;
  ucp_request_param_t param{};
  const ucs_status_ptr_t request = ucp_worker_flush_nbx(ucx_->worker, &param);
  if (!UCS_PTR_IS_PTR(request)) return;
  const auto until = Clock::now() + deadline;
  while (ucp_request_check_status(request) == UCS_INPROGRESS && Clock::now() < until) {
    if (!progress()) ::sched_yield();
  }
  ucp_request_free(request);
}

bool Ucx::close_endpoints() {
  std::vector<ucs_status_ptr_t> closing;
  for (Peer& peer : ucx_->peers) {
    if (peer.endpoint == nullptr) continue;
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;
    const ucs_status_ptr_t request = ucp_ep_close_nbx(peer.endpoint, &param);
    if (UCS_PTR_IS_PTR(request)) closing.push_back(request);
    peer.endpoint = nullptr;
  }
  for (Posted& posted : ucx_->pool) {
    if (posted.active && posted.receive && posted.status == UCS_INPROGRESS &&
        posted.request != nullptr) {
      ucp_request_cancel(ucx_->worker, posted.request);
    }
  }
  const auto busy = [&] {
    return std::any_of(closing.begin(), closing.end(),
                       [](ucs_status_ptr_t request) {
                         return ucp_request_check_status(request) == UCS_INPROGRESS;
                       }) ||
           std::any_of(ucx_->pool.begin(), ucx_->pool.end(),
                       [](const Posted& p) { return p.active; });
  };
  const auto until = Clock::now() + kCloseTime;
  while (busy() && Clock::now() < until) {
    if (!progress()) ::sched_yield();
  }
  const bool closed = !busy();
  for (const ucs_status_ptr_t request : closing) ucp_request_free(request);
  return closed;
}

/// Never waits for a peer. After a failure, or where UCX will not let go in time, worker and
/// context are left to the end of the process.
void Ucx::close(bool orderly) {
  if (ucx_ == nullptr) return;
  for (Posted& posted : ucx_->pool) posted.completion = nullptr;
  const bool closed = ucx_->worker == nullptr || close_endpoints();
  if (!orderly || !closed) {
    bury(std::move(ucx_));
    return;
  }
  if (ucx_->worker != nullptr) ucp_worker_destroy(ucx_->worker);
  if (ucx_->context != nullptr) ucp_cleanup(ucx_->context);
  ucx_.reset();
}

std::string Ucx::describe() const {
  const char* transports = std::getenv("UCX_TLS");
  return fmt::format("UCX {}{}{}", ucp_get_version_string(), transports == nullptr ? "" : " over ",
                     transports == nullptr ? "" : transports);
}

}  // namespace

std::unique_ptr<Transport> make_ucx(Bootstrap& bootstrap, const TransportOptions& options) {
  return std::make_unique<Ucx>(bootstrap, options);
}

}  // namespace multitree::runtime
