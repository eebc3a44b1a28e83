// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/cable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topologies/error.hpp"

namespace multitree::rtl {

Cable::Counts& Cable::Counts::operator+=(const Counts& other) {
  flits += other.flits;
  frames += other.frames;
  again += other.again;
  return *this;
}

Cable::Cable(Way way, std::uint32_t job, std::size_t frame_bytes, Places places, std::string peer)
    : way_(way),
      job_(job),
      peer_(peer.empty() ? fmt::format("rank {}", way.to) : std::move(peer)),
      room_(frame_bytes - kFrameHeader),
      places_(places) {}

void Cable::make_room(std::size_t item) {
  if (open_.bytes.size() + item > room_) waiting_.push_back(std::exchange(open_, {}));
}

void Cable::put_flit(const LinkFlit& flit) {
  make_room(flit_item(places_.shape));
  append_flit(open_.bytes, flit, places_.shape);
  ++there_[flit.vc];
  ++counts_.flits;
}

void Cable::put_credit(std::uint8_t vc) {
  make_room(kCreditItem);
  append_credit(open_.bytes, vc);
  ++open_.credits[vc];
}

bool Cable::take_flit(LinkFlit& flit) {
  if (flits_.empty()) return false;
  flit = flits_.front();
  flits_.pop_front();
  return true;
}

bool Cable::take_credit(std::uint8_t& vc) {
  if (credits_.empty()) return false;
  vc = credits_.front();
  credits_.pop_front();
  return true;
}

void Cable::acknowledged(std::uint32_t ack, Clock::time_point now) {
  if (static_cast<std::int32_t>(ack - next_) > 0) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("frame: {} acknowledges a frame that was not sent", peer_));
  }
  while (!kept_.empty() && static_cast<std::int32_t>(ack - kept_.front().sequence) > 0) {
    kept_.pop_front();
    if (sent_ > 0) --sent_;
    progress_ = now;
  }
}

void Cable::take_in(const LinkFlit& flit) {
  if (flit.vc >= places_.channels) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("frame: expected flits of {} virtual channels from {}, got one of "
                            "virtual channel {}",
                            places_.channels, peer_, flit.vc));
  }
  if (here_[flit.vc] == places_.flits) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("frame: expected at most {} flits of virtual channel {} from {} "
                            "until it gets a credit, got more",
                            places_.flits, flit.vc, peer_));
  }
  ++here_[flit.vc];
  flits_.push_back(flit);
}

void Cable::take_in_credit(std::uint8_t vc) {
  if (there_[vc] == 0) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("frame: {} returns a credit of virtual channel {} for a flit that "
                            "was not sent",
                            peer_, vc));
  }
  --there_[vc];
  credits_.push_back(vc);
}

void Cable::receive(const Frame& frame, Clock::time_point now) {
  acknowledged(frame.ack, now);
  other_gap_ = frame.gap && !kept_.empty();
  const auto ahead = static_cast<std::int32_t>(frame.sequence - expected_);
  if (ahead > 0) gap_ = owes_answer_ = true;
  if (frame.items.empty()) return;
  if (frame.shape != places_.shape) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("frame: expected flits of {} bytes from {}, got some of {}; give all "
                            "ranks the same flit_bytes",
                            places_.shape.bytes(), peer_, frame.shape.bytes()));
  }
  owes_answer_ = true;
  if (ahead != 0) return;  // a frame is missing, or this one has come before
  ++expected_;
  gap_ = false;
  for (auto items = frame.items; !items.empty();) {
    const auto item = take_item(items, places_.shape);
    if (!item) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("frame: expected whole flits and credits from {}, got {} bytes "
                              "that begin with none",
                              peer_, items.size()));
    }
    if (item->is_credit) {
      take_in_credit(item->flit.vc);
    } else {
      take_in(item->flit);
    }
  }
}

/// Numbers frames, as many as may be kept. They are sent at once: from here on the other end may
/// use their credits.
void Cable::pack() {
  while (kept_.size() < kWindow && !(waiting_.empty() && open_.bytes.empty())) {
    Items first = std::exchange(waiting_.empty() ? open_ : waiting_.front(), {});
    for (std::size_t v = 0; v < here_.size(); ++v) here_[v] -= std::min(here_[v], first.credits[v]);
    kept_.push_back({next_++, std::move(first.bytes)});
    if (!waiting_.empty()) waiting_.pop_front();
  }
}

void Cable::send_frame(std::uint32_t sequence, std::span<const std::byte> items, const Send& send) {
  const Frame frame{.way = way_,
                    .job = job_,
                    .sequence = sequence,
                    .ack = expected_,
                    .gap = gap_,
                    .shape = places_.shape,
                    .items = items};
  send(encode(frame));
  owes_answer_ = false;
}

void Cable::flush(Clock::time_point now, const Send& send) {
  if (kept_.empty()) progress_ = now;
  pack();
  const bool is_late = now - progress_ > kAgain && now - returned_ > kAgain;
  if (sent_ > 0 && (is_late || (other_gap_ && now - returned_ > kAfterGap))) {
    counts_.again += sent_;
    sent_ = 0;
    returned_ = now;
    other_gap_ = false;
  }
  for (; sent_ < kept_.size(); ++sent_) {
    send_frame(kept_[sent_].sequence, kept_[sent_].items, send);
    ++counts_.frames;
  }
  if (owes_answer_) send_frame(next_, {}, send);
}

Cable::Clock::duration Cable::silence(Clock::time_point now) const {
  return kept_.empty() ? Clock::duration{} : now - progress_;
}

}  // namespace multitree::rtl
