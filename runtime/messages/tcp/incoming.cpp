// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The reading end.
#include "runtime/messages/tcp/incoming_internal.hpp"

#include <fmt/format.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace multitree::runtime::tcp {
namespace {

/// Of what is read at a time beside the message that is being read: many small messages.
constexpr std::size_t kBufferBytes = std::size_t{64} * 1024;
/// Reads until others have their turn.
constexpr int kReads = 8;
constexpr const char* kInvalid = "it has sent an invalid message";
/// Nobody sends a longer one.
constexpr std::uint64_t kLongestMessage = std::uint64_t{1} << 46;

/// Of a read that failed.
std::string words_of_failure(int error) {
  if (error == EBADMSG) return "what came is not what it has sealed: damaged, repeated or forged";
  return std::generic_category().message(error);
}

}  // namespace

void Incoming::receive(std::uint64_t tag, void* data, std::size_t bytes, Completion& completion) {
  completion.state = Completion::State::Pending;
  const Posted posted{static_cast<std::byte*>(data), bytes, &completion};
  auto early = early_.lower_bound(tag);
  while (early != early_.end() && early->first == tag && early->second.waiter.completion) ++early;
  if (early == early_.end() || early->first != tag) {
    if (!lost_.empty()) return completion.fail(lost_);
    posted_.emplace(tag, posted);
    return;
  }
  Early& message = early->second;
  if (message.data == nullptr) {
    answer_offer(posted, message.bytes, message.offer);
    early_.erase(early);
  } else if (message.complete) {
    deliver(early, posted);
  } else {
    message.waiter = posted;
  }
}

bool Incoming::has(std::uint64_t tag) const {
  const auto [first, last] = early_.equal_range(tag);
  return std::any_of(first, last,
                     [](const auto& entry) { return entry.second.waiter.completion == nullptr; });
}

void Incoming::answer_offer(const Posted& posted, std::size_t bytes, std::uint64_t offer) {
  if (bytes <= posted.bytes) {
    asked_[offer] = posted;
    replies_.ask(offer);
  } else {
    replies_.decline(offer);
    settle(posted, bytes);
  }
}

void Incoming::deliver(Earlies::iterator early, const Posted& posted) {
  const Early& message = early->second;
  if (message.bytes <= posted.bytes && message.bytes != 0) {
    std::memcpy(posted.data, message.data.get(), message.bytes);
  }
  take(message.bytes);
  settle(posted, message.bytes);
  early_.erase(early);
}

void Incoming::settle(const Posted& posted, std::size_t bytes) const {
  if (posted.completion->takes(bytes, posted.bytes)) return posted.completion->complete(bytes);
  posted.completion->fail_length(
      bytes, fmt::format("message from rank {} is not of the {} bytes that were expected", peer_,
                         posted.bytes));
}

void Incoming::take(std::size_t bytes) {
  taken_ += bytes;
  replies_.took(taken_);
}

Incoming::Posted Incoming::next_posted(std::uint64_t tag) {
  const auto found = posted_.lower_bound(tag);
  if (found == posted_.end() || found->first != tag) return {};
  const Posted posted = found->second;
  posted_.erase(found);
  return posted;
}

ssize_t Incoming::get(int socket, std::span<const iovec> parts) const {
  if (seal_ != nullptr) return seal_->read(socket, parts);
  return ::readv(socket, parts.data(), static_cast<int>(parts.size()));
}

bool Incoming::can_go_on() const { return awaits_ && *awaits_ < first_->next_divided_; }

Moved Incoming::read(int socket, std::string& why) {
  if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<std::byte[]>(kBufferBytes);
  if (awaits_) {
    if (!can_go_on()) return Moved::Nothing;
    awaits_.reset();
    if (!parse()) {
      why = kInvalid;
      return Moved::Over;
    }
  }
  for (int i = 0; i < kReads && !awaits_;) {
    std::array<iovec, 2> parts;
    std::size_t count = 0;
    const std::size_t direct = current_.to != nullptr ? current_.left : 0;
    const std::size_t room = kBufferBytes - end_;
    if (direct != 0) parts[count++] = {current_.to, direct};
    parts[count++] = {buffer_.get() + end_, room};
    const ssize_t n = get(socket, {parts.data(), count});
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return i == 0 ? Moved::Nothing : Moved::Some;
    }
    if (n <= 0) {
      const int error = errno;
      why = n == 0 ? "closed by it" : words_of_failure(error);
      return n < 0 && says_cut(error) ? Moved::Cut : Moved::Over;
    }
    ++i;
    const auto got = static_cast<std::size_t>(n), placed = std::min(got, direct);
    came_ += got;
    if (placed != 0) {
      current_.to += placed;
      current_.left -= placed;
      if (current_.left == 0) end();
    }
    end_ += got - placed;
    if (!parse()) {
      why = kInvalid;
      return Moved::Over;
    }
    replies_.came(came_);
    // What is sealed comes a record at a time.
    if (got < direct + room && seal_ == nullptr) return Moved::Some;
  }
  return awaits_ ? Moved::Some : Moved::More;
}

/// False: what came is no frame.
bool Incoming::parse() {
  while (begin_ != end_) {
    if (current_.left != 0) {
      const std::size_t part = std::min(current_.left, end_ - begin_);
      if (current_.to != nullptr) {
        std::memcpy(current_.to, buffer_.get() + begin_, part);
        current_.to += part;
      }
      begin_ += part;
      current_.left -= part;
      if (current_.left == 0) end();
      continue;
    }
    Header header;
    if (end_ - begin_ < sizeof header) break;
    std::memcpy(&header, buffer_.get() + begin_, sizeof header);
    const bool is_part = header.kind() == Kind::Part && first_ != nullptr;
    if (is_part && header.number() >= first_->next_divided_) {
      awaits_ = header.number();
      break;
    }
    begin_ += sizeof header;
    if (!begin(header)) return false;
  }
  std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  return true;
}

