// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A network of a world, and the transport over it: messages that take their time, come in pieces,
/// wait for room, and are lost with their senders.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/messages/transport.hpp"
#include "tests/world/world.hpp"

namespace multitree::runtime::world {

/// What a network is like: drawn once a job.
struct Habits {
  TransportLimits limits;
  std::size_t unasked_bytes =
      4096;                        ///< more of one message stays at its sender until it is awaited
  std::size_t piece_bytes = 1500;  ///< most that comes at a time
  Nanoseconds delay{20'000};       ///< longest of a piece that is not late
  Nanoseconds late{0};             ///< longest of one that is
  bool in_order = true;            ///< what was sent to one peer comes in that order
  Deadline link_deadline{0};       ///< of a link that brings nothing, after which it is silent
  bool goes_around = false;        ///< what cannot take a link takes another way (Continue)
};

class WorldTransport;

/// All links of a job. A message of a sender is read from its memory piece by piece, and written
/// into the receiver's, as late as can be: who changes the one or reads the other too early is
/// found out.
class Wires {
 public:
  Wires(World& world, std::uint32_t ranks, Habits habits)
      : world_(world), ranks_(ranks), habits_(habits), ends_(ranks) {}

  [[nodiscard]] const Habits& habits() const { return habits_; }
  [[nodiscard]] World& world() const { return world_; }
  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }

  /// From now on nothing passes from one rank to the other.
  void cut(std::uint32_t from, std::uint32_t to);
  void mend(std::uint32_t from, std::uint32_t to);
  /// Its connections end; those who await something of it learn that after a while, if `tells`.
  void lose(std::uint32_t rank, bool tells);
  /// Since when a rank has had nothing from another over their link that it should have; empty: all
  /// is well.
  [[nodiscard]] std::optional<Nanoseconds> silent_since(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] bool is_cut(std::uint32_t from, std::uint32_t to) const {
    return cuts_.contains({from, to});
  }
  /// Called at each send with how many there have been.
  std::function<void(std::uint32_t rank, std::uint64_t sends)> on_send;

 private:
  friend class WorldTransport;
  struct Message;
  /// From one rank to another.
  struct Way {
    std::list<std::shared_ptr<Message>> messages;  ///< that have not come as a whole
    bool moving = false;                           ///< a piece is under way
  };

  void send(std::uint32_t from, std::uint32_t to, std::shared_ptr<Message> message);
  void move(std::uint32_t from, std::uint32_t to);
  [[nodiscard]] bool passes(std::uint32_t from, std::uint32_t to) const;
  void bring(std::uint32_t from, std::uint32_t to, const std::shared_ptr<Message>& message);
  [[nodiscard]] std::shared_ptr<Message> next_of(const Way& way) const;

  World& world_;
  std::uint32_t ranks_;
  Habits habits_;
  std::vector<WorldTransport*> ends_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Way> ways_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Nanoseconds> cuts_;  ///< since when
  std::set<std::uint32_t> lost_;
};

/// One rank's end of all links.
class WorldTransport final : public Transport {
 public:
  WorldTransport(std::shared_ptr<Wires> wires, Seat self);
  ~WorldTransport() override;

  void send(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
            Completion& completion) override;
  void receive(Seat peer, std::uint64_t tag, void* data, std::size_t bytes,
               Completion& completion) override;
  bool progress() override;
  bool drain(Deadline deadline) override;
  void abort() override;
  bool sleep(std::chrono::milliseconds time) override;
  [[nodiscard]] std::optional<SilentLinks> silent_links() const override;
  [[nodiscard]] std::vector<ImpairedLink> impaired_links() override;
  [[nodiscard]] TransportLimits limits() const override { return wires_->habits().limits; }
  [[nodiscard]] std::string describe() const override { return "a network of a world"; }

 private:
  friend class Wires;
  struct Posted {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    Completion* completion = nullptr;
  };
  using Key = std::pair<std::uint32_t, std::uint64_t>;

  /// Whether a receive waits for this message, in its turn.
  void claim(std::uint32_t from, Wires::Message& message);
  void finish(const std::shared_ptr<Wires::Message>& message);
  void lose(std::uint32_t peer);

  std::shared_ptr<Wires> wires_;
  std::uint32_t self_;
  std::uint64_t sends_ = 0;
  std::map<Key, std::deque<Posted>> posted_;
  std::map<Key, std::deque<std::shared_ptr<Wires::Message>>> unclaimed_;
  std::deque<std::function<void()>> done_;  ///< completions that progress() tells of
  std::set<std::uint32_t> gone_;
  std::size_t outgoing_ = 0;
};

struct Wires::Message {
  std::uint64_t tag = 0;
  std::size_t bytes = 0;
  const std::byte* data = nullptr;  ///< the sender's; null: it has given up
  Completion* sent = nullptr;
  bool left = false;  ///< all of it has come
  std::vector<std::byte> kept;
  std::size_t come = 0;
  WorldTransport::Posted posted;  ///< who awaits it
  bool claimed = false;
  bool unasked = true;
};

}  // namespace multitree::runtime::world
