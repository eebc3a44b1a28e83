// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Frames between two who know the job's key.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/job/seal_internal.hpp"
#include "runtime/job/wire_internal.hpp"

namespace multitree::runtime {

/// A frame as it is sent, but for its code. Channels that send the same hold it once.
struct PackedFrame {
  std::string bytes;
  Key digest{};
};
using Packed = std::shared_ptr<const PackedFrame>;
Packed packed(FrameType type, std::string_view payload, JobNumber job = kFirstJob);

/// A non-blocking socket that carries frames, once its ends have shown each other that they know
/// the key. Until then nothing but that is read, and what is sent waits.
class Channel {
 public:
  using Side = Handshake::Side;
  Channel(Socket socket, const Key& key, Side side = Side::Caller);

  [[nodiscard]] int fd() const { return socket_.fd(); }
  [[nodiscard]] bool open() const { return socket_.open(); }
  void close() { socket_.close(); }
  [[nodiscard]] std::string local_address() const { return runtime::local_address(socket_); }
  /// Longest frame that is accepted.
  void set_limit(std::size_t bytes) { limit_ = bytes; }

  /// Queues a frame and sends what the socket takes. A broken connection shows when reading.
  void send(Packed frame);
  void send(FrameType type, std::string_view payload, JobNumber job = kFirstJob) {
    send(packed(type, payload, job));
  }
  void flush();
  [[nodiscard]] bool flushed() const { return words_.empty() && output_.empty(); }

  enum class Status : std::uint8_t {
    Open,
    Closed,
    Garbage,       ///< something came that is not the next word of somebody who knows the key
    Refused,       ///< the other end has another key
    OtherVersion,  ///< the other end is of a library whose handshake is another
  };
  /// Takes in what has arrived. Frames that came before a close are still handed out.
  Status fill();
  /// The next complete frame. One that is not what was sent there and then ends the channel: fill()
  /// says so.
  std::optional<Frame> next();
  /// Whether the other end has shown that it knows the key.
  [[nodiscard]] bool known() const { return receives_.has_value(); }
  /// Whether something came that it was not to send.
  [[nodiscard]] bool forged() const { return ended_ == Status::Garbage; }
  /// Waits until something can be read (or written, if output is queued), at most for `deadline`.
  void wait(std::chrono::milliseconds deadline) const;
  /// Whether output waits for the socket, and not for the other end's words.
  [[nodiscard]] bool wants_to_write() const {
    return !words_.empty() || (known() && !output_.empty());
  }

 private:
  [[nodiscard]] Status read_all();
  [[nodiscard]] Status hear();
  [[nodiscard]] bool flush_words();

  Socket socket_;
  Handshake handshake_;
  std::string words_;                     ///< of the handshake, to be sent
  std::optional<Seal> sends_, receives_;  ///< once it is done
  std::string input_;
  std::deque<Packed> output_;
  std::optional<Code> code_;  ///< of the first of these, once it is on its way
  std::size_t sent_ = 0;      ///< of the first of these and its code
  std::size_t limit_ = std::size_t{1} << 30;
  Status ended_ = Status::Open;  ///< what is not Open or Closed stays
};

}  // namespace multitree::runtime
