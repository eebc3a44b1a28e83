// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A stream of a device whose work is numbered, so that others can ask and wait for a part of it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/device/device.hpp"

namespace multitree::runtime::device {

class Timeline {
 public:
  explicit Timeline(const Device& device);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  [[nodiscard]] Stream stream() const { return stream_; }
  /// Numbers all that was put on the stream so far: 1, 2, ...; 0 is the beginning.
  std::uint64_t mark();
  /// As of the last poll().
  [[nodiscard]] bool done(std::uint64_t mark) const { return mark <= done_; }
  [[nodiscard]] bool idle() const { return pending_.empty(); }
  /// Makes this stream wait until `other` has reached `mark`.
  void wait(const Timeline& other, std::uint64_t mark);
  /// Asks the device; true if a mark was reached.
  bool poll();

 private:
  const Device& device_;
  Stream stream_;
  std::uint64_t done_ = 0;
  std::deque<Event> pending_;  ///< of marks done_ + 1, ...
  std::vector<Event> free_;
};

/// A point of anybody's stream.
class OwnedEvent {
 public:
  explicit OwnedEvent(std::shared_ptr<const Device> device)
      : device_(std::move(device)), event_(device_->create_event()) {}
  ~OwnedEvent() { device_->destroy_event(event_); }
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;

  void record(Stream stream) const { device_->record(event_, stream); }
  [[nodiscard]] bool reached() const { return device_->query(event_); }
  [[nodiscard]] Event event() const { return event_; }

 private:
  std::shared_ptr<const Device> device_;
  Event event_;
};

/// A point of a timeline.
struct Moment {
  const Timeline* timeline = nullptr;
  std::uint64_t mark = 0;
  [[nodiscard]] bool reached() const { return timeline == nullptr || timeline->done(mark); }
};

}  // namespace multitree::runtime::device
