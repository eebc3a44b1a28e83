// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Frames as bytes on a socket.
#include "runtime/job/channel_internal.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace multitree::runtime {
namespace {

/// Of a frame: the length of its payload, its job, its type.
constexpr std::size_t kHeader = 13;

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

Packed packed(FrameType type, std::string_view payload, JobNumber job) {
  const auto number = static_cast<std::uint64_t>(job);
  Writer frame;
  frame.number(static_cast<std::uint32_t>(payload.size()));
  frame.number(static_cast<std::uint32_t>(number >> 32)).number(static_cast<std::uint32_t>(number));
  std::string bytes = frame.bytes();
  bytes.reserve(kHeader + payload.size());
  bytes += static_cast<char>(type);
  bytes += payload;
  const Key digest = digest_of(bytes);
  return std::make_shared<const PackedFrame>(PackedFrame{std::move(bytes), digest});
}

Channel::Channel(Socket socket, const Key& key, Side side)
    : socket_(std::move(socket)), handshake_(side, key), words_(handshake_.take_words()) {
  if (socket_.open()) static_cast<void>(flush_words());
}

void Channel::send(Packed frame) {
  output_.push_back(std::move(frame));
  flush();
}

/// False: some of them are left.
bool Channel::flush_words() {
  while (!words_.empty()) {
    const ssize_t n = ::send(socket_.fd(), words_.data(), words_.size(), MSG_NOSIGNAL);
    if (n > 0) {
      words_.erase(0, static_cast<std::size_t>(n));
    } else if (would_block()) {
      return false;
    } else if (errno != EINTR) {
      words_.clear();  // broken: nobody will hear them
    }
  }
  return true;
}

void Channel::flush() {
  if (!flush_words() || !known()) return;
  while (!output_.empty()) {
    const std::string& frame = output_.front()->bytes;
    if (!code_) code_ = sends_->next(output_.front()->digest);
    const std::size_t of_frame = std::min(sent_, frame.size()), of_code = sent_ - of_frame;
    // sendmsg() does not write to what these point to.
    std::array<iovec, 2> parts{
        iovec{const_cast<char*>(frame.data()) + of_frame, frame.size() - of_frame},
        iovec{code_->data() + of_code, code_->size() - of_code}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t n = ::sendmsg(socket_.fd(), &message, MSG_NOSIGNAL);
    if (n > 0) {
      sent_ += static_cast<std::size_t>(n);
      if (sent_ < frame.size() + code_->size()) continue;
      output_.pop_front();
      code_.reset();
      sent_ = 0;
    } else if (would_block()) {
      return;
    } else if (errno != EINTR) {
      code_.reset();  // broken: nobody will read the rest
      sent_ = 0;
      return output_.clear();
    }
  }
}

Channel::Status Channel::fill() {
  if (ended_ != Status::Open) return ended_;
  const Status status = read_all();
  if (status != Status::Closed) ended_ = status;
  return status;
}

Channel::Status Channel::read_all() {
  std::array<char, 65536> buffer;
  while (true) {
    const std::size_t room = known() ? buffer.size() : handshake_.awaited() - input_.size();
    const ssize_t n = ::recv(socket_.fd(), buffer.data(), room, 0);
    if (n > 0) {
      input_.append(buffer.data(), static_cast<std::size_t>(n));
      if (!known()) {
        const Status status = hear();
        if (status != Status::Open) return status;
      } else if (input_.size() > limit_ + kHeader + sizeof(Code)) {
        return Status::Garbage;
      }
    } else if (n < 0 && would_block()) {
      break;
    } else if (n == 0 || errno != EINTR) {
      return Status::Closed;
    }
  }
  const auto length = known() ? Reader(input_).number() : std::nullopt;
  return length && *length > limit_ ? Status::Garbage : Status::Open;
}

/// A word of the handshake, if all of it is there.
Channel::Status Channel::hear() {
  if (input_.size() < handshake_.awaited()) return Status::Open;
  const Handshake::Step step = handshake_.hear(std::exchange(input_, {}));
  words_ += handshake_.take_words();
  if (step == Handshake::Step::Done) {
    sends_ = handshake_.sends();
    receives_ = handshake_.receives();
  }
  flush();
  if (step == Handshake::Step::Refused) return Status::Refused;
  if (step == Handshake::Step::OtherVersion) return Status::OtherVersion;
  return step == Handshake::Step::Wrong ? Status::Garbage : Status::Open;
}

std::optional<Frame> Channel::next() {
  if (!known() || ended_ != Status::Open) return std::nullopt;
  Reader header(input_);
  const auto length = header.number();
  if (!length || *length > limit_) return std::nullopt;
  const std::size_t end = kHeader + std::size_t{*length};
  if (input_.size() < end + sizeof(Code)) return std::nullopt;
  const std::string_view bytes(input_);
  const Code code = receives_->next(digest_of(bytes.substr(0, end)));
  if (!same_secret(view_of(code), bytes.substr(end, sizeof(Code)))) {
    ended_ = Status::Garbage;
    return std::nullopt;
  }
  const std::uint64_t high = header.number().value_or(0), low = header.number().value_or(0);
  Frame frame{static_cast<FrameType>(input_[kHeader - 1]), input_.substr(kHeader, *length),
              JobNumber{high << 32 | low}};
  input_.erase(0, end + sizeof(Code));
  return frame;
}

void Channel::wait(std::chrono::milliseconds deadline) const {
  pollfd event{socket_.fd(), POLLIN, 0};
  if (wants_to_write()) event.events |= POLLOUT;
  ::poll(&event, 1, static_cast<int>(std::max<std::int64_t>(deadline.count(), 0)));
}

}  // namespace multitree::runtime
