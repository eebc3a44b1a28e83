// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A transport around another one.
#include "runtime/messages/checksum_internal.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <deque>
#include <utility>

namespace multitree::runtime {
namespace {

/// One message and its checksum, under way.
struct Pair {
  Completion data, checksum;
  Completion* user = nullptr;  ///< null once it has been told
  const void* contents = nullptr;
  std::size_t bytes = 0;
  std::uint64_t tag = 0, sum = 0;  ///< sum: of ours, or as received
  Seat peer{};
  bool receive = false;
  bool open = false;
};

class Checksummed final : public Transport {
 public:
  explicit Checksummed(std::unique_ptr<Transport> inner) : inner_(std::move(inner)) {}

  void send(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
            Completion& completion) override {
    Pair& pair = open(peer, tag, data, bytes, completion);
    pair.sum = XXH3_64bits_withSeed(data, bytes, tag);
    inner_->send(peer, tag, data, bytes, pair.data);
    inner_->send(peer, tag | kChecksumTag, &pair.sum, sizeof pair.sum, pair.checksum);
  }

  void receive(Seat peer, std::uint64_t tag, void* data, std::size_t bytes,
               Completion& completion) override {
    Pair& pair = open(peer, tag, data, bytes, completion);
    pair.receive = true;
    pair.data.or_less = completion.or_less;
    inner_->receive(peer, tag, data, bytes, pair.data);
    inner_->receive(peer, tag | kChecksumTag, &pair.sum, sizeof pair.sum, pair.checksum);
  }

  [[nodiscard]] bool has_come(Seat peer, std::uint64_t tag) const override {
    return inner_->has_come(peer, tag);
  }

  /// Its bytes cannot be summed up here: messages are staged in host memory instead.
  [[nodiscard]] bool takes_device_memory() const override { return false; }

  [[nodiscard]] std::optional<SilentLinks> silent_links() const override {
    return inner_->silent_links();
  }
  [[nodiscard]] std::vector<ImpairedLink> impaired_links() override {
    return inner_->impaired_links();
  }
  void relearn_rates() override { inner_->relearn_rates(); }
  void overlook_rates() override { inner_->overlook_rates(); }
  [[nodiscard]] std::vector<Seat> unsent() const override { return inner_->unsent(); }

  bool progress() override {
    const bool moved = inner_->progress();
    if (finished_.empty()) return moved;
    batch_.swap(finished_);
    for (const Completion* completion : batch_) settle(pairs_[completion->id]);
    batch_.clear();
    return true;
  }

  void flush(Seat peer, Completion& completion) override { inner_->flush(peer, completion); }
  bool drain(Deadline deadline) override { return inner_->drain(deadline); }

  void abort() override {
    inner_->abort();
    finished_.clear();
  }

  bool sleep(std::chrono::milliseconds time) override { return inner_->sleep(time); }
  Arrivals await_arrivals(std::vector<int>& descriptors) override {
    return inner_->await_arrivals(descriptors);
  }
  [[nodiscard]] TransportLimits limits() const override {
    TransportLimits limits = inner_->limits();
    limits.noted_bytes = 0;  // the checksum would have to cover the note
    return limits;
  }

  [[nodiscard]] std::string describe() const override {
    return inner_->describe() + ", with checksums";
  }

 private:
  Pair& open(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
             Completion& completion) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(pairs_.size()));
      pairs_.emplace_back();
    }
    const std::uint32_t id = free_.back();
    free_.pop_back();
    Pair& pair = pairs_[id];
    for (Completion* half : {&pair.data, &pair.checksum}) {
      *half = Completion{};
      half->id = id;
      half->finished = &finished_;
    }
    pair.user = &completion;
    pair.contents = data;
    pair.bytes = bytes;
    pair.tag = tag;
    pair.peer = peer;
    pair.receive = false;
    pair.open = true;
    completion.state = Completion::State::Pending;
    return pair;
  }

  /// Called for each of the halves.
  void settle(Pair& pair) {
    const auto over = [](const Completion& half) {
      return half.state == Completion::State::Done || half.state == Completion::State::Failed;
    };
    for (const Completion* half : {&pair.data, &pair.checksum}) {
      // At once: the other half may never end.
      if (half->state == Completion::State::Failed && pair.user != nullptr) {
        std::exchange(pair.user, nullptr)->fail_length(half->came, half->error);
      }
    }
    if (!over(pair.data) || !over(pair.checksum)) return;
    if (pair.user != nullptr) tell(pair);
    // Both halves may be in one batch; the second look finds nothing to do.
    if (std::exchange(pair.open, false)) free_.push_back(pair.data.id);
  }

  static void tell(Pair& pair) {
    Completion& user = *std::exchange(pair.user, nullptr);
    if (!pair.receive) return user.complete();
    const std::size_t bytes = pair.data.or_less ? pair.data.came : pair.bytes;
    const std::uint64_t found = XXH3_64bits_withSeed(pair.contents, bytes, pair.tag);
    if (found == pair.sum) return user.complete(bytes);
    user.fail(
        fmt::format("message from rank {} is corrupted: checksum of its {} bytes expected "
                    "{:016x}, found {:016x}",
                    pair.peer, bytes, pair.sum, found));
  }

  std::unique_ptr<Transport> inner_;
  std::deque<Pair> pairs_;
  std::vector<std::uint32_t> free_;
  std::vector<Completion*> finished_, batch_;
};

}  // namespace

std::unique_ptr<Transport> with_checksums(std::unique_ptr<Transport> transport) {
  return std::make_unique<Checksummed>(std::move(transport));
}

}  // namespace multitree::runtime
