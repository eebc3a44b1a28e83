// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Letters, offers, and who waits for which.
#include "runtime/host/mail_internal.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/host/in_parts_internal.hpp"
#include "runtime/host/inbox_internal.hpp"
#include "runtime/host/outtray_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::host {
namespace {

/// Read of a message at a time, so that nobody waits long for a sign of life.
constexpr std::size_t kReadAtATime = std::size_t{1} << 20;
/// Longest message that is sent in parts without being asked for: what would be read in its
/// sender's memory takes a system call there and a word back, which is longer. Where direct access
/// is as fast for collectives it is faster for long messages.
constexpr std::size_t kOpenedBytes = 32 * 1024, kOpenedBytesWhereLent = 16 * 1024;
/// Longest message that is offered as a whole: some milliseconds.
constexpr std::size_t kNotedBytes = std::size_t{16} << 20;

class Mail final : public Transport {
 public:
  explicit Mail(std::shared_ptr<Group> group) : group_(std::move(group)), outtray_(*group_) {}

  void send(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
            Completion& completion) override {
    send_noted(peer, tag, {}, data, bytes, completion);
  }

  void receive(Seat peer, std::uint64_t tag, void* data, std::size_t bytes,
               Completion& completion) override {
    await(peer, tag, {static_cast<std::byte*>(data), bytes, &completion, nullptr});
  }

  void receive_noted(Seat peer, std::uint64_t tag, Note& note, void* data, std::size_t bytes,
                     Completion& completion) override {
    await(peer, tag, {static_cast<std::byte*>(data), bytes, &completion, &note});
  }

  bool send_at_once(Seat peer, std::uint64_t tag, const Note& note, const void* data,
                    std::size_t bytes) override {
    if (outtray_.holds(peer)) return false;
    const Letter letter{.tag = tag, .note = note, .bytes = bytes, .from = index(group_->self())};
    if (bytes <= Inbox::kRoom) return outtray_.put(peer, letter, data, bytes);
    if (is_mapped(group_->find(data, bytes, false)) || !can_open(peer, bytes)) return false;
    send_opened(peer, letter, static_cast<const std::byte*>(data));
    return true;
  }

  void send_noted(Seat peer, std::uint64_t tag, const Note& note, const void* data,
                  std::size_t bytes, Completion& completion) override {
    completion.state = Completion::State::Pending;
    Letter letter{.tag = tag, .note = note, .bytes = bytes};
    if (bytes <= Inbox::kRoom) {
      write(peer, letter, data, bytes);
      completion.complete();
      return;
    }
    const Place place = group_->find(data, bytes, group_->reaches());
    if (!is_mapped(place) && can_open(peer, bytes)) {
      send_opened(peer, letter, static_cast<const std::byte*>(data));
      return completion.complete();
    }
    letter.kind = Letter::Kind::Offer;
    letter.offset = place.offset;
    letter.allocation = place.allocation;
    letter.number = next_++;
    offers_.emplace(letter.number,
                    Offered{static_cast<const std::byte*>(data), bytes, &completion});
    write(peer, letter, nullptr, 0);
  }

  bool receive_shortly(Seat peer, std::uint64_t tag, const Note& note, void* data,
                       std::size_t bytes) override {
    if (bytes > kOpenedBytes || !outtray_.empty() || !streams_.empty()) return false;
    enum class Found : std::uint8_t { No, Whole, Opening, Other } found = Found::No;
    Completion completion;
    Letter opening;
    const Posted posted{static_cast<std::byte*>(data), bytes, &completion, nullptr};
    const auto read = [&](const Letter& letter, const std::byte* from) {
      if (found != Found::No || letter.tag != tag || Seat{letter.from} != peer ||
          letter.kind == Letter::Kind::Part) {
        return handle(letter, from);
      }
      const bool good = letter.bytes == bytes && letter.note == note;
      const bool whole = letter.kind == Letter::Kind::Whole;
      if (!good || (!whole && letter.kind != Letter::Kind::Opening)) {
        found = Found::Other;
        return handle(letter, from);
      }
      found = whole ? Found::Whole : Found::Opening;
      if (!whole) return begin(opening = letter, from, posted);
      if (bytes != 0) std::memcpy(data, from, bytes);
    };
    if (unexpected_.contains({index(peer), tag})) return false;
    const auto over = [&] {
      return found == Found::Opening ? completion.state == Completion::State::Done
                                     : found != Found::No;
    };
    Patience& patience = group_->patience();
    patience.renew();
    do {
      while (!over() && take(read)) patience.renew();
    } while (!over() && patience.lasts());
    if (found == Found::Opening && !over()) {
      in_parts_.withdraw(opening);
      auto& kept = unexpected_[{index(peer), tag}];
      kept.insert(kept.begin(), {opening, {}});
      return false;
    }
    return found == Found::Whole || found == Found::Opening;
  }

