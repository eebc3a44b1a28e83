// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Plays plans of iterations on real ranks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/communicator.hpp"
#include "runtime/counted/counted_sums.hpp"
#include "tools/train/run/arrangement.hpp"
#include "tools/train/run/worker.hpp"
#include "training/compression/compressor.hpp"
#include "training/plan.hpp"

namespace multitree::tools {

/// The gradients that a transfer carries, in numbers; several that carry parts of a layer follow
/// each other from its end.
struct Stretch {
  std::size_t begin = 0, count = 0;
};
/// By transfer. \throws Error(InvalidInput) unless gradients are numbers of 4 bytes and all layers
/// are carried once: by an all-reduce, or by a reduce-scatter and an all-gather alike.
std::vector<Stretch> stretches_of(const training::Plan& plan);

/// One rank's part in iterations of a plan. The passes run in the thread that calls; a thread of
/// its own gives transfers to the communicator in the order of the plan, which is the same at all
/// ranks, as soon as their gradients are there.
class Player {
 public:
  /// All outlive this. The worker has the layers of the plan's model. \param patience longest wait
  /// for a transfer \param counted null, or what sums up instead of the communicator: a tensor for
  /// each transfer, all of them all-reduces \param sums null, or what sums gradients up, each on
  /// the tree that its place in the model says; not with `counted`
  Player(const training::Plan& plan, runtime::Communicator& communicator, Worker& worker,
         std::chrono::milliseconds patience, runtime::CountedAllReduce* counted = nullptr,
         const Schedule* sums = nullptr);
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  /// Before the first iteration: how messages travel, with calls as they are.
  void send_as(runtime::WireType wire) { wire_ = wire; }
  /// Before the first iteration: sums are made by a compressor for each transfer, with error
  /// feedback, one transfer after the other. \pre all transfers are all-reduces, and are added
  /// where they lie
  void compress(std::string_view compressor, std::uint64_t seed);
  /// Before the first iteration: a forward pass.
  void begin();
  /// A backward pass and the forward pass behind it, with everything between them. \returns when
  /// what took place at this rank. \throws what transfers and passes throw
  training::SimulatedPlan iterate();
  /// Of all iterations; nothing without counted sums.
  [[nodiscard]] const runtime::LossCount& losses() const { return losses_; }

 private:
  using Clock = std::chrono::steady_clock;
  /// An iteration that the others have made without this rank: its sums, and no passes.
  void skip();
  void pass();
  void conduct();
  void conduct_serial();
  void conduct_at_once();
  /// Until this rank's are there. False: there is no more to do.
  bool await_gradients(std::size_t transfer);
  runtime::Request start(std::size_t transfer);
  void finish(std::size_t transfer);
  std::span<float> stretch_of(std::size_t transfer);
  runtime::Call call_of(std::size_t transfer);
  void pack(std::size_t transfer);
  void unpack(std::size_t transfer);
  /// For a pass; true if it had to be waited for.
  bool await(std::size_t layer);
  [[nodiscard]] double now() const;

  const training::Plan& plan_;
  runtime::Communicator& communicator_;
  Worker& worker_;
  std::chrono::milliseconds patience_;
  runtime::CountedAllReduce* counted_;
  runtime::WireType wire_ = runtime::WireType::AsIs;
  runtime::LossCount losses_;  ///< of the thread, while an iteration is under way
  std::vector<Stretch> stretches_;
  std::unique_ptr<training::Exchange> exchange_;                    ///< of compressors; or null
  std::vector<std::unique_ptr<training::Compressor>> compressors_;  ///< by transfer; or none
  std::vector<std::vector<float>> errors_;                          ///< what they are fed
  std::vector<std::unique_ptr<Arrangement>> arranged_;  ///< by transfer; of an all-gather null
  std::vector<std::vector<float>> padded_, shards_;     ///< by transfer; of a pair in the first's
  std::vector<std::size_t> pair_;  ///< of an all-gather its reduce-scatter; else itself

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::uint64_t iteration_ = 0;  ///< that is under way; 0: none
  bool stopping_ = false;
  std::exception_ptr error_;       ///< of the thread
  std::size_t backward_from_ = 0;  ///< gradients of layers from here on are there
  std::vector<bool> done_;         ///< by transfer
  Clock::time_point begin_;        ///< of the iteration
  training::SimulatedPlan times_;
  std::thread conductor_;
};

}  // namespace multitree::tools
