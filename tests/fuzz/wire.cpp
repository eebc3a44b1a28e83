// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Frames on Ethernet between two interfaces: what a stranger sends to a cable, and what a network
/// that loses, doubles, turns round and changes frames does to two cables that keep to the rules.
#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "fuzz.hpp"
#include "rtl/wire/cable.hpp"

using namespace multitree;
using namespace multitree::rtl;

namespace {

constexpr std::size_t kFrameBytes = 120;
constexpr Places kPlaces{.channels = 3, .flits = 5};
constexpr std::uint32_t kJob = 1;
/// What every error of a cable begins with.
constexpr const char* kWords = "frame: ";

using Clock = Cable::Clock;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

bool is_same(const Frame& a, const Frame& b) {
  return a.kind == b.kind && a.way == b.way && a.job == b.job && a.sequence == b.sequence &&
         a.ack == b.ack && a.gap == b.gap && std::ranges::equal(a.items, b.items);
}

LinkFlit numbered(std::uint32_t number) {
  LinkFlit flit{
      .valid = true, .vc = static_cast<std::uint8_t>(number % kPlaces.channels), .bits = {}};
  flit.bits[0] = number;
  return flit;
}

/// A frame as it is sent.
std::vector<std::byte> sent(std::span<const std::byte> frame) {
  fuzz::expect(frame.size() <= kFrameBytes, "a frame that is too long");
  fuzz::expect(decode(frame).has_value(), "a frame that nobody can read");
  return {frame.begin(), frame.end()};
}

/// One end, and a stranger at the other.
class Stranger {
 public:
  void act(fuzz::Bytes& bytes) {
    switch (bytes.below(5)) {
      case 0:
        if (const auto frame = decode(bytes_of(text_ = bytes.text()))) hear(*frame);
        break;
      case 1: {
        Frame frame{.way = {1, 0, 0}, .job = kJob, .gap = bytes.below(2) == 1};
        frame.sequence = heard_ + static_cast<std::uint32_t>(bytes.below(4) / 3);
        frame.ack = acknowledged_ + static_cast<std::uint32_t>(bytes.below(8) / 7);
        text_ = bytes.text();
        frame.items = bytes_of(text_);
        if (frame.sequence == heard_ && !frame.items.empty()) ++heard_;
        acknowledged_ = frame.ack;
        hear(frame);
        break;
      }
      case 2:
        for (std::size_t left = bytes.below(20); left > 0; --left)
          cable_.put_flit(numbered(put_++));
        break;
      case 3:
        drain();
        break;
      default:
        now_ += std::chrono::milliseconds(bytes.below(100));
        cable_.flush(now_, [](std::span<const std::byte> frame) { sent(frame); });
    }
  }
  void drain() {
    std::array<std::uint32_t, kPlaces.channels> flits{};
    for (LinkFlit flit; cable_.take_flit(flit);) {
      fuzz::expect(flit.vc < kPlaces.channels, "a virtual channel that there is not");
      fuzz::expect(++flits[flit.vc] <= kPlaces.flits, "a flit without a place");
      cable_.put_credit(flit.vc);
    }
    for (std::uint8_t vc = 0; cable_.take_credit(vc);) {
      fuzz::expect(++credits_ <= put_, "a credit for nothing");
    }
  }

 private:
  void hear(const Frame& frame) {
    const auto bytes = encode(frame);
    const auto again = decode(bytes);
    fuzz::expect(again && is_same(*again, frame), "read as another frame");
    cable_.receive(*again, now_);
  }

  Cable cable_{{0, 1, 0}, kJob, kFrameBytes, kPlaces};
  Clock::time_point now_;
  std::string text_;
  std::uint32_t heard_ = 0, acknowledged_ = 0, put_ = 0, credits_ = 0;
};

/// One way of a link between two that keep to the rules.
class Pair {
 public:
  void act(fuzz::Bytes& bytes) {
    const std::size_t side = bytes.below(2);
    auto& frames = frames_[side];
    switch (bytes.below(7)) {
      case 0:
        put(bytes.below(8));
        break;
      case 1:
        work();
        break;
      case 2:
        now_ += std::chrono::milliseconds(bytes.below(60));
        break;
      case 3:
        if (!frames.empty()) frames.pop_front();
        break;
      case 4:
        if (!frames.empty()) frames.push_back(frames.front());
        break;
      case 5:
        if (!frames.empty()) std::swap(frames.front(), frames[bytes.below(frames.size())]);
        break;
      default:
        if (!frames.empty()) change(frames.front(), bytes);
    }
  }
  /// Nothing is lost any more.
  void finish() {
    for (int turns = 0; credits_ < put_; ++turns) {
      fuzz::expect(turns < 1000, "something never comes");
      work();
      now_ += std::chrono::milliseconds(10);
    }
  }

 private:
  void put(std::size_t flits) {
    for (; flits > 0; --flits) {
      const LinkFlit flit = numbered(put_);
      if (places_[flit.vc] == 0) return;
      --places_[flit.vc];
      ++put_;
      ends_[0].put_flit(flit);
    }
  }
  /// Each end hears what was sent to it, works and sends.
  void work() {
    for (std::size_t side : {0U, 1U}) {
      auto& frames = frames_[side];
      for (; !frames.empty(); frames.pop_front()) {
        if (const auto frame = decode(frames.front())) ends_[side].receive(*frame, now_);
      }
      for (LinkFlit flit; ends_[side].take_flit(flit); ++taken_) {
        fuzz::expect(side == 1 && flit.bits == numbered(taken_).bits, "a flit out of turn");
        ends_[side].put_credit(flit.vc);
      }
      for (std::uint8_t vc = 0; ends_[side].take_credit(vc); ++credits_) ++places_[vc];
      ends_[side].flush(now_, [&](std::span<const std::byte> frame) {
        auto& others = frames_[1 - side];
        if (others.size() < kMostFrames) others.push_back(sent(frame));
      });
    }
  }
  static void change(std::vector<std::byte>& frame, fuzz::Bytes& bytes) {
    if (frame.empty()) return;
    if (bytes.below(2) == 0) {
      frame.resize(bytes.below(frame.size()));
    } else {
      frame[bytes.below(frame.size())] ^= std::byte{1} << bytes.below(8);
    }
  }

  static constexpr std::size_t kMostFrames = 200;

  std::array<Cable, 2> ends_{Cable({0, 1, 0}, kJob, kFrameBytes, kPlaces),
                             Cable({1, 0, 0}, kJob, kFrameBytes, kPlaces)};
  std::array<std::deque<std::vector<std::byte>>, 2> frames_;  // to each end
  Clock::time_point now_;
  std::array<std::uint32_t, mt_pkg::kNumVc> places_{kPlaces.flits, kPlaces.flits, kPlaces.flits};
  std::uint32_t put_ = 0, taken_ = 0, credits_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  if (bytes.below(2) == 0) {
    Pair pair;
    while (!bytes.empty()) pair.act(bytes);
    pair.finish();
    return 0;
  }
  const auto meet = [&](std::string_view) {
    Stranger stranger;
    while (!bytes.empty()) stranger.act(bytes);
    stranger.drain();
  };
  return fuzz::read(data, size, meet, kWords);
}
