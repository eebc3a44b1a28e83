// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What learners learn from: made up by a seed, or read from a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace multitree::training {

/// Random numbers that are the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// From 0 to 1, without 1.
  float uniform() { return static_cast<float>(engine_() >> 40) * 0x1p-24F; }
  /// Of mean 0 and variance 1; a sum of uniform ones.
  float normal();
  /// Below `end`, which is not 0.
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(engine_() % end); }

 private:
  std::mt19937_64 engine_;
};

/// What a sample is.
struct DataShape {
  std::size_t inputs = 0;   ///< numbers; of a sequence, tokens
  std::size_t classes = 0;  ///< of a sequence, different tokens
  bool sequence = false;    ///< inputs are tokens, and each has a label: the next one
};

/// Samples for one pass.
struct Batch {
  std::vector<float> inputs;          ///< sample by sample
  std::vector<std::uint32_t> labels;  ///< one a sample, or one a token
};

/// How samples are spread over ranks.
enum class Shards : std::uint8_t {
  Mixed,   ///< each rank draws from all
  Sorted,  ///< each has a stretch of those sorted by label; of a text, a stretch of it
};

/// Samples that ranks draw from, the same ones on every machine for the same arguments.
class DataSet {
 public:
  virtual ~DataSet() = default;
  [[nodiscard]] virtual DataShape shape() const = 0;
  /// `size` samples of a rank for a step.
  [[nodiscard]] virtual Batch batch(std::uint64_t step, std::uint32_t rank, std::uint32_t ranks,
                                    std::size_t size) const = 0;
};

/// 4,096 images: 4 x 4 spots that are the same in all of a class, in noise.
/// \param side of the square images \param spots how strong they are, beside noise of 1
std::unique_ptr<DataSet> make_clusters(std::size_t side, std::size_t classes, std::uint64_t seed,
                                       Shards shards, float spots = 0.5F);
/// Sequences in which each token is followed by one of four, of which one comes most often: with
/// sorted shards, not the same one at all ranks.
std::unique_ptr<DataSet> make_sequences(std::size_t length, std::size_t tokens, std::uint64_t seed,
                                        Shards shards = Shards::Mixed);
/// Stretches of a text, a token for each different character. \throws Error(InvalidInput) "file:
/// ..." unless it is longer than `length`, Error(Io).
std::unique_ptr<DataSet> read_text(const std::string& file, std::size_t length, std::uint64_t seed,
                                   Shards shards);
/// A table: a sample a line, numbers with commas between them, the last one its label (a whole
/// number from 0). Inputs are scaled to 0 to 1 by the largest. As the UCI's and scikit-learn's
/// digits. \throws Error(InvalidInput) "file:line: what was expected and found", Error(Io).
std::unique_ptr<DataSet> read_samples(const std::string& file, std::uint64_t seed, Shards shards);

}  // namespace multitree::training
