// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flits and credits between two nodes, in order and once, over frames that may be lost.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "rtl/wire/frame.hpp"

namespace multitree::rtl {

/// What a link carries, and has room for at its far end. Both ends of a cable know the same of both
/// ways.
struct Places {
  std::uint32_t channels = mt_pkg::kNumVc;  ///< virtual channels, numbered from 0
  std::uint32_t flits = mt_pkg::kVcDepth;   ///< of each virtual channel
  FlitShape shape{};
};

/// One end. Frames are numbered and kept until the other end has said that they have come; after
/// a gap, or silence, all that are kept are sent again (go back N).
///
/// Credits are held to: a flit from the other end takes a place until a frame with its credit is
/// sent, and there are no more than `Places`. So whatever the other end sends, no more than that
/// many flits and credits wait here.
class Cable {
 public:
  using Clock = std::chrono::steady_clock;
  using Send = std::function<void(std::span<const std::byte> frame)>;
  /// Frames that are kept at most.
  static constexpr std::size_t kWindow = 32;
  /// After so much silence what is kept is sent again; after a gap not more often than this.
  static constexpr std::chrono::milliseconds kAgain{50}, kAfterGap{4};

  /// \param way from here \param frame_bytes that a frame may have
  /// \param places of each way, at most those of mt_pkg
  /// \param peer name of the other end; empty: that of the rank with its number
  Cable(Way way, std::uint32_t job, std::size_t frame_bytes, Places places, std::string peer = {});

  [[nodiscard]] const Way& way() const { return way_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }

  void put_flit(const LinkFlit& flit);
  void put_credit(std::uint8_t vc);
  /// What has come, oldest first. \returns false if there is nothing.
  bool take_flit(LinkFlit& flit);
  bool take_credit(std::uint8_t& vc);
  [[nodiscard]] bool has_input() const { return !flits_.empty() || !credits_.empty(); }

  /// A frame from the other end, of this way's reverse.
  /// \throws Error(InvalidInput) naming the other end, if its flits or items are not what they
  /// should
  ///         be, or it acknowledges what was not sent, sends a flit for which there is no place, or
  ///         returns a credit for a flit that it was not sent. The cable is of no use then.
  void receive(const Frame& frame, Clock::time_point now);
  /// Gives `send` what is due: new frames, those that are sent again, an answer.
  void flush(Clock::time_point now, const Send& send);

  /// How long frames have been waited for; 0 if none are.
  [[nodiscard]] Clock::duration silence(Clock::time_point now) const;
  /// Whole frames that wait for others to be acknowledged: who makes more may wait as well.
  [[nodiscard]] std::size_t backlog() const { return waiting_.size(); }

  struct Counts {
    std::uint64_t flits = 0, frames = 0, again = 0;  ///< `again` are among the frames
    Counts& operator+=(const Counts& other);
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  using OfChannels = std::array<std::uint32_t, mt_pkg::kNumVc>;
  struct Items {
    std::vector<std::byte> bytes;
    OfChannels credits{};  ///< that are among them
  };
  struct Kept {
    std::uint32_t sequence = 0;
    std::vector<std::byte> items;
  };

  void make_room(std::size_t item);
  void take_in(const LinkFlit& flit);
  void take_in_credit(std::uint8_t vc);
  void acknowledged(std::uint32_t ack, Clock::time_point now);
  void pack();
  void send_frame(std::uint32_t sequence, std::span<const std::byte> items, const Send& send);

  Way way_;
  std::uint32_t job_;
  std::string peer_;
  std::size_t room_;  // of a frame, for items
  Places places_;
  OfChannels here_{};           // flits that have come, and whose credits were not sent
  OfChannels there_{};          // flits that were put, and whose credits have not come back
  Items open_;                  // of the frame that is being filled
  std::deque<Items> waiting_;   // of frames before that one
  std::deque<Kept> kept_;       // numbered, not acknowledged
  std::size_t sent_ = 0;        // of these, since they were last sent again
  std::uint32_t next_ = 0;      // sequence of the next frame
  std::uint32_t expected_ = 0;  // from the other end
  bool owes_answer_ = false, gap_ = false, other_gap_ = false;
  Clock::time_point progress_, returned_;  // of the other end; when all was sent again
  std::deque<LinkFlit> flits_;
  std::deque<std::uint8_t> credits_;
  Counts counts_;
};

}  // namespace multitree::rtl
