// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/frame_port.hpp"

namespace multitree::rtl {

class MemoryWires::Port final : public FramePort {
 public:
  Port(MemoryWires& wires, Frames& mine) : wires_(wires), mine_(mine) {}

  std::span<const std::byte> receive() override {
    if (mine_.empty() && wires_.others_) wires_.fetch(mine_);
    if (mine_.empty()) return {};
    last_ = std::move(mine_.front());
    mine_.pop_front();
    return last_;
  }
  void send(const Way& way, std::span<const std::byte> frame) override {
    const auto place = wires_.frames_.find(way.to);
    if (place != wires_.frames_.end()) {
      place->second.emplace_back(frame.begin(), frame.end());
    } else if (wires_.others_) {
      wires_.others_->send(way, frame);
    }
  }
  /// Whoever else could send runs in the same thread.
  void wait(std::chrono::milliseconds most) override {
    if (wires_.others_) wires_.others_->wait(most);
  }

 private:
  MemoryWires& wires_;
  Frames& mine_;
  std::vector<std::byte> last_;
};

MemoryWires::MemoryWires(std::span<const std::uint16_t> nodes, std::unique_ptr<FramePort> others)
    : others_(std::move(others)) {
  for (const std::uint16_t node : nodes) frames_[node];
}

std::unique_ptr<FramePort> MemoryWires::port(std::uint16_t node) {
  return std::make_unique<Port>(*this, frames_.at(node));
}

/// Hands out what has come from others, until there is something for who asks. It gets what names
/// nobody here as well, and finds out what that is.
void MemoryWires::fetch(Frames& asker) {
  for (std::size_t taken = 0; asker.empty() && taken < kMostFrames; ++taken) {
    const auto frame = others_->receive();
    if (frame.empty()) return;
    const auto place = frames_.find(addressee(frame).value_or(0));
    Frames& of_one = place == frames_.end() ? asker : place->second;
    if (of_one.size() < kMostFrames) of_one.emplace_back(frame.begin(), frame.end());
  }
}

std::span<const std::byte> LossyPort::receive() {
  for (;;) {
    const std::span<const std::byte> frame = port_->receive();
    constexpr double kAll = 0x1p64;
    if (frame.empty() || static_cast<double>(random_()) >= part_ * kAll) return frame;
    drops_ = !drops_;
    if (drops_) continue;
    changed_.assign(frame.begin(), frame.end());
    changed_[random_() % changed_.size()] ^= std::byte{1};
    return changed_;
  }
}

}  // namespace multitree::rtl
