// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Data that are made up, and tables of samples.
#include "training/learners/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "topologies/error.hpp"
#include "topologies/io/files.hpp"

namespace multitree::training {
namespace {

/// A generator of its own for each rank and step.
Random random_of(std::uint64_t seed, std::uint64_t step, std::uint32_t rank) {
  std::uint64_t mixed = seed;
  for (const std::uint64_t one : {step, static_cast<std::uint64_t>(rank)}) {
    mixed = (mixed ^ (one + 0x9e3779b97f4a7c15ULL)) * 0xbf58476d1ce4e5b9ULL;  // SplitMix64's
    mixed ^= mixed >> 31;
  }
  return Random(mixed);
}

/// Samples in memory.
class Samples : public DataSet {
 public:
  Samples(DataShape shape, std::vector<float> inputs, std::vector<std::uint32_t> labels,
          std::uint64_t seed, Shards shards)
      : shape_(shape),
        inputs_(std::move(inputs)),
        labels_(std::move(labels)),
        seed_(seed),
        shards_(shards),
        order_(labels_.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    if (shards_ == Shards::Mixed) return;
    std::ranges::stable_sort(order_, {}, [this](std::size_t sample) { return labels_[sample]; });
  }

  [[nodiscard]] DataShape shape() const override { return shape_; }

  [[nodiscard]] Batch batch(std::uint64_t step, std::uint32_t rank, std::uint32_t ranks,
                            std::size_t size) const override {
    Random random = random_of(seed_, step, rank);
    const bool own = shards_ == Shards::Sorted;
    const std::size_t begin = own ? order_.size() * rank / ranks : 0;
    const std::size_t end = own ? order_.size() * (rank + 1) / ranks : order_.size();
    Batch batch;
    for (std::size_t s = 0; s < size; ++s) {
      // A rank without samples of its own, as there are more ranks than samples, takes any.
      const std::size_t sample = end > begin ? order_[begin + random.below(end - begin)]
                                             : order_[random.below(order_.size())];
      const auto first = inputs_.begin() + static_cast<std::ptrdiff_t>(sample * shape_.inputs);
      batch.inputs.insert(batch.inputs.end(), first,
                          first + static_cast<std::ptrdiff_t>(shape_.inputs));
      batch.labels.push_back(labels_[sample]);
    }
    return batch;
  }

 private:
  DataShape shape_;
  std::vector<float> inputs_;
  std::vector<std::uint32_t> labels_;
  std::uint64_t seed_;
  Shards shards_;
  std::vector<std::size_t> order_;
};

/// Next tokens by a table of four for each.
class Sequences : public DataSet {
 public:
  Sequences(std::size_t length, std::size_t tokens, std::uint64_t seed, Shards shards)
      : length_(length), tokens_(tokens), seed_(seed), shards_(shards), next_(kWays * tokens) {
    Random random(seed);
    for (std::uint32_t& token : next_) token = static_cast<std::uint32_t>(random.below(tokens));
  }

  [[nodiscard]] DataShape shape() const override { return {length_, tokens_, true}; }

  [[nodiscard]] Batch batch(std::uint64_t step, std::uint32_t rank, std::uint32_t /*ranks*/,
                            std::size_t size) const override {
    Random random = random_of(seed_, step, rank);
    Batch batch;
    const std::size_t often = shards_ == Shards::Sorted ? rank % kWays : 0;
    for (std::size_t s = 0; s < size; ++s) {
      auto token = static_cast<std::uint32_t>(random.below(tokens_));
      for (std::size_t t = 0; t < length_; ++t) {
        batch.inputs.push_back(static_cast<float>(token));
        // One way more than half of the time.
        const std::size_t drawn = random.below(2 * kWays);
        token = next_[kWays * token + (drawn < kWays ? drawn : often)];
        batch.labels.push_back(token);
      }
    }
    return batch;
  }

 private:
  static constexpr std::size_t kWays = 4;
  std::size_t length_, tokens_;
  std::uint64_t seed_;
  Shards shards_;
  std::vector<std::uint32_t> next_;
};

/// Next characters.
class Text : public DataSet {
 public:
  Text(std::vector<std::uint32_t> text, std::size_t characters, std::size_t length,
       std::uint64_t seed, Shards shards)
      : text_(std::move(text)),
        characters_(characters),
        length_(length),
        seed_(seed),
        shards_(shards) {}

  [[nodiscard]] DataShape shape() const override { return {length_, characters_, true}; }

  [[nodiscard]] Batch batch(std::uint64_t step, std::uint32_t rank, std::uint32_t ranks,
                            std::size_t size) const override {
    Random random = random_of(seed_, step, rank);
    const std::size_t places = text_.size() - length_;
    const bool own = shards_ == Shards::Sorted;
    const std::size_t first = own ? places * rank / ranks : 0;
    const std::size_t end = own ? std::max(places * (rank + 1) / ranks, first + 1) : places;
    Batch batch;
    for (std::size_t s = 0; s < size; ++s) {
      const std::size_t begin = std::min(first + random.below(end - first), places - 1);
      for (std::size_t t = begin; t < begin + length_; ++t) {
        batch.inputs.push_back(static_cast<float>(text_[t]));
        batch.labels.push_back(text_[t + 1]);
      }
    }
    return batch;
  }

