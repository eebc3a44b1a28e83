// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The two ends of a message.
#include "runtime/exchange/transfer_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// Longest segment. A wait is over when nothing has ended for the deadline, so it must not take
/// long.
constexpr std::size_t kSegmentBytes = std::size_t{4} << 20;
constexpr std::size_t kMostAhead = 16;

/// What a message carries of a transfer.
enum class Kind : std::uint8_t { Head, Ask, Data };

/// The number of tag_of() that no call has, of device memory. Then the kind, and which transfer.
std::uint64_t exchange_tag(Kind kind, std::uint32_t number) {
  return std::uint64_t{0x7fff} << 32 | std::uint64_t{static_cast<std::uint8_t>(kind)} << 30 |
         (number & 0x3fffffffU);
}

std::string words_of(const Header& header, bool whole) {
  std::string bytes = fmt::format("{} bytes", header.bytes);
  if (!whole) return bytes;
  std::string words =
      fmt::format("{} {} ({})", header.bytes / size_of(header.type), to_string(header.type), bytes);
  if (reduces(header.exchange)) words += fmt::format(", {}", to_string(header.op));
  return words;
}

/// `transfer`: whose words say what it was.
template <typename Transfer>
void check_completion(const Completion& completion, const Transfer& transfer) {
  if (completion.state != Completion::State::Failed) return;
  throw Error(ErrorCode::Transport, fmt::format("{} while {}", completion.error, transfer.words()));
}

void name(Completion& completion, const Line& line, std::uint32_t id) {
  completion.id = id;
  completion.finished = &line.finished;
}

/// Whether a message goes in one.
bool goes_whole(const Line& line, std::uint64_t bytes) {
  return bytes <= (line.noted != 0 ? line.noted : kEagerBytes);
}

}  // namespace

Note note_of(const Header& header) { return std::bit_cast<Note>(header); }
Header header_of(const Note& note) { return std::bit_cast<Header>(note); }

bool takes_whole(const Transport& transport, std::size_t bytes) {
  const TransportLimits limits = transport.limits();
  return limits.noted_bytes != 0 && bytes <= limits.noted_bytes;
}

void receive_whole(Transport& transport, const Move<std::byte>& move, std::uint32_t number,
                   Note& note, Completion& completion) {
  transport.receive_noted(move.peer, exchange_tag(Kind::Head, number), note, move.data, move.bytes,
                          completion);
}

bool has_come(const Transport& transport, Seat peer, std::uint32_t number) {
  return transport.has_come(peer, exchange_tag(Kind::Head, number));
}

bool leaves_at_once(Transport& transport, const Move<const std::byte>& move, const Header& header,
                    std::uint32_t number) {
  return transport.send_at_once(move.peer, exchange_tag(Kind::Head, number), note_of(header),
                                move.data, move.bytes);
}

bool arrives_shortly(Transport& transport, const Move<std::byte>& move, const Header& expected,
                     std::uint32_t number) {
  return transport.receive_shortly(move.peer, exchange_tag(Kind::Head, number), note_of(expected),
                                   move.data, move.bytes);
}

void check_header(const Header& expected, const Header& found, bool whole, Seat self, Seat peer) {
  const bool same = found.bytes == expected.bytes &&
                    (!whole || (found.exchange == expected.exchange &&
                                found.type == expected.type && found.op == expected.op));
  if (same) return;
  std::string its = words_of(found, whole);
  if (whole && found.exchange != expected.exchange)
    its += fmt::format(" in {}", to_string(found.exchange));
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("rank {} expects {} from rank {}, which sends {}", self,
                          words_of(expected, true), peer, its));
}

Line line_of(Transport& transport, Seat self, std::vector<Completion*>& finished) {
  const TransportLimits limits = transport.limits();
  const std::size_t segment = std::min(limits.segment_bytes, kSegmentBytes);
  return {.transport = transport,
          .finished = finished,
          .self = self,
          .asks = !limits.keeps_at_sender,
          .noted = limits.noted_bytes,
          .segment = segment,
          .ahead = std::clamp<std::size_t>(limits.window_bytes / segment, 2, kMostAhead)};
}

Segments::Segments(const Line& line, std::uint64_t bytes, std::uint32_t id)
    : bytes_(bytes), segment_(line.segment) {
  if (bytes == 0) return;
  slots_.resize(std::min<std::uint64_t>(line.ahead, (bytes + segment_ - 1) / segment_));
  for (Completion& slot : slots_) name(slot, line, id);
}

Outgoing::Outgoing(const Line& line, const Move<const std::byte>& move, const Header& header,
                   std::uint32_t number, std::uint32_t id)
    : line_(line),
      move_(move),
      number_(number),
      header_(header),
      whole_(goes_whole(line, move.bytes)),
      segments_(line, whole_ ? 0 : move.bytes, id) {
  name(head_, line, id);
  name(asking_, line, id);
}

