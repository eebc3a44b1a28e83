// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All that UCX may hold an address of: rails, endpoints, and what is posted on them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/messages/transport.hpp"
#include "runtime/messages/ucx/library_internal.hpp"
#include "runtime/messages/ucx/rail_internal.hpp"

namespace multitree::runtime {

/// What a UCX callback leaves behind: it stores and returns.
struct Posted {
  std::vector<Posted*>* done = nullptr;
  Completion* completion = nullptr;  ///< null after abort()
  void* request = nullptr;
  Seat peer{};
  bool receive = false;
  bool active = false;
  ucs_status_t status = UCS_OK;
  std::size_t expected = 0, received = 0;
  std::uint64_t number = 0;  ///< of a send: Peer::count_sent()
};

struct Peer {
  Seat seat{};
  Rail* rail = nullptr;
  ucp_ep_h endpoint = nullptr;
  ucs_status_t status = UCS_OK;  ///< why UCX gave the connection up
  bool reported = false;
  bool by_memory = false;  ///< messages go through memory of this host, by its processors
  std::atomic<bool>* heard = nullptr;  ///< to be set when something comes; null if nobody asks
  std::uint64_t sent = 0, left = 0;    ///< messages to it so far; those known to have left UCX
  /// What they may take of the socket's buffer: from the first flush on all since one has ended.
  std::size_t unconfirmed = std::size_t{1} << 62;

  /// Counts a message that is sent now; returns its number.
  std::uint64_t count_sent(std::size_t bytes);
  /// UCX has that message no longer.
  void count_left(std::uint64_t number, std::size_t bytes);
  /// Whether all that was sent has left for certain, without asking.
  [[nodiscard]] bool all_left() const;
};

/// What was sent to a peer, on its way out of UCX.
struct Flush {
  void* request = nullptr;
  Completion* completion = nullptr;  ///< null if nobody asks any more
  Peer* peer = nullptr;
  std::size_t confirms = 0;                     ///< of Peer::unconfirmed
  std::chrono::steady_clock::time_point moved;  ///< when anything on the rail last did
};

struct Connections {
  std::deque<Rail> rails;
  std::deque<Peer> peers;       ///< neighbours, ascending by seat; then those that were met later
  std::vector<Peer*> by_seat;   ///< null: not met yet
  std::vector<bool> by_memory;  ///< by seat: Peer::by_memory
  std::deque<Posted> pool;
  std::vector<Posted*> done;
  std::vector<Flush> flushes;

  /// \pre it has been met
  [[nodiscard]] Peer& peer_of(Seat seat) { return *by_seat[index(seat)]; }
  Peer& add_peer(Seat seat) {
    Peer& peer = peers.emplace_back();
    peer.seat = seat;
    peer.by_memory = by_memory[index(seat)];
    by_seat[index(seat)] = &peer;
    return peer;
  }
  /// Moves data on all rails; true if anything happened.
  bool progress();
  /// To be called where something is posted on it: it needs progress again.
  static void touch(Rail& rail) { rail.armed = false; }
  /// The same where nothing but the peer's data is awaited, or nothing at all: over TCP that wakes
  /// an armed worker, and progress before it would be a few system calls for nothing.
  static void touch_lightly(Rail& rail) { rail.armed = rail.armed && rail.settings.slow; }
  /// Completes once UCX has passed on what was sent to the peer before. Where that is not known by
  /// itself UCX asks the peer, which takes a way there and back. \pre progress() and
  /// settle_flushes() are called in between
  void flush(Peer& peer, Completion& completion);
  /// True if any has ended.
  bool settle_flushes();
  /// From here on nobody asks.
  void forget_flushes(std::span<const Completion> asked);
  /// Makes outstanding receives complete as cancelled: all, or those from one rank.
  void cancel_receives(const Peer* only = nullptr);
  /// Whether all rails can be waited for.
  [[nodiscard]] bool can_sleep() const;
  /// Makes their descriptors tell of what there is to do. False: there may be something already.
  bool arm();
  /// Waits until a rail has something to do, at most for `time`. False, at once, if one of them
  /// cannot be waited for.
  bool sleep(std::chrono::milliseconds time);

 private:
  /// Disarms the rails whose descriptors are ready; waits for one of them at most for `time`. False
  /// if none was.
  bool disarm_ready(std::chrono::milliseconds time);

  std::uint32_t rounds_ = 0;  ///< of progress() since armed rails were last asked
  bool slept_ = false;        ///< and nothing has happened since
};

/// Opens the connection of a peer whose rail is known. \throws Error(Transport)
void connect(Peer& peer, const std::string& address);

/// Drops the endpoints without waiting for the peers, and cancels what is posted; `progress` is
/// called until UCX has let go or a moment has passed. True if UCX has let go of everything.
/// Unless all is in order, endpoints by memory are left as they are: UCX 1.13 ends the process
/// where one is closed whose queue holds a part of its handshake, as when a peer dies in its first
/// exchange. Nothing moves through them any more without progress.
bool close_endpoints(Connections& connections, bool orderly, const std::function<bool()>& progress);

/// What is left behind after a failure. Destroying a worker with unfinished business could hang,
/// and complains of every message that nobody took; a failed communicator costs its workers'
/// memory.
void bury(std::unique_ptr<Connections> connections);

void on_sent(void* request, ucs_status_t status, void* user);
void on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* user);

}  // namespace multitree::runtime