 private:
  std::vector<std::uint32_t> text_;  // tokens
  std::size_t characters_, length_;
  std::uint64_t seed_;
  Shards shards_;
};

constexpr std::size_t kMadeUp = 4096;
/// Images that are made up have as many spots in a row and in a column.
constexpr std::size_t kSpots = 4;
constexpr std::uint32_t kMostClasses = 1 << 16;

/// The numbers of a line. \throws Error(InvalidInput)
std::vector<float> numbers_of(std::string_view line, const std::string& where) {
  std::vector<float> numbers;
  while (true) {
    const std::size_t comma = std::min(line.find(','), line.size());
    const std::string word(line.substr(0, comma));
    std::size_t used = 0;
    float number = 0;
    try {
      number = std::stof(word, &used);
    } catch (const std::logic_error&) {  // told below
    }
    if (used == 0 || word.find_first_not_of(" \r", used) != word.npos || !std::isfinite(number)) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{}: column {}: expected a number, found '{}'", where,
                              numbers.size() + 1, word.substr(0, 80)));
    }
    numbers.push_back(number);
    if (comma == line.size()) return numbers;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

float Random::normal() {
  float sum = 0;
  for (int i = 0; i < 12; ++i) sum += uniform();
  return sum - 6;
}

std::unique_ptr<DataSet> make_clusters(std::size_t side, std::size_t classes, std::uint64_t seed,
                                       Shards shards, float spots) {
  const std::size_t inputs = side * side;
  Random random(seed);
  std::vector<float> centres(classes * kSpots * kSpots);
  for (float& one : centres) one = random.normal();
  std::vector<float> samples;
  std::vector<std::uint32_t> labels;
  for (std::size_t s = 0; s < kMadeUp; ++s) {
    const std::size_t label = random.below(classes);
    labels.push_back(static_cast<std::uint32_t>(label));
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::size_t row = i / side * kSpots / side, column = i % side * kSpots / side;
      samples.push_back(spots * centres[(label * kSpots + row) * kSpots + column] +
                        random.normal());
    }
  }
  return std::make_unique<Samples>(DataShape{inputs, classes, false}, std::move(samples),
                                   std::move(labels), seed, shards);
}

std::unique_ptr<DataSet> make_sequences(std::size_t length, std::size_t tokens, std::uint64_t seed,
                                        Shards shards) {
  return std::make_unique<Sequences>(length, tokens, seed, shards);
}

std::unique_ptr<DataSet> read_text(const std::string& file, std::size_t length, std::uint64_t seed,
                                   Shards shards) {
  const std::string text = read_file(file);
  if (text.size() <= length) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: expected a text of more than {} characters, found {}", file,
                            length, text.size()));
  }
  const std::set<char> characters(text.begin(), text.end());
  std::map<char, std::uint32_t> token;
  for (const char one : characters) token.emplace(one, static_cast<std::uint32_t>(token.size()));
  std::vector<std::uint32_t> tokens;
  for (const char one : text) tokens.push_back(token[one]);
  return std::make_unique<Text>(std::move(tokens), token.size(), length, seed, shards);
}

std::unique_ptr<DataSet> read_samples(const std::string& file, std::uint64_t seed, Shards shards) {
  const std::string text = read_text_file(file);
  std::vector<float> inputs;
  std::vector<std::uint32_t> labels;
  std::size_t width = 0, number = 0, classes = 0;
  float largest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    const std::string where = fmt::format("{}:{}", file, ++number);
    if (line.find_first_not_of(" \r") == line.npos) continue;
    const std::vector<float> values = numbers_of(line, where);
    if (width == 0) width = values.size();
    if (values.size() != width || width < 2) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{}: expected {} numbers, the last one a label, found {}", where,
                              width < 2 ? "at least two" : std::to_string(width), values.size()));
    }
    const float label = values.back();
    if (label < 0 || label >= static_cast<float>(kMostClasses) || label != std::floor(label)) {
      throw Error(
          ErrorCode::InvalidInput,
          fmt::format("{}: expected a whole number from 0 as the label, found {}", where, label));
    }
    inputs.insert(inputs.end(), values.begin(), values.end() - 1);
    labels.push_back(static_cast<std::uint32_t>(label));
    classes = std::max(classes, static_cast<std::size_t>(label) + 1);
  }
  if (labels.empty()) {
    throw Error(ErrorCode::InvalidInput, fmt::format("{}: expected samples, found none", file));
  }
  for (const float one : inputs) largest = std::max(largest, std::abs(one));
  if (largest > 0) {
    for (float& one : inputs) one /= largest;
  }
  return std::make_unique<Samples>(DataShape{width - 1, classes, false}, std::move(inputs),
                                   std::move(labels), seed, shards);
}

}  // namespace multitree::training
