// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What computes beside the transfers of an iteration.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "training/learners/learner.hpp"
#include "training/learners/rounds.hpp"
#include "training/model.hpp"

namespace multitree::tools {

/// The passes of one rank, layer by layer. \throws Error where gradients or sums are wrong.
class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  virtual ~Worker() = default;

  /// Of all layers, in forward order, without gaps: this rank's behind backward(), sums over all
  /// ranks before forward().
  virtual std::span<float> gradients() = 0;
  virtual void backward(std::size_t layer) = 0;
  /// \param sums whether there are sums to be used: not before the first backward pass
  virtual void forward(std::size_t layer, bool sums) = 0;
  /// In place of both passes of a layer: sums are there that others have made without this rank's.
  virtual void skip(std::size_t /*layer*/) {}
  /// It has waited for a transfer: the time until now is not its own.
  virtual void waited() {}
};

/// Sleeps as long as the layers of `model` take, so that the network counts and the processor does
/// not. Gradients are whole numbers, and every sum is checked. \pre gradients of 4 bytes
std::unique_ptr<Worker> emulated_worker(const training::Model& model, std::uint32_t rank,
                                        std::uint32_t ranks);

/// Passes that last as long as they are said to, however late one wakes up from the one before.
class Pace {
 public:
  /// Until so long after the last pass.
  void sleep(double seconds);
  /// The next pass begins now.
  void restart() { clock_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point clock_ = std::chrono::steady_clock::now();
};

/// A rank that is late now and then.
struct Straggler {
  std::uint32_t rank = 0;
  std::uint64_t every = 1;  ///< iterations
  double seconds = 0;
};

/// How learners are taught.
struct Teaching {
  std::size_t batch = 32;  ///< samples a rank and iteration
  training::Steps steps;
  std::optional<Straggler> straggler = {};
};

/// A learner and the data of its rank; remembers the loss of every forward pass.
class Pupil final : public Worker {
 public:
  struct Grade {
    double loss = 0, accuracy = 0;
  };
  /// All outlive this. \param paced null, or a model that says how long passes are to last if they
  /// would be over sooner \param grades of the forward passes before; takes those that follow
  Pupil(training::Learner& learner, const training::DataSet& data, const Teaching& teaching,
        const training::Model* paced, std::uint32_t rank, std::uint32_t ranks,
        std::vector<Grade>& grades)
      : learner_(learner),
        data_(data),
        teaching_(teaching),
        paced_(paced),
        rank_(rank),
        ranks_(ranks),
        grades_(grades) {}

  std::span<float> gradients() override { return learner_.gradients(); }
  void backward(std::size_t layer) override;
  void forward(std::size_t layer, bool sums) override;
  void skip(std::size_t layer) override;
  void waited() override { pace_.restart(); }

 private:
  training::Learner& learner_;
  const training::DataSet& data_;
  Teaching teaching_;
  const training::Model* paced_;
  std::uint32_t rank_, ranks_;
  Pace pace_;
  std::vector<Grade>& grades_;
};

/// A learner as policies see it, with layers that take no time.
training::Model untimed_model(const training::Learner& learner);
/// The same: layers with measured times, medians of a few passes. Changes
/// nothing but what the passes leave behind.
training::Model measured_model(training::Learner& learner, const training::DataSet& data,
                               const Teaching& teaching);

}  // namespace multitree::tools
