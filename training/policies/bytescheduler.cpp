// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// ByteScheduler: partitions by priority, and a credit of bytes that may be under way.
#include <deque>
#include <queue>

#include "training/channel_internal.hpp"
#include "training/gradients_internal.hpp"
#include "training/policies_internal.hpp"

namespace multitree::training {
namespace {

/// Tensors in equal parts of at most so many bytes.
std::vector<Gradient> partitions_of(const std::vector<Gradient>& tensors, std::uint64_t most) {
  std::vector<Gradient> parts;
  for (const Gradient& tensor : tensors) {
    const std::uint64_t count = (tensor.bytes + most - 1) / most;
    for (std::uint64_t i = 0; i < count; ++i) {
      Gradient part = tensor;
      part.bytes = tensor.bytes * (i + 1) / count - tensor.bytes * i / count;
      parts.push_back(part);
    }
  }
  return parts;
}

/// Who has credit goes in the order in which it was given; priorities are those of the others.
class Credit {
 public:
  Credit(const std::vector<Gradient>& parts, std::uint64_t most) : parts_(parts), most_(most) {}

  void arrive(double now) {
    while (next_ < parts_.size() && parts_[next_].ready <= now) waiting_.push(next_++);
    admit();
  }
  [[nodiscard]] bool empty() const { return admitted_.empty(); }
  [[nodiscard]] bool over() const { return next_ == parts_.size() && waiting_.empty() && empty(); }
  [[nodiscard]] const Gradient& front() const { return parts_[admitted_.front()]; }
  void finish() {
    under_way_ -= front().bytes;
    admitted_.pop_front();
    admit();
  }
  /// When the next partition is made. \pre there is one
  [[nodiscard]] double next_ready() const { return parts_[next_].ready; }
  [[nodiscard]] bool has_next() const { return next_ < parts_.size(); }

 private:
  void admit() {
    while (!waiting_.empty()) {
      const std::uint64_t bytes = parts_[waiting_.top()].bytes;
      if (under_way_ != 0 && under_way_ + bytes > most_) return;
      under_way_ += bytes;
      admitted_.push_back(waiting_.top());
      waiting_.pop();
    }
  }

  const std::vector<Gradient>& parts_;
  std::uint64_t most_, under_way_ = 0;
  std::size_t next_ = 0;
  std::priority_queue<std::size_t> waiting_;  ///< front tensors first: those that were made last
  std::deque<std::size_t> admitted_;
};

}  // namespace

Iteration run_bytescheduler(const Model& model, const Costs& costs, const Spec& options) {
  const std::uint64_t partition = bytes_option(options, "partition", "4MB");
  const std::vector<Gradient> parts = partitions_of(tensors_of(model), partition);
  Credit credit(parts, bytes_option(options, "credit", "16MB"));
  Channel channel(costs);
  while (!credit.over()) {
    if (credit.empty()) credit.arrive(credit.next_ready());
    const double end = channel.run(transfer_of(credit.front()));
    // What is made while this one is under way asks for credit in its turn.
    while (credit.has_next() && credit.next_ready() <= end) credit.arrive(credit.next_ready());
    credit.finish();
  }
  return finish_apart(model, channel);
}

}  // namespace multitree::training
