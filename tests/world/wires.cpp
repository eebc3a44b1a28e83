// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How messages move.
#include "tests/world/wires.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace multitree::runtime::world {
namespace {

/// What receive buffers hold until the message is there.
constexpr int kGarbage = 0xA5;

}  // namespace

bool Wires::passes(std::uint32_t from, std::uint32_t to) const {
  const auto cut = cuts_.find({from, to});
  if (cut == cuts_.end()) return true;
  return habits_.goes_around && world_.now() - cut->second > habits_.link_deadline;
}

void Wires::cut(std::uint32_t from, std::uint32_t to) {
  world_.note("cut", from, to);
  cuts_.emplace(std::pair(from, to), world_.now());
  // What goes around moves again when the link has been found silent.
  if (habits_.goes_around) {
    world_.after(habits_.link_deadline + 1ms, [this, from, to] { move(from, to); });
  }
}

void Wires::mend(std::uint32_t from, std::uint32_t to) {
  world_.note("mended", from, to);
  cuts_.erase({from, to});
  move(from, to);
}

std::optional<Nanoseconds> Wires::silent_since(std::uint32_t from, std::uint32_t to) const {
  const auto cut = cuts_.find({from, to});
  return cut == cuts_.end() ? std::nullopt : std::optional(cut->second);
}

void Wires::lose(std::uint32_t rank, bool tells) {
  lost_.insert(rank);
  for (std::uint32_t other = 0; other < ranks_; ++other) {
    // What it had sent is lost from some piece on.
    Way& way = ways_[{rank, other}];
    for (const auto& message : way.messages) message->data = nullptr;
    if (!tells || other == rank) continue;
    world_.after(world_.random().delay(5ms), [this, rank, other] {
      if (ends_[other] != nullptr) ends_[other]->lose(rank);
    });
  }
}

void Wires::send(std::uint32_t from, std::uint32_t to, std::shared_ptr<Message> message) {
  ways_[{from, to}].messages.push_back(std::move(message));
  move(from, to);
}

/// The first that may move; of those that need not come in order, any first of its tag.
std::shared_ptr<Wires::Message> Wires::next_of(const Way& way) const {
  std::vector<std::shared_ptr<Message>> choices;
  std::set<std::uint64_t> tags;
  for (const auto& message : way.messages) {
    if (!tags.insert(message->tag).second) continue;
    if (!message->unasked && !message->claimed) continue;
    choices.push_back(message);
    if (habits_.in_order) break;
  }
  return choices.empty() ? nullptr : choices[world_.random().below(choices.size())];
}

void Wires::move(std::uint32_t from, std::uint32_t to) {
  Way& way = ways_[{from, to}];
  if (way.moving || !passes(from, to)) return;
  const auto message = next_of(way);
  if (message == nullptr) return;
  way.moving = true;
  Random& random = world_.random();
  Nanoseconds delay = random.delay(habits_.delay);
  if (habits_.late > 0ns && random.chance(2)) delay += random.delay(habits_.late);
  world_.after(delay, [this, from, to, message] {
    ways_[{from, to}].moving = false;
    if (passes(from, to)) bring(from, to, message);
    move(from, to);
  });
}

/// A piece of it.
void Wires::bring(std::uint32_t from, std::uint32_t to, const std::shared_ptr<Message>& message) {
  WorldTransport* const there = ends_[to];
  if (message->data == nullptr && message->bytes != 0) {
    // Its sender is gone: the rest never comes.
    return static_cast<void>(ways_[{from, to}].messages.remove(message));
  }
  const std::size_t left = message->bytes - message->come;
  const std::size_t most = std::min(left, habits_.piece_bytes);
  const std::size_t part = most == 0 ? 0 : 1 + world_.random().below(most);
  message->kept.resize(message->bytes);
  if (part != 0)
    std::memcpy(message->kept.data() + message->come, message->data + message->come, part);
  if (there != nullptr && message->claimed && message->posted.bytes >= message->bytes &&
      part != 0) {
    std::memcpy(message->posted.data + message->come, message->kept.data() + message->come, part);
  }
  message->come += part;
  if (message->come != message->bytes) return;
  world_.note("message", std::uint64_t{from} << 32 | to, message->tag, message->bytes);
  ways_[{from, to}].messages.remove(message);
  message->data = nullptr;
  if (ends_[from] != nullptr && !lost_.contains(from)) {
    WorldTransport* const here = ends_[from];
    here->done_.push_back([here, message] {
      --here->outgoing_;
      message->sent->complete();
    });
    world_.wake(from);
  }
  if (there != nullptr) there->finish(message);
}

WorldTransport::WorldTransport(std::shared_ptr<Wires> wires, Seat self)
    : wires_(std::move(wires)), self_(index(self)) {
  wires_->ends_[self_] = this;
}

WorldTransport::~WorldTransport() {
  abort();
  wires_->ends_[self_] = nullptr;
}