  [[nodiscard]] bool has_come(Seat peer, std::uint64_t tag) const override {
    return unexpected_.contains({index(peer), tag});
  }

  bool progress() override {
    bool moved = false;
    const auto read = [&](const Letter& letter, const std::byte* data) { handle(letter, data); };
    for (std::uint64_t i = 0; i < Inbox::kCells && take(read); ++i) moved = true;
    return send_parts() | outtray_.write_waiting() | moved;
  }

  [[nodiscard]] Nap arm() override { return host::arm(group_); }

  void flush(Seat peer, Completion& completion) override { outtray_.flush(peer, completion); }

  bool drain(Deadline deadline) override {
    const auto until = std::chrono::steady_clock::now() + deadline;
    while (!offers_.empty() || !outtray_.empty()) {
      if (std::chrono::steady_clock::now() >= until) return false;
      if (!progress()) ::sched_yield();
    }
    return true;
  }

  void abort() override {
    offers_.clear();
    posted_.clear();
    unexpected_.clear();
    outtray_.clear();
    streams_.clear();
    in_parts_.clear();
  }

  [[nodiscard]] TransportLimits limits() const override {
    return {.segment_bytes = kReadAtATime, .keeps_at_sender = true, .noted_bytes = kNotedBytes};
  }
  [[nodiscard]] std::string describe() const override { return "shared memory"; }

