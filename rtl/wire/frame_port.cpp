// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/frame_port.hpp"

namespace multitree::rtl {

class MemoryWires::Port final : public FramePort {
 public:
  Port(MemoryWires& wires, std::uint32_t rank) : wires_(wires), rank_(rank) {}

  std::span<const std::byte> receive() override {
    auto& frames = wires_.frames_[rank_];
    if (frames.empty()) return {};
    last_ = std::move(frames.front());
    frames.pop_front();
    return last_;
  }
  void send(const Way& way, std::span<const std::byte> frame) override {
    wires_.frames_[way.to].emplace_back(frame.begin(), frame.end());
  }
  void wait(std::chrono::milliseconds) override {}  // whoever could send runs in the same thread

 private:
  MemoryWires& wires_;
  std::uint32_t rank_;
  std::vector<std::byte> last_;
};

std::unique_ptr<FramePort> MemoryWires::port(std::uint32_t rank) {
  return std::make_unique<Port>(*this, rank);
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
