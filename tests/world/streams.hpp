// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Connections of a world, which carry bytes a few at a time and break anywhere, and the runtime's
/// own TCP streams (runtime/messages/tcp) over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job/wire_internal.hpp"
#include "runtime/messages/tcp/incoming_internal.hpp"
#include "runtime/messages/tcp/outgoing_internal.hpp"
#include "runtime/messages/transport.hpp"
#include "tests/world/wires.hpp"
#include "tests/world/world.hpp"

namespace multitree::runtime::world {

class StreamTransport;

/// One connection a pair of ranks: two pairs of sockets, between which the world passes bytes on.
class Streams {
 public:
  Streams(World& world, std::uint32_t ranks, Habits habits);

  /// It ends at some byte: what is under way is lost. After a moment there is another.
  void break_off(std::uint32_t a, std::uint32_t b);
  /// The connections of a rank that is no more. Their other ends learn of it, if `tells`.
  void lose(std::uint32_t rank, bool tells);
  /// All sockets, also of ranks that did not end.
  void close();
  /// Called at each send with how many there have been.
  std::function<void(std::uint32_t rank, std::uint64_t sends)> on_send;

 private:
  friend class StreamTransport;
  /// From one rank to another.
  struct Way {
    Socket end, world;             ///< of the rank that sends, and what it is connected to
    std::vector<std::byte> bytes;  ///< on their way
    bool moving = false;
  };
  Way& way(std::uint32_t from, std::uint32_t to) { return ways_[{from, to}]; }
  void open(Way& way);
  void connect_again(std::uint32_t a, std::uint32_t b);
  /// Something may be to be passed on.
  void kick(std::uint32_t from, std::uint32_t to);
  bool pass_on(std::uint32_t from, std::uint32_t to);

  World& world_;
  Habits habits_;
  std::vector<StreamTransport*> ends_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Way> ways_;
  std::vector<bool> lost_;
};

/// As the runtime's transport over TCP: frames, credit, offers, what is written again.
class StreamTransport final : public Transport {
 public:
  StreamTransport(std::shared_ptr<Streams> streams, Seat self, std::uint32_t ranks);
  ~StreamTransport() override;

  void send(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
            Completion& completion) override;
  void receive(Seat peer, std::uint64_t tag, void* data, std::size_t bytes,
               Completion& completion) override;
  bool progress() override;
  void flush(Seat peer, Completion& completion) override;
  bool drain(Deadline deadline) override;
  void abort() override;
  bool sleep(std::chrono::milliseconds time) override;
  [[nodiscard]] TransportLimits limits() const override { return streams_->habits_.limits; }
  [[nodiscard]] std::string describe() const override { return "streams of a world"; }

 private:
  friend class Streams;
  struct Peer {
    Peer(Seat seat, std::size_t credit) : outgoing(credit), incoming(seat, outgoing) {
      outgoing.outlast_connections();
    }
    tcp::Outgoing outgoing;
    tcp::Incoming incoming;
    bool down = false;  ///< its connection has ended
    bool lost = false;
  };

  bool move(std::uint32_t number, Peer& peer);
  void lose(std::uint32_t number);

  std::shared_ptr<Streams> streams_;
  std::uint32_t self_;
  std::uint64_t sends_ = 0;
  bool came_ = true;  ///< something may have
  std::map<std::uint32_t, Peer> peers_;
};

}  // namespace multitree::runtime::world
