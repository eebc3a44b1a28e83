// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The writing end.
#include "runtime/messages/tcp/outgoing_internal.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include "runtime/messages/tcp/shares_internal.hpp"

namespace multitree::runtime::tcp {
namespace {

/// Pieces that are written together: headers and messages.
constexpr std::size_t kPieces = 64;

/// What a socket did not take.
Moved refused(std::string& why) {
  if (errno == EAGAIN || errno == EWOULDBLOCK) return Moved::Blocked;
  const int error = errno;
  why = std::generic_category().message(error);
  return says_cut(error) ? Moved::Cut : Moved::Over;
}

}  // namespace

bool says_cut(int error) {
  return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH || error == ENETDOWN ||
         error == EHOSTDOWN;
}

void Outgoing::send(std::uint64_t tag, const void* data, std::size_t bytes,
                    Completion& completion) {
  completion.state = Completion::State::Pending;
  const auto* const begin = static_cast<const std::byte*>(data);
  const std::uint64_t number = next_number_++;
  ++waiting_;
  const std::uint64_t untaken = unasked_ - taken_by_peer_;
  if (bytes <= kAlwaysUnasked || (untaken <= credit_ && bytes <= credit_ - untaken)) {
    unasked_ += bytes;
    enqueue({Header(Kind::Message, tag, bytes), begin, bytes, &completion, number});
    return;
  }
  queue_.push_back({Header(Kind::Offer, tag, bytes)});
  const std::uint64_t offer = next_offer_++;
  offers_[offer] = {Header(Kind::Given, offer, bytes), begin, bytes, &completion, number};
}

/// The first part goes here with the words that there are others.
void Outgoing::enqueue(const Item& message) {
  std::vector<std::size_t> shares{message.bytes};
  if (!mbits_.empty()) shares = shares_of(message.bytes, mbits_);
  if (shares.front() == message.bytes) {
    queue_.push_back(message);
    return;
  }
  const auto whole = std::make_shared<Whole>(Whole{1, message.completion, message.number});
  Item own{message.header, message.data, shares.front(), nullptr, 0, whole};
  own.header.part = shares.front();
  queue_.push_back(std::move(own));
  std::size_t at = shares.front();
  for (std::size_t i = 1; i < shares.size(); ++i) {
    if (shares[i] == 0) continue;
    Item part{
        Header(Kind::Part, divided_, shares[i]), message.data + at, shares[i], nullptr, 0, whole};
    part.header.part = at;
    beside_[i - 1]->queue_.push_back(std::move(part));
    ++whole->left;
    at += shares[i];
  }
  ++divided_;
}

bool Outgoing::holds_back() const {
  return holds() || std::ranges::any_of(beside_, [](const Outgoing* one) { return one->holds(); });
}

void Outgoing::took(std::uint64_t taken) {
  taken_ = taken;
  // With the next message it would learn of it anyway.
  if (credit_ == kUnlimited || taken_ - told_ < credit_ / 2 || !queue_.empty()) return;
  queue_.push_back({Header(Kind::Credit, 0, 0)});
}

void Outgoing::came(std::uint64_t bytes) {
  if (replay_ == nullptr || bytes - came_told_ < Replay::kTold) return;
  came_told_ = bytes;
  reply(Kind::Came, bytes);
}

void Outgoing::flush(Completion& completion) {
  completion.state = Completion::State::Pending;
  if (all_left()) return completion.complete();
  flushes_.push_back({next_number_ - 1, waiting_, &completion});
}

bool Outgoing::asked(std::uint64_t offer) {
  const auto found = offers_.find(offer);
  if (found == offers_.end()) return false;
  enqueue(found->second);
  offers_.erase(found);
  return true;
}

bool Outgoing::declined(std::uint64_t offer) {
  const auto found = offers_.find(offer);
  if (found == offers_.end()) return false;
  found->second.completion->complete();
  gone(found->second.number);
  offers_.erase(found);
  return true;
}

ssize_t Outgoing::put(int socket, std::span<iovec> pieces) {
  if (seal_ != nullptr) return seal_->write(socket, pieces);
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool Outgoing::go_on_behind(std::uint64_t bytes) {
  if (replay_ == nullptr || !replay_->rewind(bytes)) return false;
  complete_flushes();
  return true;
}

/// What was written to a connection that is no more. Nothing: that is done.
Moved Outgoing::write_again(int socket, std::string& why) {
  while (replay_->behind()) {
    const std::span<const std::byte> next = replay_->next();
    iovec piece{const_cast<std::byte*>(next.data()), next.size()};
    const ssize_t n = put(socket, {&piece, 1});
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return refused(why);
    replay_->rewrote(static_cast<std::size_t>(n));
    complete_flushes();
  }
  return Moved::Nothing;
}

Moved Outgoing::write(int socket, std::string& why) {
  if (seal_ != nullptr && seal_->holds()) {
    if (!seal_->push(socket)) return refused(why);
    complete_flushes();
  }
  if (replay_ != nullptr) {
    if (const Moved again = write_again(socket, why); again != Moved::Nothing) return again;
  }
  const Moved moved = write_queue(socket, why);
  const bool going = moved == Moved::Nothing || moved == Moved::Some;
  return going && seal_ != nullptr && seal_->holds() ? Moved::Blocked : moved;
}

Moved Outgoing::write_queue(int socket, std::string& why) {
  Moved moved = Moved::Nothing;
  while (!queue_.empty()) {
    std::array<iovec, kPieces> pieces;
    std::size_t count = 0, bytes = 0, skip = sent_;
    const std::size_t room = replay_ == nullptr ? kUnlimited : replay_->room();
    if (room == 0) return moved;               // until the peer says what has come
    std::size_t fresh = Outgoing::kUnlimited;  // where the first begins of which nothing is written
    const auto add = [&](void* data, std::size_t length) {
      const std::size_t left_out = std::min(skip, length);
      skip -= left_out;
      const std::size_t taken = std::min(length - left_out, room - bytes);
      if (taken == 0) return;
      pieces[count++] = {static_cast<std::byte*>(data) + left_out, taken};
      bytes += taken;
    };
    for (auto item = queue_.begin(); item != queue_.end() && count + 2 <= kPieces && bytes != room;
         ++item) {
      if (skip == 0) {
        item->header.taken = taken_;
        fresh = std::min(fresh, bytes);
      }
      add(&item->header, sizeof item->header);
      add(const_cast<std::byte*>(item->data), item->bytes);
    }
    const ssize_t n = put(socket, {pieces.data(), count});
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return refused(why);
    moved = Moved::Some;
    if (replay_ != nullptr) {
      replay_->keep({pieces.data(), count}, static_cast<std::size_t>(n));
    }
    if (static_cast<std::size_t>(n) > fresh) told_ = taken_;
    written(static_cast<std::size_t>(n));
    // Of what is sealed a part is taken at a time.
    if (static_cast<std::size_t>(n) < bytes && seal_ == nullptr) return Moved::Blocked;
  }
  return moved;
}

void Outgoing::written(std::size_t bytes) {
  sent_ += bytes;
  while (!queue_.empty()) {
    const std::size_t length = sizeof(Header) + queue_.front().bytes;
    if (sent_ < length) return;
    const Item item = queue_.front();
    queue_.pop_front();
    sent_ -= length;
    if (item.whole != nullptr) gone_in_part(*item.whole);
    if (item.completion == nullptr) continue;
    item.completion->complete();
    gone(item.number);
  }
}

void Outgoing::gone_in_part(Whole& whole) {
  if (--whole.left != 0 || whole.completion == nullptr) return;
  whole.completion->complete();
  (first_ == nullptr ? *this : *first_).gone(whole.number);
}

void Outgoing::gone(std::uint64_t number) {
  --waiting_;
  for (Flush& flush : flushes_) flush.left -= number <= flush.last ? 1 : 0;
  complete_flushes();
}

void Outgoing::complete_flushes() {
  if (first_ != nullptr) return first_->complete_flushes();
  if (holds_back()) return;
  std::erase_if(flushes_, [](Flush& flush) {
    if (flush.left != 0) return false;
    flush.completion->complete();
    return true;
  });
}

void Outgoing::fail(const std::string& why) {
  for (const Item& item : queue_) {
    if (item.completion != nullptr) item.completion->fail(why);
    if (item.whole == nullptr) continue;
    Completion* const completion = std::exchange(item.whole->completion, nullptr);
    if (completion != nullptr) completion->fail(why);
  }
  for (const auto& [offer, item] : offers_) item.completion->fail(why);
  for (const Flush& flush : flushes_) flush.completion->complete();
  queue_.clear();
  offers_.clear();
  flushes_.clear();
  replay_.reset();
  seal_.reset();
  waiting_ = sent_ = 0;
}

}  // namespace multitree::runtime::tcp
