// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a rank has to write to one peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/messages/tcp/frame_internal.hpp"
#include "runtime/messages/tcp/replay_internal.hpp"
#include "runtime/messages/tcp/sealed_internal.hpp"

namespace multitree::runtime::tcp {

/// How far a transfer between a queue and a socket has come.
enum class Moved : std::uint8_t {
  Nothing,
  Some,
  Blocked,  ///< some or nothing, and the socket takes no more
  More,     ///< some, and there may be more
  Over,     ///< the connection is of no use any more
  Cut,      ///< the same, as nothing passes; the peer may be there
};

/// Whether an error of a socket says no more than that nothing passes.
bool says_cut(int error);

/// Messages in the order in which they were posted; those that are waiting leave together. What the
/// receiver has not asked for is limited by a credit: beyond it a message is offered only, and
/// stays here until it is awaited.
class Outgoing {
 public:
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  explicit Outgoing(std::size_t credit) : credit_(credit) {}
  /// What goes to the same peer over a further cable: parts of the messages of `first`, which lives
  /// as long.
  explicit Outgoing(Outgoing& first) : credit_(kUnlimited), first_(&first) {
    first.beside_.push_back(this);
  }
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  /// Whether the peer, whose credit is the same, sends a message of so many bytes unasked.
  [[nodiscard]] bool comes_unasked(std::size_t bytes) const {
    return bytes <= kAlwaysUnasked || bytes <= credit_;
  }

  /// Rates of this cable and of those beside, in the order in which they were made: by them
  /// messages are divided from here on (shares_of()).
  void share_by(std::vector<std::uint32_t> mbits) { mbits_ = std::move(mbits); }
  /// `data` as in Transport::send().
  void send(std::uint64_t tag, const void* data, std::size_t bytes, Completion& completion);
  void ask(std::uint64_t offer) { reply(Kind::Ask, offer); }
  void decline(std::uint64_t offer) { reply(Kind::Decline, offer); }
  /// So many bytes that came unasked have found their receivers; the peer is told where it may
  /// wait for that.
  void took(std::uint64_t taken);
  /// As Transport::flush().
  void flush(Completion& completion);
  /// From here on what is written is kept until it has come, so that another connection can go on
  /// where this one ended. \pre nothing was written
  void outlast_connections() { replay_ = std::make_unique<Replay>(); }
  /// So many bytes have come from the peer; it is told now and then, if connections are outlasted.
  void came(std::uint64_t bytes);

  /// Of the peer. False: it speaks of what it was not offered.
  bool asked(std::uint64_t offer);
  bool declined(std::uint64_t offer);
  void may_go_on(std::uint64_t taken) { taken_by_peer_ = taken; }
  bool came_to_peer(std::uint64_t bytes) { return replay_ != nullptr && replay_->came(bytes); }
  /// What is written from here on goes over a connection that has just been made. Null: as it is.
  void seal_with(std::unique_ptr<SealedWriter> seal) { seal_ = std::move(seal); }
  /// There is another connection, and the peer has had so many bytes by those before.
  bool go_on_behind(std::uint64_t bytes);

  [[nodiscard]] bool empty() const { return queue_.empty() && !holds(); }
  /// Whether nothing that was sent is left here, or at a cable beside.
  [[nodiscard]] bool all_left() const { return waiting_ == 0 && !holds_back(); }
  /// Writes what the socket takes. After Over and Cut, `why` says what is wrong.
  Moved write(int socket, std::string& why);
  /// The peer is lost.
  void fail(const std::string& why);

 private:
  /// A message that is divided.
  struct Whole {
    std::size_t left = 0;              ///< parts that have not gone yet
    Completion* completion = nullptr;  ///< null: it has failed
    std::uint64_t number = 0;
  };
  struct Item {
    Header header;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;              ///< that follow
    Completion* completion = nullptr;   ///< null: not a whole message
    std::uint64_t number = 0;           ///< of the message
    std::shared_ptr<Whole> whole = {};  ///< of which it is a part; may be null
  };
  struct Flush {
    std::uint64_t last = 0;  ///< message that it waits for
    std::size_t left = 0;    ///< messages that have not gone yet
    Completion* completion = nullptr;
  };

  void reply(Kind kind, std::uint64_t offer) { queue_.push_back({Header(kind, offer, 0)}); }
  void enqueue(const Item& message);
  void gone_in_part(Whole& whole);
  /// Whether something is to be written again.
  [[nodiscard]] bool is_behind() const { return replay_ != nullptr && replay_->behind(); }
  /// Whether something is here that is not in the queue any more.
  [[nodiscard]] bool holds() const { return is_behind() || (seal_ != nullptr && seal_->holds()); }
  /// The same of all cables. \pre this is the first
  [[nodiscard]] bool holds_back() const;
  /// As sendmsg().
  ssize_t put(int socket, std::span<iovec> pieces);
  Moved write_again(int socket, std::string& why);
  Moved write_queue(int socket, std::string& why);
  void complete_flushes();
  /// Takes off the queue what was written.
  void written(std::size_t bytes);
  void gone(std::uint64_t number);

  std::size_t credit_;
  Outgoing* first_ = nullptr;  ///< null: this is
  std::vector<Outgoing*> beside_;
  std::vector<std::uint32_t> mbits_;
  std::uint64_t divided_ = 0;  ///< messages
  std::deque<Item> queue_;
  std::size_t sent_ = 0;                  ///< of the first of these
  std::map<std::uint64_t, Item> offers_;  ///< that nobody has asked for yet
  std::uint64_t next_offer_ = 0, next_number_ = 0;
  std::size_t waiting_ = 0;  ///< messages that are here
  std::uint64_t unasked_ = 0, taken_by_peer_ = 0;
  std::uint64_t taken_ = 0, told_ = 0;  ///< at this end; what the peer knows of it
  std::vector<Flush> flushes_;
  std::unique_ptr<Replay> replay_;      ///< null: what is lost with a connection is lost
  std::unique_ptr<SealedWriter> seal_;  ///< of the connection; null: nothing is sealed
  std::uint64_t came_told_ = 0;
};

}  // namespace multitree::runtime::tcp