void WorldTransport::send(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
                          Completion& completion) {
  completion.state = Completion::State::Pending;
  auto message = std::make_shared<Wires::Message>();
  message->tag = tag;
  message->bytes = bytes;
  message->data = static_cast<const std::byte*>(data);
  message->sent = &completion;
  message->unasked = bytes <= wires_->habits().unasked_bytes || wires_->habits().limits.buffered;
  ++outgoing_;
  // Sent to one that is gone it never leaves, and nobody says so: he who awaits something is told.
  if (!gone_.contains(index(peer))) {
    const Key key{self_, tag};
    if (WorldTransport* const there = wires_->ends_[index(peer)]) {
      there->unclaimed_[key].push_back(message);
      there->claim(self_, *message);
    }
    wires_->send(self_, index(peer), message);
  }
  if (wires_->on_send) wires_->on_send(self_, ++sends_);
}

void WorldTransport::claim(std::uint32_t from, Wires::Message& message) {
  const Key key{from, message.tag};
  auto& messages = unclaimed_[key];
  auto& posted = posted_[key];
  if (posted.empty() || messages.empty() || messages.front().get() != &message) return;
  message.posted = posted.front();
  message.claimed = true;
  posted.pop_front();
  const auto kept = messages.front();
  messages.pop_front();
  if (message.posted.bytes >= message.bytes && message.come != 0) {
    std::memcpy(message.posted.data, message.kept.data(), message.come);
  }
  if (message.left) finish(kept);
}

void WorldTransport::finish(const std::shared_ptr<Wires::Message>& message) {
  message->left = true;
  if (!message->claimed) return;
  done_.push_back([message] {
    const Posted& posted = message->posted;
    Completion& completion = *posted.completion;
    if (completion.takes(message->bytes, posted.bytes)) return completion.complete(message->bytes);
    completion.fail_length(message->bytes, fmt::format("message of {} bytes where {} were expected",
                                                       message->bytes, posted.bytes));
  });
  wires_->world().wake(self_);
}

void WorldTransport::receive(Seat peer, std::uint64_t tag, void* data, std::size_t bytes,
                             Completion& completion) {
  completion.state = Completion::State::Pending;
  if (bytes != 0) std::memset(data, kGarbage, bytes);
  const Key key{index(peer), tag};
  posted_[key].push_back({static_cast<std::byte*>(data), bytes, &completion});
  const auto waiting = unclaimed_.find(key);
  if (waiting != unclaimed_.end() && !waiting->second.empty()) {
    claim(index(peer), *waiting->second.front());
    wires_->move(index(peer), self_);
  } else if (gone_.contains(index(peer))) {
    lose(index(peer));
  }
}

/// Connections to it have ended: what has not come will not.
void WorldTransport::lose(std::uint32_t peer) {
  gone_.insert(peer);
  for (auto& [key, all] : posted_) {
    if (key.first != peer) continue;
    for (const Posted& posted : all) {
      done_.push_back([completion = posted.completion, peer] {
        completion->fail(fmt::format("rank {} closed the connection", peer));
      });
    }
    all.clear();
  }
  wires_->world().wake(self_);
}

bool WorldTransport::progress() {
  wires_->world().pause();
  if (done_.empty()) return false;
  Random& random = wires_->world().random();
  for (std::uint64_t some = 1 + random.below(4); some > 0 && !done_.empty(); --some) {
    const auto one = std::move(done_.front());
    done_.pop_front();
    one();
  }
  return true;
}

bool WorldTransport::drain(Deadline deadline) {
  const Nanoseconds until = wires_->world().now() + deadline;
  while (outgoing_ != 0) {
    if (wires_->world().now() >= until) return false;
    if (!progress()) wires_->world().await(1ms);
  }
  return true;
}

void WorldTransport::abort() {
  posted_.clear();
  unclaimed_.clear();
  done_.clear();
  outgoing_ = 0;
  for (auto& [ends, way] : wires_->ways_) {
    for (const auto& message : way.messages) {
      if (ends.first == self_) message->data = nullptr;
      if (ends.second == self_) message->claimed = message->unasked = false;
    }
  }
}

bool WorldTransport::sleep(std::chrono::milliseconds time) {
  if (done_.empty()) wires_->world().await(time);
  return true;
}

std::optional<SilentLinks> WorldTransport::silent_links() const {
  const Habits& habits = wires_->habits();
  if (habits.link_deadline == Deadline{0} || habits.goes_around) return std::nullopt;
  SilentLinks silent;
  silent.deadline = habits.link_deadline;
  for (std::uint32_t peer = 0; peer < wires_->ranks(); ++peer) {
    const auto since = wires_->silent_since(peer, self_);
    const bool is = since && wires_->world().now() - *since >= habits.link_deadline;
    if (peer != self_) (is ? silent.peers : silent.left).push_back(Seat{peer});
  }
  return silent.peers.empty() ? std::nullopt : std::optional(silent);
}

std::vector<ImpairedLink> WorldTransport::impaired_links() {
  std::vector<ImpairedLink> impaired;
  if (!wires_->habits().goes_around) return impaired;
  for (std::uint32_t peer = 0; peer < wires_->ranks(); ++peer) {
    const auto since = wires_->silent_since(peer, self_);
    const bool is = since && wires_->world().now() - *since >= wires_->habits().link_deadline;
    if (is && peer != self_) impaired.push_back({Seat{peer}, 0});
  }
  return impaired;
}

}  // namespace multitree::runtime::world
