// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Marks are events; an event is used again when it was reached.
#include "runtime/device/timeline_internal.hpp"

namespace multitree::runtime::device {

Timeline::Timeline(const Device& device) : device_(device), stream_(device.create_stream(true)) {}

Timeline::~Timeline() {
  for (const Event event : pending_) device_.destroy_event(event);
  for (const Event event : free_) device_.destroy_event(event);
  device_.destroy_stream(stream_);
}

std::uint64_t Timeline::mark() {
  if (free_.empty()) free_.push_back(device_.create_event());
  device_.record(free_.back(), stream_);
  pending_.push_back(free_.back());
  free_.pop_back();
  return done_ + pending_.size();
}

void Timeline::wait(const Timeline& other, std::uint64_t mark) {
  if (&other == this || other.done(mark)) return;
  device_.wait_event(stream_, other.pending_[mark - other.done_ - 1]);
}

bool Timeline::poll() {
  bool moved = false;
  while (!pending_.empty() && device_.query(pending_.front())) {
    free_.push_back(pending_.front());
    pending_.pop_front();
    ++done_;
    moved = true;
  }
  return moved;
}

}  // namespace multitree::runtime::device
