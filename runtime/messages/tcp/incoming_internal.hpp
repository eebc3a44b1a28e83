// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a rank reads from one peer, and who waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
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

  /// As Transport::receive().
  void receive(std::uint64_t tag, void* data, std::size_t bytes, Completion& completion);
  /// As Transport::has_come().
  [[nodiscard]] bool has(std::uint64_t tag) const;
  /// What is read from here on comes by a connection that has just been made. Null: as it is.
  void open_with(std::unique_ptr<SealedReader> seal) { seal_ = std::move(seal); }
  /// What came was not of the peer.
  [[nodiscard]] bool refuses() const { return seal_ != nullptr && seal_->refuses(); }
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

  /// The message that is being read.
  struct Current {
    std::byte* to = nullptr;  ///< where the rest goes; null: nowhere
    std::size_t left = 0;
    std::size_t bytes = 0;  ///< of the whole
    bool unasked = false;
    Posted posted;
    Earlies::iterator early;  ///< if nobody awaits it yet
  };

  /// As readv().
  [[nodiscard]] ssize_t get(int socket, std::span<const iovec> parts) const;
  bool parse();
  bool begin(const Header& header);
  void begin_message(const Header& header);
  void begin_for(const Posted& posted, const Header& header);
  bool begin_given(const Header& header);
  void offered(const Header& header);
  void answer_offer(const Posted& posted, std::size_t bytes, std::uint64_t offer);
  void end();
  void deliver(Earlies::iterator early, const Posted& posted);
  void settle(const Posted& posted, std::size_t bytes) const;
  void take(std::size_t bytes);
  /// The oldest of this tag that awaits a message; a null completion if there is none.
  Posted next_posted(std::uint64_t tag);

  Seat peer_;
  Outgoing& replies_;
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
