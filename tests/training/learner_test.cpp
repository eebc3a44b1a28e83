// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Networks that learn: their slopes are those of the loss, and it falls.
#include "training/learners/learner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "topologies/error.hpp"

namespace multitree::training {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// A learner with data for it.
struct Case {
  std::string name;
  bool sequence;
  std::size_t side;
};

std::unique_ptr<DataSet> data_of(const Case& one) {
  return one.sequence ? make_sequences(6, 11, 3) : make_clusters(one.side, 5, 3, Shards::Mixed);
}

double loss_of(Learner& learner) {
  for (std::size_t l = 0; l < learner.layers(); ++l) learner.forward(l);
  return learner.loss();
}

void back(Learner& learner) {
  for (std::size_t l = learner.layers(); l-- > 0;) learner.backward(l);
}

class Learners : public ::testing::TestWithParam<Case> {};

/// Differences in single precision are good to a few percent of large slopes: the sum over
/// parameters of both is compared in a random direction.
TEST_P(Learners, SlopesAreThoseOfTheLoss) {
  const auto data = data_of(GetParam());
  const auto learner = make_learner(GetParam().name, data->shape(), 7);
  learner->show(data->batch(0, 0, 1, 6));
  loss_of(*learner);
  back(*learner);
  const std::vector<float> start(learner->parameters().begin(), learner->parameters().end());
  const std::vector<float> slopes(learner->gradients().begin(), learner->gradients().end());
  for (std::size_t l = 0; l < learner->layers(); ++l) {
    // Along the layer's own slopes the loss changes most: by their square.
    double square = 0;
    const std::size_t begin = learner->begin(l), end = begin + learner->layer(l).parameters();
    for (std::size_t i = begin; i < end; ++i) square += static_cast<double>(slopes[i]) * slopes[i];
    ASSERT_GT(square, 1e-9) << learner->layer(l).name();
    const double step = 2e-3 / std::sqrt(square);
    std::array<double, 2> losses{};
    for (int side = 0; side < 2; ++side) {
      for (std::size_t i = begin; i < end; ++i) {
        learner->parameters()[i] =
            start[i] + static_cast<float>((side == 0 ? -step : step) * slopes[i]);
      }
      losses[static_cast<std::size_t>(side)] = loss_of(*learner);
    }
    std::copy(start.begin(), start.end(), learner->parameters().begin());
    const double measured = (losses[1] - losses[0]) / (2 * step);
    EXPECT_NEAR(measured / square, 1, 0.03) << learner->layer(l).name();
  }
}

TEST_P(Learners, Learn) {
  const auto data = data_of(GetParam());
  const auto learner = make_learner(GetParam().name, data->shape(), 7);
  std::vector<double> losses;
  for (std::uint64_t step = 0; step < 150; ++step) {
    learner->show(data->batch(step, 0, 1, 16));
    losses.push_back(loss_of(*learner));
    back(*learner);
    for (std::size_t l = 0; l < learner->layers(); ++l) {
      learner->step(l, {.rate = 0.05F, .momentum = 0.5F}, 1);
    }
  }
  EXPECT_LT(losses.back(), 0.8 * losses.front());
}

TEST_P(Learners, AreTheSameForTheSameSeed) {
  const auto data = data_of(GetParam());
  std::vector<std::vector<float>> results;
  for (const std::uint64_t seed : {7ULL, 7ULL, 8ULL}) {
    const auto learner = make_learner(GetParam().name, data->shape(), seed);
    learner->show(data->batch(0, 0, 1, 4));
    loss_of(*learner);
    back(*learner);
    results.emplace_back(learner->gradients().begin(), learner->gradients().end());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_NE(results[0], results[2]);
}

INSTANTIATE_TEST_SUITE_P(All, Learners,
                         ::testing::Values(Case{"logistic", false, 6},
                                           Case{"mlp?hidden=33&depth=2", false, 5},
                                           Case{"lenet5", false, 8}, Case{"lenet5", false, 16},
                                           Case{"transformer?width=16&blocks=2&heads=4", true, 0}),
                         [](const auto& one) {
                           return one.param.name.substr(0, one.param.name.find('?')) +
                                  std::to_string(one.index);
                         });

TEST(Learners, AreAsLargeAsPublished) {
  const auto lenet = make_learner("lenet5", {28 * 28, 10, false}, 1);
  EXPECT_EQ(lenet->parameters().size(), 61'706U);
  const auto mlp = make_learner("mlp", {28 * 28, 10, false}, 1);
  EXPECT_EQ(mlp->parameters().size(), 784U * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10);
}

/// Steps of one parameter as the paper has them, in double precision (Kingma, Ba, 2015, algorithm
/// 1; Loshchilov, Hutter, 2019, algorithm 2).
TEST(AdamW, StepsAsInItsPaper) {
  const auto learner = make_learner("logistic", {2, 2, false}, 1);
  const Steps steps{
      .rate = 0.01F, .momentum = 0.9F, .adamw = AdamW{.squares = 0.99F, .decay = 0.1F}};
  double parameter = learner->parameters()[0], mean = 0, square = 0;
  for (int step = 1; step <= 5; ++step) {
    const double gradient = 0.5 * step - 1.2;
    std::ranges::fill(learner->gradients(), static_cast<float>(gradient));
    learner->step(0, steps, 2);
    mean = 0.9 * mean + 0.1 * 2 * gradient;
    square = 0.99 * square + 0.01 * 4 * gradient * gradient;
    const double corrected = mean / (1 - std::pow(0.9, step));
    const double root = std::sqrt(square / (1 - std::pow(0.99, step)));
    parameter -= 0.01 * (corrected / (root + 1e-8) + 0.1 * parameter);
    EXPECT_NEAR(learner->parameters()[0], parameter, 1e-6) << step;
  }
}

TEST(AdamW, GoesOnFromItsState) {
  const Steps steps{.rate = 0.01F, .momentum = 0.9F, .adamw = AdamW{}};
  const auto one = make_learner("logistic", {2, 2, false}, 1);
  const auto other = make_learner("logistic", {2, 2, false}, 2);
  const auto step = [&](Learner& learner, float gradient) {
    std::ranges::fill(learner.gradients(), gradient);
    learner.step(0, steps, 1);
  };
  step(*one, 0.5F);
  std::vector<float> state;
  one->save(state);
  other->restore(state);
  step(*one, -0.25F);
  step(*other, -0.25F);
  EXPECT_TRUE(std::ranges::equal(one->parameters(), other->parameters()));
  EXPECT_THAT([&] { other->restore(std::span(state).first(3)); },
              ThrowsMessage<Error>(HasSubstr("expected a state of")));
}

TEST(AdamW, IsReadFromText) {
  EXPECT_FALSE(parse_optimizer("sgd").has_value());
  const auto read = parse_optimizer("adamw?squares=0.95&decay=0.5");
  EXPECT_EQ(read, (AdamW{.squares = 0.95F, .decay = 0.5F}));
  EXPECT_EQ(parse_optimizer(to_string(read)), read);
  const auto refuses = [](const char* text, const char* words) {
    EXPECT_THAT([&] { parse_optimizer(text); }, ThrowsMessage<Error>(HasSubstr(words)));
  };
  refuses("adam", "one of: sgd adamw");
  refuses("adamw?squares=1", "squares: expected a number from 0 on and below 1, got '1'");
  refuses("adamw?decay=-1", "decay: expected a number from 0 on, got '-1'");
  refuses("sgd?rate=1", "rate");
}

TEST(Learners, RefuseWhatDoesNotFit) {
  EXPECT_THAT(
      [] {
        make_learner("perceptron", {4, 2, false}, 1);
      },
      ThrowsMessage<Error>(HasSubstr("one of: logistic mlp lenet5 transformer")));
  EXPECT_THAT(
      [] {
        make_learner("transformer", {4, 2, false}, 1);
      },
      ThrowsMessage<Error>(HasSubstr("expected sequences")));
  EXPECT_THAT(
      [] {
        make_learner("lenet5", {10, 2, false}, 1);
      },
      ThrowsMessage<Error>(HasSubstr("expected square images")));
  EXPECT_THAT(
      [] {
        make_learner("transformer?heads=5", {4, 2, true}, 1);
      },
      ThrowsMessage<Error>(HasSubstr("expected a divisor of the width, 64")));
  const auto learner = make_learner("logistic", {4, 2, false}, 1);
  EXPECT_THAT(
      [&] {
        learner->show({{1, 2, 3}, {0}});
      },
      ThrowsMessage<Error>(HasSubstr("expected samples of 4 numbers")));
}

TEST(Samples, OfSortedShardsHaveFewLabels) {
  const auto data = make_clusters(4, 8, 1, Shards::Sorted);
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    const Batch batch = data->batch(0, rank, 8, 64);
    const auto [least, most] = std::ranges::minmax(batch.labels);
    EXPECT_LE(most - least, 2U);
    EXPECT_NEAR(least, rank, 1);
  }
  const Batch mixed = make_clusters(4, 8, 1, Shards::Mixed)->batch(0, 0, 8, 64);
  EXPECT_EQ(std::ranges::max(mixed.labels), 7U);
}

class SamplesOfFile : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(file_); }
  void write(const std::string& text) const { std::ofstream(file_) << text; }

