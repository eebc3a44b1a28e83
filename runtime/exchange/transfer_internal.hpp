// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A message of any size from one rank to another: small ones with their header, large ones in
/// segments, once they are asked for.
///
///     sender     header and data ──▶                          up to kEagerBytes, or, where the
///                                                             transport carries notes, far more
///     sender     header ──▶   ◀── ask     segments ──▶        beyond, where a transport would keep
///                                                             at the receiver what nobody awaits
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/exchange/moves_internal.hpp"
#include "runtime/messages/transport.hpp"

namespace multitree::runtime {

/// Messages up to this travel with their header: they are copied at both ends, and may come before
/// anybody awaits them.
inline constexpr std::uint64_t kEagerBytes = 4096;

/// What the receiver compares with what it expects.
struct Header {
  std::uint64_t bytes = 0;
  Exchange exchange{};  ///< Send at both ends of a pair
  DataType type{};
  ReduceOp op{};
  std::uint8_t none[5] = {};
};
static_assert(sizeof(Header) == 16);

/// What the transfers of an exchange have in common.
struct Line {
  Transport& transport;
  std::vector<Completion*>& finished;  ///< where transfers report; by their ids
  Seat self{};
  bool asks = true;       ///< large messages wait for the receiver
  std::size_t noted = 0;  ///< headers travel as notes, of messages up to this; 0: in front of them
  std::size_t segment = 0;  ///< bytes of a message
  std::size_t ahead = 1;    ///< segments on their way
};
Line line_of(Transport& transport, Seat self, std::vector<Completion*>& finished);

/// The segments of a message, a few at a time.
class Segments {
 public:
  /// `bytes`: of what is sent in segments; 0: nothing is.
  Segments(const Line& line, std::uint64_t bytes, std::uint32_t id);
  /// Posts what may be posted; `post(offset, bytes, completion)`.
  template <typename Post>
  void pump(const Post& post) {
    for (Completion& slot : slots_) {
      if (posted_ == bytes_) return;
      if (slot.state == Completion::State::Pending) continue;
      const std::uint64_t bytes = std::min<std::uint64_t>(segment_, bytes_ - posted_);
      slot.state = Completion::State::Idle;
      const std::uint64_t at = posted_;
      posted_ += bytes;
      ++under_way_;
      post(at, bytes, slot);
    }
  }
  void settle_one() { --under_way_; }
  [[nodiscard]] bool over() const { return posted_ == bytes_ && under_way_ == 0; }

 private:
  std::uint64_t bytes_;
  std::size_t segment_;
  std::uint64_t posted_ = 0;
  std::size_t under_way_ = 0;
  std::vector<Completion> slots_;
};

class Outgoing {
 public:
  /// `number`: tells messages between the two ranks apart.
  Outgoing(const Line& line, const Move<const std::byte>& move, const Header& header,
           std::uint32_t number, std::uint32_t id);
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  void start();
  /// After one of its completions; true if that was the last. \throws Error(Transport)
  bool step(const Completion& completion);
  [[nodiscard]] bool done() const { return over_; }
  [[nodiscard]] Seat peer() const { return move_.peer; }
  [[nodiscard]] std::string words() const;

 private:
  void pump();

  Line line_;
  Move<const std::byte> move_;
  std::uint32_t number_;
  Header header_;
  bool whole_, asked_ = false, over_ = false;
  std::vector<std::byte> message_;  ///< the header, and what goes with it, where it is no note
  std::byte ask_{};
  Completion head_, asking_;
  Segments segments_;
};

class Incoming {
 public:
  /// `expected`: as the sender's has to be.
  Incoming(const Line& line, const Move<std::byte>& move, const Header& expected,
           std::uint32_t number, std::uint32_t id);
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  void start();
  /// After one of its completions. \throws Error(Transport), Error(InvalidArgument) where the
  /// sender sends something else
  void step(const Completion& completion);
  /// The header is there, or will come with the data, and that waits for take().
  [[nodiscard]] bool offered() const { return offered_ && !taken_; }
  /// Lets the data come to `to`, which stays until arrived().
  void take(std::byte* to);
  [[nodiscard]] bool taken() const { return taken_; }
  [[nodiscard]] bool arrived() const { return taken_ && came_ && segments_.over(); }
  [[nodiscard]] const Move<std::byte>& move() const { return move_; }
  [[nodiscard]] std::string words() const;

 private:
  [[nodiscard]] bool has_header() const;
  void check_header() const;
  void pump();

  Line line_;
  Move<std::byte> move_;
  Header expected_;
  std::uint32_t number_;
  bool whole_, offered_ = false, taken_ = false, came_ = false;
  std::byte* to_ = nullptr;
  Note note_;
  std::vector<std::byte> message_;
  std::byte ask_{};
  Completion head_, asking_;
  Segments segments_;
};

/// Whether that message can be received; as of the last progress.
[[nodiscard]] bool has_come(const Transport& transport, Seat peer, std::uint32_t number);

/// Sends a message that is small enough, as an Outgoing would; false where it is not, or finds no
/// room now.
bool leaves_at_once(Transport& transport, const Move<const std::byte>& move, const Header& header,
                    std::uint32_t number);

/// Receives such a message, if it is there or comes shortly.
bool arrives_shortly(Transport& transport, const Move<std::byte>& move, const Header& expected,
                     std::uint32_t number);

/// Whether a message of so many bytes comes in one, with its header as a note.
[[nodiscard]] bool takes_whole(const Transport& transport, std::size_t bytes);
/// Receives such a message. `note`: of the header that is expected, then of the one that came.
/// \pre takes_whole(transport, move.bytes)
void receive_whole(Transport& transport, const Move<std::byte>& move, std::uint32_t number,
                   Note& note, Completion& completion);

/// Headers as transports carry them.
[[nodiscard]] Note note_of(const Header& header);
[[nodiscard]] Header header_of(const Note& note);

/// \throws Error(InvalidArgument) naming both ranks, unless equal. `found.bytes` is known in any
/// case; the rest of it if `whole`.
void check_header(const Header& expected, const Header& found, bool whole, Seat self, Seat peer);

}  // namespace multitree::runtime