bool Incoming::begin(const Header& header) {
  if (header.bytes > kLongestMessage || !is_in_place(header)) return false;
  replies_.may_go_on(header.taken);
  switch (header.kind()) {
    case Kind::Message:
      if (!replies_.comes_unasked(header.bytes)) return false;
      return begin_message(header);
    case Kind::Offer:
      offered(header);
      return true;
    case Kind::Ask:
      return replies_.asked(header.number());
    case Kind::Decline:
      return replies_.declined(header.number());
    case Kind::Given:
      return begin_given(header);
    case Kind::Credit:
      return true;
    case Kind::Came:
      return replies_.came_to_peer(header.number());
    case Kind::Part:
      return begin_part(header);
  }
  return false;
}

Incoming::Message Incoming::message_for(const Posted& posted, std::size_t bytes) {
  std::byte* const to = bytes <= posted.bytes ? posted.data : nullptr;
  return {to, bytes, false, posted, early_.end()};
}

bool Incoming::begin_message(const Header& header) {
  const Posted posted = next_posted(header.number());
  if (posted.completion != nullptr) {
    Message message = message_for(posted, header.bytes);
    message.unasked = true;
    return begin_reading(message, header);
  }
  const auto early = early_.emplace(header.number(), Early{});
  early->second.bytes = header.bytes;
  early->second.data = std::make_unique_for_overwrite<std::byte[]>(header.bytes);
  return begin_reading({early->second.data.get(), header.bytes, true, {}, early}, header);
}

bool Incoming::begin_given(const Header& header) {
  const auto found = asked_.find(header.number());
  if (found == asked_.end()) return false;
  const Message message = message_for(found->second, header.bytes);
  asked_.erase(found);
  return begin_reading(message, header);
}

bool Incoming::begin_reading(const Message& message, const Header& header) {
  current_ = {message.to, header.part, message, header.part, std::nullopt};
  if (header.part != header.bytes) {
    current_.of = next_divided_++;
    divided_.emplace(*current_.of, Divided{message, header.bytes, header.bytes - header.part});
  }
  if (current_.left == 0) end();
  return true;
}

/// \pre the message is known, or was: parts of those that are not are not begun
bool Incoming::begin_part(const Header& header) {
  const auto found = first_->divided_.find(header.number());
  if (found == first_->divided_.end() || header.bytes == 0) return false;
  Divided& whole = found->second;
  if (header.bytes > whole.unknown || header.part > whole.message.bytes - header.bytes)
    return false;
  whole.unknown -= header.bytes;
  std::byte* const to = whole.message.to == nullptr ? nullptr : whole.message.to + header.part;
  current_ = {to, header.bytes, {}, header.bytes, header.number()};
  return true;
}

/// Whether it may come over this cable, and what follows is the message, or a part of one whose
/// others have cables to come over.
bool Incoming::is_in_place(const Header& header) const {
  const bool is_part = header.kind() == Kind::Part;
  if (is_part != (first_ != nullptr) && header.kind() != Kind::Came) return false;
  if (is_part) return header.part <= kLongestMessage;
  return header.part == header.bytes || (has_beside_ && header.part < header.bytes);
}

void Incoming::offered(const Header& header) {
  const std::uint64_t offer = offers_++;
  const Posted posted = next_posted(header.number());
  if (posted.completion != nullptr) return answer_offer(posted, header.bytes, offer);
  const auto early = early_.emplace(header.number(), Early{});
  early->second.bytes = header.bytes;
  early->second.offer = offer;
}

/// What was being read is here. The parts of a message may end in any order.
void Incoming::end() {
  const Current done = std::exchange(current_, {});
  if (!done.of) return arrived(done.message);
  Incoming& first = first_ == nullptr ? *this : *first_;
  const auto found = first.divided_.find(*done.of);
  found->second.left -= done.part;
  if (found->second.left != 0) return;
  const Message message = found->second.message;
  first.divided_.erase(found);
  first.arrived(message);
}

void Incoming::arrived(const Message& message) {
  if (message.posted.completion != nullptr) {
    if (message.unasked) take(message.bytes);
    return settle(message.posted, message.bytes);
  }
  Early& early = message.early->second;
  early.complete = true;
  if (early.waiter.completion != nullptr) deliver(message.early, Posted(early.waiter));
}

void Incoming::fail(const std::string& why) {
  lost_ = why;
  for (const auto& [tag, posted] : posted_) posted.completion->fail(why);
  for (const auto& [offer, posted] : asked_) posted.completion->fail(why);
  const auto fail = [&](const Message& message) {
    if (message.posted.completion != nullptr) message.posted.completion->fail(why);
  };
  if (!current_.of) fail(current_.message);
  for (const auto& [number, whole] : divided_) fail(whole.message);
  for (const auto& [tag, message] : early_) {
    if (message.waiter.completion != nullptr) message.waiter.completion->fail(why);
  }
  std::erase_if(early_, [](const auto& entry) { return !entry.second.complete; });
  posted_.clear();
  asked_.clear();
  divided_.clear();
  current_ = {};
  awaits_.reset();
}

}  // namespace multitree::runtime::tcp