  std::string file_ = ::testing::TempDir() + "samples.csv";
};

TEST_F(SamplesOfFile, AreScaled) {
  write("0,4,1\n8,2,0\n\n");
  const auto data = read_samples(file_, 1, Shards::Sorted);
  EXPECT_EQ(data->shape().inputs, 2U);
  EXPECT_EQ(data->shape().classes, 2U);
  const Batch batch = data->batch(0, 0, 2, 1);
  EXPECT_EQ(batch.labels, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(batch.inputs, (std::vector<float>{1, 0.25}));
}

TEST_F(SamplesOfFile, MayBeText) {
  write("abcabcabc");
  const auto data = read_text(file_, 3, 1, Shards::Mixed);
  EXPECT_EQ(data->shape().classes, 3U);
  const Batch batch = data->batch(0, 0, 2, 20);
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    EXPECT_EQ(batch.labels[i], (static_cast<std::uint32_t>(batch.inputs[i]) + 1) % 3);
  }
  // Of two ranks the second one's sequences begin behind the first one's.
  write("aaaaaabbbbbbb");
  const auto halves = read_text(file_, 1, 1, Shards::Sorted);
  EXPECT_EQ(std::ranges::max(halves->batch(0, 0, 2, 50).inputs), 0);
  EXPECT_EQ(std::ranges::min(halves->batch(0, 1, 2, 50).inputs), 1);
  EXPECT_THAT([&] { read_text(file_, 13, 1, Shards::Mixed); },
              ThrowsMessage<Error>(HasSubstr("a text of more than 13 characters, found 13")));
}

TEST_F(SamplesOfFile, AreRefusedByLine) {
  const auto refuses = [&](const std::string& text, const std::string& words) {
    write(text);
    EXPECT_THAT([&] { read_samples(file_, 1, Shards::Mixed); },
                ThrowsMessage<Error>(HasSubstr(words)));
  };
  refuses("1,2,0\n1,0\n", ":2: expected 3 numbers, the last one a label, found 2");
  refuses("1,2,0\n1,x,0\n", ":2: column 2: expected a number, found 'x'");
  refuses("1,2,0.5\n", ":1: expected a whole number from 0 as the label, found 0.5");
  refuses("1,nan,1\n", ":1: column 2: expected a number, found 'nan'");
  refuses("\n", ": expected samples, found none");
}

}  // namespace
}  // namespace multitree::training