void Outgoing::start() {
  const bool awaits = !whole_ && line_.asks;
  if (awaits) {
    line_.transport.receive(move_.peer, exchange_tag(Kind::Ask, number_), &ask_, sizeof ask_,
                            asking_);
  }
  const std::uint64_t tag = exchange_tag(Kind::Head, number_);
  const std::size_t bytes = whole_ ? move_.bytes : 0;
  if (line_.noted != 0) {
    line_.transport.send_noted(move_.peer, tag, note_of(header_), move_.data, bytes, head_);
  } else {
    message_.resize(sizeof header_ + bytes);
    std::memcpy(message_.data(), &header_, sizeof header_);
    if (bytes != 0) std::memcpy(message_.data() + sizeof header_, move_.data, bytes);
    line_.transport.send(move_.peer, tag, message_.data(), message_.size(), head_);
  }
  if (!whole_ && !awaits) pump();
}

void Outgoing::pump() {
  asked_ = true;
  segments_.pump([&](std::uint64_t at, std::uint64_t bytes, Completion& completion) {
    line_.transport.send(move_.peer, exchange_tag(Kind::Data, number_), move_.data + at, bytes,
                         completion);
  });
}

bool Outgoing::step(const Completion& completion) {
  check_completion(completion, *this);
  if (&completion != &head_) {
    if (&completion != &asking_) segments_.settle_one();
    pump();
  }
  const bool before = over_;
  over_ = head_.state == Completion::State::Done && (whole_ || (asked_ && segments_.over()));
  return over_ && !before;
}

std::string Outgoing::words() const {
  const char* const why = whole_ || asked_ || head_.state != Completion::State::Done
                              ? ""
                              : ", which has not asked for it";
  return fmt::format("waiting to send {} bytes to rank {}{}", move_.bytes, move_.peer, why);
}

Incoming::Incoming(const Line& line, const Move<std::byte>& move, const Header& expected,
                   std::uint32_t number, std::uint32_t id)
    : line_(line),
      move_(move),
      expected_(expected),
      number_(number),
      whole_(goes_whole(line, move.bytes)),
      note_(note_of(expected)),
      segments_(line, whole_ ? 0 : move.bytes, id) {
  name(head_, line, id);
  name(asking_, line, id);
}

void Incoming::start() {
  if (line_.noted != 0 && whole_) {
    offered_ = true;
    return;
  }
  if (line_.noted != 0) {
    line_.transport.receive_noted(move_.peer, exchange_tag(Kind::Head, number_), note_, nullptr, 0,
                                  head_);
    return;
  }
  message_.resize(sizeof expected_ + (whole_ ? move_.bytes : 0));
  line_.transport.receive(move_.peer, exchange_tag(Kind::Head, number_), message_.data(),
                          message_.size(), head_);
}

/// Whether there is one to look at: not where the transport has compared it.
bool Incoming::has_header() const {
  if (line_.noted != 0) return !(note_ == note_of(expected_));
  return head_.state == Completion::State::Done || head_.came >= sizeof(Header);
}

/// A header that came with more data than there is room for is not known, but for the length.
void Incoming::check_header() const {
  if (line_.noted != 0) {
    return runtime::check_header(expected_, header_of(note_), true, line_.self, move_.peer);
  }
  Header found{.bytes = head_.came > sizeof found ? head_.came - sizeof found : 0};
  const bool whole = head_.state == Completion::State::Done || head_.came < message_.size();
  if (whole) std::memcpy(&found, message_.data(), sizeof found);
  runtime::check_header(expected_, found, whole, line_.self, move_.peer);
}

void Incoming::step(const Completion& completion) {
  if (&completion == &head_) {
    if (has_header()) check_header();
    check_completion(completion, *this);
    offered_ = came_ = true;
    return;
  }
  check_completion(completion, *this);
  if (&completion == &asking_) return;
  segments_.settle_one();
  pump();
}

void Incoming::take(std::byte* to) {
  taken_ = true;
  to_ = to;
  if (whole_ && line_.noted != 0) {
    line_.transport.receive_noted(move_.peer, exchange_tag(Kind::Head, number_), note_, to,
                                  move_.bytes, head_);
    return;
  }
  if (whole_) {
    if (move_.bytes != 0) std::memcpy(to, message_.data() + sizeof(Header), move_.bytes);
    return;
  }
  pump();
  if (line_.asks) {
    line_.transport.send(move_.peer, exchange_tag(Kind::Ask, number_), &ask_, sizeof ask_, asking_);
  }
}

void Incoming::pump() {
  segments_.pump([&](std::uint64_t at, std::uint64_t bytes, Completion& completion) {
    line_.transport.receive(move_.peer, exchange_tag(Kind::Data, number_), to_ + at, bytes,
                            completion);
  });
}

std::string Incoming::words() const {
  return fmt::format("waiting to receive {} bytes from rank {}", move_.bytes, move_.peer);
}

}  // namespace multitree::runtime
