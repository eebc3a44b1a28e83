// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Both ends of it.
#include "runtime/messages/tcp/sealed_internal.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace multitree::runtime::tcp {
namespace {

/// Takes bytes from pieces, one after the other.
class Gatherer {
 public:
  explicit Gatherer(std::span<const iovec> pieces) : pieces_(pieces) {}
  /// Copies what there is, at most `most`.
  std::size_t take(std::byte* to, std::size_t most) {
    std::size_t taken = 0;
    while (taken != most && !pieces_.empty()) {
      const iovec& piece = pieces_.front();
      const std::size_t part = std::min(piece.iov_len - skip_, most - taken);
      std::memcpy(to + taken, static_cast<const std::byte*>(piece.iov_base) + skip_, part);
      taken += part;
      skip_ += part;
      if (skip_ != piece.iov_len) continue;
      pieces_ = pieces_.subspan(1);
      skip_ = 0;
    }
    return taken;
  }

 private:
  std::span<const iovec> pieces_;
  std::size_t skip_ = 0;  ///< of the first that is left
};

}  // namespace

ssize_t SealedWriter::write(int socket, std::span<const iovec> pieces) {
  if (!push(socket)) return -1;
  Gatherer from(pieces);
  begin_ = end_ = 0;
  std::size_t sealed = 0;
  for (std::size_t i = 0; i < kRecordsAtOnce; ++i) {
    std::byte* const record = held_.get() + end_;
    const std::size_t bytes = from.take(record + Records::kHeader, Records::kMost);
    if (bytes == 0) break;
    records_.seal(record, bytes);
    end_ += bytes + Records::kAround;
    sealed += bytes;
  }
  // What the socket does not take now it is asked to take by the next call, which tells why not.
  static_cast<void>(push(socket));
  return static_cast<ssize_t>(sealed);
}

bool SealedWriter::push(int socket) {
  while (holds()) {
    const ssize_t n =
        ::send(socket, held_.get() + begin_, end_ - begin_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    begin_ += static_cast<std::size_t>(n);
  }
  return true;
}

SealedReader::Step SealedReader::open_next() {
  if (end_ - begin_ < Records::kHeader) return Step::Incomplete;
  std::byte* const record = buffer_.get() + begin_;
  const std::size_t bytes = Records::length_in(record);
  if (bytes == 0) return Step::Wrong;
  if (end_ - begin_ < bytes + Records::kAround) return Step::Incomplete;
  if (!records_.open(record, bytes)) return Step::Wrong;
  open_ = begin_ + Records::kHeader;
  opened_ = open_ + bytes;
  begin_ += bytes + Records::kAround;
  return Step::Opened;
}

/// As recv(), behind what is there. Of an incomplete record there is room for the rest.
ssize_t SealedReader::fill(int socket) {
  std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const ssize_t n = ::recv(socket, buffer_.get() + end_, kRoom - end_, MSG_DONTWAIT);
  if (n > 0) end_ += static_cast<std::size_t>(n);
  return n;
}

ssize_t SealedReader::read(int socket, std::span<const iovec> parts) {
  while (open_ == opened_) {
    const Step step = refuses_ ? Step::Wrong : open_next();
    refuses_ = step == Step::Wrong;
    if (refuses_) {
      errno = EBADMSG;
      return -1;
    }
    if (step == Step::Opened) break;
    const ssize_t n = fill(socket);
    if (n <= 0) return n;
  }
  std::size_t got = 0;
  for (const iovec& part : parts) {
    const std::size_t bytes = std::min(part.iov_len, opened_ - open_);
    std::memcpy(part.iov_base, buffer_.get() + open_, bytes);
    open_ += bytes;
    got += bytes;
  }
  return static_cast<ssize_t>(got);
}

}  // namespace multitree::runtime::tcp
