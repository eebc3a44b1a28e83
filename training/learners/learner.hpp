// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Networks that really learn, on the processor of one rank: what policies of communication are
/// tried with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "training/learners/data.hpp"
#include "training/learners/steps.hpp"

namespace multitree::training {

/// What a kind of layer computes. Matrices lie row by row; `batch` samples of `inputs` numbers come
/// in and as many of `outputs` go out.
class LayerKind {
 public:
  using In = std::span<const float>;
  using Out = std::span<float>;

  LayerKind(std::string name, std::size_t inputs, std::size_t outputs,
            std::vector<std::size_t> tensors)
      : name_(std::move(name)), inputs_(inputs), outputs_(outputs), tensors_(std::move(tensors)) {}
  LayerKind(const LayerKind&) = delete;
  LayerKind& operator=(const LayerKind&) = delete;
  virtual ~LayerKind() = default;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  /// Numbers in each of its tensors, in the order in which its parameters lie.
  [[nodiscard]] const std::vector<std::size_t>& tensors() const { return tensors_; }
  [[nodiscard]] std::size_t parameters() const;

  virtual void initialize(Out parameters, Random& random) const = 0;
  /// `y` is overwritten.
  virtual void forward(In parameters, In x, Out y, std::size_t batch) = 0;
  /// After forward() of the same batch. `dx` and `dparameters` are overwritten; `dx` is empty where
  /// nobody needs it. `dy` may be changed.
  virtual void backward(In parameters, In x, In y, Out dy, Out dparameters, Out dx,
                        std::size_t batch) = 0;

 private:
  std::string name_;
  std::size_t inputs_, outputs_;
  std::vector<std::size_t> tensors_;
};

/// A sequence of layers and the cross entropy of its outputs, with steps that can be done layer by
/// layer. The same seed makes the same parameters on every rank.
class Learner {
 public:
  Learner(std::string name, std::vector<std::unique_ptr<LayerKind>> layers, std::uint64_t seed);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t layers() const { return layers_.size(); }
  [[nodiscard]] const LayerKind& layer(std::size_t l) const { return *layers_[l]; }
  /// Where a layer's parameters begin in parameters() and gradients(), in numbers.
  [[nodiscard]] std::size_t begin(std::size_t l) const { return begins_[l]; }

  [[nodiscard]] std::span<float> parameters() { return parameters_; }
  /// Of the last backward passes: means over the batch.
  [[nodiscard]] std::span<float> gradients() { return gradients_; }

  /// What the next passes are about. \throws Error(InvalidArgument) if the data do not fit.
  void show(Batch batch);
  /// One layer's pass; layers in order. The last one's sets loss().
  void forward(std::size_t l);
  /// One layer's pass, last layer first, after forward() of all.
  void backward(std::size_t l);
  /// Mean cross entropy of the last forward pass, in nats, and the part of its labels that had the
  /// largest output.
  /// \{
  [[nodiscard]] double loss() const { return loss_; }
  [[nodiscard]] double accuracy() const { return accuracy_; }
  /// \}
  /// A layer's step with its gradients times `scale`. With momentum (Polyak): v = momentum v + g,
  /// p = p - rate v; or AdamW with the same steps each time.
  void step(std::size_t l, const Steps& steps, float scale);
  /// Parameters and what their steps remember, to go on from with the same steps.
  /// \{
  void save(std::vector<float>& state) const;
  /// \throws Error(InvalidArgument) unless it is of a learner like this
  void restore(std::span<const float> state);
  /// \}

 private:
  void compare();
  void step_adamw(std::size_t l, const Steps& steps, float scale);

  std::string name_;
  std::vector<std::unique_ptr<LayerKind>> layers_;
  std::vector<std::size_t> begins_;  // and the end
  std::vector<float> parameters_, gradients_, velocity_;
  // Of AdamW: mean squares of gradients, and how many steps each layer has made; as numbers, since
  // they are kept with the others.
  std::vector<float> squares_, steps_;
  Batch batch_;
  std::size_t samples_ = 0;
  std::vector<std::vector<float>> values_, slopes_;  // by layer: what comes in; behind it what
                                                     // comes out of the last
  double loss_ = 0, accuracy_ = 0;
};

/// "logistic", "mlp" (two hidden layers of 512, or mlp?hidden=N&depth=N), "lenet5" (square images),
/// "transformer" (next tokens; transformer?width=64&blocks=2&heads=4).
/// \throws Error(InvalidArgument) listing the names, or if the data do not fit.
std::unique_ptr<Learner> make_learner(std::string_view spec, const DataShape& shape,
                                      std::uint64_t seed);

}  // namespace multitree::training
