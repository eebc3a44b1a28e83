// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a fake device holds: queues, events, memory and counts. Its functions are in
/// fake_device.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "fake_device.hpp"
#include "fake_memory.hpp"

namespace multitree::runtime::test {

/// One item of a stream: runs if it is ready.
struct FakeItem {
  std::function<bool()> ready;  ///< empty: always
  std::function<void()> run;    ///< may be empty
};

struct FakeGraph {
  std::vector<FakeItem> items;
};

/// How often it was recorded, and which of these was reached.
struct FakeEvent {
  std::uint64_t recorded = 0, reached = 0;
};

struct FakeStream {
  std::deque<FakeItem> items;
  std::shared_ptr<FakeGraph> graph;  ///< of the capture, if there is one
};

class Fake {
 public:
  explicit Fake(const FakeOptions& options)
      : options_(options), memory_(options.bytes), random_(options.seed) {}

  std::mutex& mutex() { return mutex_; }
  FakeMemory& memory() { return memory_; }
  FakeCounts& counts() { return counts_; }
  const FakeOptions& options() const { return options_; }

  /// The words of the first failure, which all later calls return too.
  device::Status failed() const { return failure_; }
  device::Status fail(device::Status words) {
    if (failure_ == nullptr) failure_ = words;
    return failure_;
  }

  device::Status put(device::Stream stream, FakeItem item) {
    if (options_.fail_after != 0 && ++put_ > options_.fail_after) fail("injected failure");
    if (failure_ != nullptr) return failure_;
    FakeStream& to = stream_of(stream);
    if (to.graph != nullptr) {
      to.graph->items.push_back(std::move(item));
    } else {
      to.items.push_back(std::move(item));
    }
    return failure_;
  }
  FakeStream& stream_of(device::Stream stream) {
    if (!streams_.contains(stream)) fail("no such stream");
    return streams_[stream];
  }

  /// Runs something, or nothing.
  void turn() {
    std::uniform_int_distribution<int> how_many(0, 4);
    for (int n = how_many(random_); n > 0 && failure_ == nullptr; --n) {
      std::uniform_int_distribution<std::size_t> which(0, streams_.size() - 1);
      auto it = streams_.begin();
      std::advance(it, static_cast<std::ptrdiff_t>(which(random_)));
      std::deque<FakeItem>& items = it->second.items;
      if (items.empty() || (items.front().ready && !items.front().ready())) continue;
      const FakeItem item = std::move(items.front());
      items.pop_front();
      if (item.run) item.run();
    }
  }

  bool may_map() {
    const std::scoped_lock lock(mutex_);
    return mapped_++ < options_.maps;
  }

  device::Stream add_stream() {
    const auto stream = reinterpret_cast<device::Stream>(++last_stream_);
    streams_[stream];
    return stream;
  }
  void remove_stream(device::Stream stream) { streams_.erase(stream); }
  bool has(device::Stream stream) const { return streams_.contains(stream); }
  std::shared_ptr<FakeEvent>& event(device::Event event) { return events_.at(event); }
  device::Event add_event() {
    const auto event = reinterpret_cast<device::Event>(++last_event_);
    events_[event] = std::make_shared<FakeEvent>();
    return event;
  }
  void remove_event(device::Event event) { events_.erase(event); }

 private:
  FakeOptions options_;
  std::mutex mutex_;
  FakeMemory memory_;
  std::mt19937_64 random_;
  std::map<device::Stream, FakeStream> streams_{{nullptr, {}}};
  std::map<device::Event, std::shared_ptr<FakeEvent>> events_;
  std::uintptr_t last_stream_ = 0, last_event_ = 0;
  std::uint64_t put_ = 0, mapped_ = 0;
  FakeCounts counts_;
  device::Status failure_ = nullptr;
};

}  // namespace multitree::runtime::test
