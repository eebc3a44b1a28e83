// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a rank reads from one peer, and who waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "runtime/messages/tcp/frame_internal.hpp"
#include "runtime/messages/tcp/outgoing_internal.hpp"
#include "runtime/messages/tcp/sealed_internal.hpp"

namespace multitree::runtime::tcp {

/// Takes a stream of frames apart. A message that is awaited is read where it is to be; what comes
/// before somebody awaits it is kept, or stays at its sender if there is much of that.
class Incoming {
 public:
  /// `replies`: to the same peer. `peer`: for messages.
  Incoming(Seat peer, Outgoing& replies) : peer_(peer), replies_(replies) {}
  /// What comes from the same peer over a further cable: parts of the messages of `first`, which
  /// lives as long.
  Incoming(Seat peer, Outgoing& replies, Incoming& first)
      : peer_(peer), replies_(replies), first_(&first) {
    first.has_beside_ = true;
  }
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  /// As Transport::receive().
  void receive(std::uint64_t tag, void* data, std::size_t bytes, Completion& completion);
  /// As Transport::has_come().
  [[nodiscard]] bool has(std::uint64_t tag) const;
  /// What is read from here on comes by a connection that has just been made. Null: as it is.
  void open_with(std::unique_ptr<SealedReader> seal) { seal_ = std::move(seal); }
  /// What came was not of the peer.
  [[nodiscard]] bool refuses() const { return seal_ != nullptr && seal_->refuses(); }
  /// Whether read() has stopped before a part, and there is a place for that now.
  [[nodiscard]] bool can_go_on() const;
  /// Reads what has come. After Over and Cut, `why` says what is wrong.
  Moved read(int socket, std::string& why);
  /// The peer is lost: what has come can still be received.
  void fail(const std::string& why);
  /// Bytes that were read, over all connections.
  [[nodiscard]] std::uint64_t came() const { return came_; }

 private:
  struct Posted {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    Completion* completion = nullptr;  ///< null: nobody
  };
  /// What came before it was awaited.
  struct Early {
    std::size_t bytes = 0;
    std::unique_ptr<std::byte[]> data;  ///< null: it was offered
    std::uint64_t offer = 0;
    bool complete = false;
    Posted waiter;  ///< of one that is being read
  };
  using Earlies = std::multimap<std::uint64_t, Early>;  ///< by tag, each in the order of arrival

  /// A message that comes.
  struct Message {
    std::byte* to = nullptr;  ///< where it goes; null: nowhere
    std::size_t bytes = 0;
    bool unasked = false;
    Posted posted;
    Earlies::iterator early;  ///< if nobody awaits it yet
  };
  /// One that is divided.
  struct Divided {
    Message message;
    std::size_t left = 0;     ///< bytes that have not come
    std::size_t unknown = 0;  ///< those whose part has not begun
  };
  /// What is being read: a message, or a part of one.
  struct Current {
    std::byte* to = nullptr;  ///< where the rest goes; null: nowhere
    std::size_t left = 0;
    Message message;                       ///< if it is whole
    std::size_t part = 0;                  ///< else so many bytes
    std::optional<std::uint64_t> of = {};  ///< of that one
  };

  /// As readv().
  [[nodiscard]] ssize_t get(int socket, std::span<const iovec> parts) const;
  bool parse();
  [[nodiscard]] bool is_in_place(const Header& header) const;
  bool begin(const Header& header);
  bool begin_message(const Header& header);
  bool begin_given(const Header& header);
  bool begin_reading(const Message& message, const Header& header);
  bool begin_part(const Header& header);
  Message message_for(const Posted& posted, std::size_t bytes);
  void offered(const Header& header);
  void answer_offer(const Posted& posted, std::size_t bytes, std::uint64_t offer);
  void end();
  void arrived(const Message& message);
  void deliver(Earlies::iterator early, const Posted& posted);
  void settle(const Posted& posted, std::size_t bytes) const;
  void take(std::size_t bytes);
  /// The oldest of this tag that awaits a message; a null completion if there is none.
  Posted next_posted(std::uint64_t tag);

  Seat peer_;
  Outgoing& replies_;
  Incoming* first_ = nullptr;  ///< null: this is
  bool has_beside_ = false;
  std::map<std::uint64_t, Divided> divided_;  ///< that are not whole, by number
  std::uint64_t next_divided_ = 0;
  std::optional<std::uint64_t> awaits_;  ///< a part of this one is next, and it is not known yet
  std::multimap<std::uint64_t, Posted> posted_;  ///< by tag, each in the order of posting
  Earlies early_;
  std::map<std::uint64_t, Posted> asked_;  ///< by offer
  std::uint64_t offers_ = 0, taken_ = 0, came_ = 0;
  Current current_;
  std::unique_ptr<std::byte[]> buffer_;  ///< once something has come
  std::size_t begin_ = 0, end_ = 0;      ///< what is in it
  std::unique_ptr<SealedReader> seal_;   ///< of the connection; null: nothing is sealed
  std::string lost_;
};

}  // namespace multitree::runtime::tcp