 private:
  /// Sender and tag.
  using Key = std::pair<std::uint32_t, std::uint64_t>;
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::uint64_t>()(key.second * 0x9e3779b97f4a7c15U + key.first);
    }
  };
  struct Kept {
    Letter letter;
    std::vector<std::byte> data;
  };
  struct Offered {
    const std::byte* data;
    std::size_t bytes;
    Completion* completion;
  };
  /// An offer that its receiver wants in parts.
  struct Stream {
    Seat peer{};
    std::uint32_t number = 0;
    std::uint64_t sent = 0;
  };
  /// Whether others see it as memory of their own.
  static bool is_mapped(const Place& place) {
    return place.is_lent() && place.allocation != kPeerMemory;
  }

  /// The next letter, if it has come.
  template <typename Read>
  bool take(const Read& read) {
    Inbox& inbox = group_->inbox(group_->self());
    const bool awaited = group_->has_sleepers() && inbox.is_full(read_);
    if (!inbox.take(read_, read)) return false;
    ++read_;
    if (awaited) group_->ring();  // somebody may sleep until there is room
    return true;
  }

  /// Messages of one tag are rare, but for one.
  template <typename Lists>
  static auto take_first(Lists& lists, typename Lists::iterator found) {
    auto& list = found->second;
    auto first = std::move(list.front());
    list.erase(list.begin());
    if (list.empty()) lists.erase(found);
    return first;
  }

  void await(Seat peer, std::uint64_t tag, const Posted& posted) {
    posted.completion->state = Completion::State::Pending;
    const auto found = unexpected_.find({index(peer), tag});
    if (found == unexpected_.end()) {
      posted_[{index(peer), tag}].push_back(posted);
      return;
    }
    const Kept kept = take_first(unexpected_, found);
    deliver(kept.letter, kept.letter.kind == Letter::Kind::Whole ? kept.data.data() : nullptr,
            posted);
  }

  void write(Seat peer, const Letter& letter, const void* data, std::size_t bytes) {
    outtray_.write(peer, letter, data, bytes);
  }

  /// Whether a message goes in parts without being asked for: not to a receiver that is behind, who
  /// would keep them, copied once more.
  [[nodiscard]] bool can_open(Seat peer, std::size_t bytes) const {
    const std::uint64_t parts = (bytes + Inbox::kRoom - 1) / Inbox::kRoom;
    const std::size_t most = group_->lends(bytes) ? kOpenedBytesWhereLent : kOpenedBytes;
    return bytes <= most && !outtray_.holds(peer) &&
           group_->inbox(peer).has_room(parts + Inbox::kCells / 2);
  }

  /// Without waiting until it is wanted.
  void send_opened(Seat peer, Letter letter, const std::byte* data) {
    letter.kind = Letter::Kind::Opening;
    letter.number = next_++;
    write(peer, letter, data, Inbox::kRoom);
    for (std::uint64_t at = Inbox::kRoom, bytes = 0; at < letter.bytes; at += bytes) {
      bytes = std::min<std::uint64_t>(Inbox::kRoom, letter.bytes - at);
      write(peer,
            {.bytes = bytes, .offset = at, .number = letter.number, .kind = Letter::Kind::Part},
            data + at, bytes);
    }
  }

  /// A message that is expected, with its first part.
  void begin(const Letter& opening, const std::byte* data, const Posted& posted) {
    posted.completion->state = Completion::State::Pending;
    in_parts_.expect(opening, posted);
    in_parts_.put_first(opening, data);
  }

  bool send_parts() {
    bool moved = false;
    std::erase_if(streams_, [&](Stream& stream) {
      const Offered& offered = offers_.at(stream.number);
      while (stream.sent < offered.bytes) {
        const std::size_t bytes = std::min<std::size_t>(Inbox::kRoom, offered.bytes - stream.sent);
        const Letter letter{.bytes = bytes,
                            .offset = stream.sent,
                            .number = stream.number,
                            .from = index(group_->self()),
                            .kind = Letter::Kind::Part};
        if (!outtray_.put(stream.peer, letter, offered.data + stream.sent, bytes)) return false;
        stream.sent += bytes;
        moved = true;
      }
      finish(stream.number);
      return true;
    });
    return moved;
  }

  void finish(std::uint32_t number) {
    const auto found = offers_.find(number);
    if (found == offers_.end()) return;
    Completion& completion = *found->second.completion;
    offers_.erase(found);
    completion.complete();
  }

  void handle(const Letter& letter, const std::byte* data) {
    switch (letter.kind) {
      case Letter::Kind::Taken:
        return finish(letter.number);
      case Letter::Kind::Want:
        if (offers_.contains(letter.number)) streams_.push_back({Seat{letter.from}, letter.number});
        return;
      case Letter::Kind::Part:
        return in_parts_.put(letter, data);
      default:
        return match(letter, data);
    }
  }

  void match(const Letter& letter, const std::byte* data) {
    const Key key{letter.from, letter.tag};
    const auto found = posted_.find(key);
    if (found == posted_.end()) {
      const std::size_t bytes = letter.kind == Letter::Kind::Whole ? letter.bytes : 0;
      unexpected_[key].push_back({letter, std::vector<std::byte>(data, data + bytes)});
      if (letter.kind == Letter::Kind::Opening) {
        in_parts_.keep(letter);
        in_parts_.put_first(letter, data);
      }
      return;
    }
    deliver(letter, data, take_first(posted_, found));
  }

  /// `data`: that came with the letter; null: none, or it has been kept.
  void deliver(const Letter& letter, const std::byte* data, const Posted& posted) {
    const bool whole = letter.kind == Letter::Kind::Whole;
    if (!suits(letter, posted)) return drop_parts(letter);
    const std::size_t bytes = std::min<std::size_t>(letter.bytes, posted.bytes);
    if (whole && bytes != 0) std::memcpy(posted.data, data, bytes);
    if (!posted.completion->takes(letter.bytes, posted.bytes)) {
      posted.completion->fail_length(
          letter.bytes, fmt::format("message from rank {} of {} bytes where {} were expected",
                                    letter.from, letter.bytes, posted.bytes));
      return drop_parts(letter);
    }
    if (whole) return posted.completion->complete(letter.bytes);
    if (letter.kind == Letter::Kind::Opening) {
      return data != nullptr ? begin(letter, data, posted) : in_parts_.expect(letter, posted);
    }
    take_offer(letter, posted);
  }

  void drop_parts(const Letter& letter) {
    if (letter.kind == Letter::Kind::Opening) in_parts_.drop(letter);
  }

  /// Whether it is the message that was expected; if not, it has failed.
  static bool suits(const Letter& letter, const Posted& posted) {
    if (posted.note == nullptr || *posted.note == letter.note) return true;
    *posted.note = letter.note;
    posted.completion->fail(
        fmt::format("another message from rank {} than was expected", letter.from));
    return false;
  }

  void take_offer(const Letter& letter, const Posted& posted) {
    const Seat from{letter.from};
    try {
      const Lent lent = group_->at(from, {letter.allocation, letter.offset}, letter.bytes);
      if (!lent.is_lent()) {
        in_parts_.expect(letter, posted);
        return write(from, {.number = letter.number, .kind = Letter::Kind::Want}, nullptr, 0);
      }
      if (lent.mapped != nullptr) {
        std::memcpy(posted.data, lent.mapped, letter.bytes);
      } else {
        group_->peers().read(from, posted.data, lent.address, letter.bytes);
      }
    } catch (const Error& error) {
      return posted.completion->fail(error.what());
    }
    write(from, {.number = letter.number, .kind = Letter::Kind::Taken}, nullptr, 0);
    posted.completion->complete(letter.bytes);
  }

  std::shared_ptr<Group> group_;
  std::uint64_t read_ = 0;  ///< letters so far
  std::uint32_t next_ = 0;  ///< offer
  std::unordered_map<Key, std::vector<Posted>, Hash> posted_;
  std::unordered_map<Key, std::vector<Kept>, Hash> unexpected_;
  std::unordered_map<std::uint32_t, Offered> offers_;
  Outtray outtray_;
  std::vector<Stream> streams_;
  InParts in_parts_;
};

}  // namespace

std::unique_ptr<Transport> make_mail(std::shared_ptr<Group> group) {
  return std::make_unique<Mail>(std::move(group));
}

}  // namespace multitree::runtime::host
