// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The bound of iterations against a linear program of time slots and cuts, and against all orders
/// in which bytes can be sent. Both know nothing of how the bound is found.
#include <gtest/gtest.h>

#include <ClpSimplex.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "topologies/topology.hpp"
#include "training/bound.hpp"

namespace multitree::training {
namespace {

std::uint32_t pick(std::mt19937_64& random, std::uint32_t least, std::uint32_t most) {
  return least + static_cast<std::uint32_t>(random() % (most - least + 1));
}

/// Links both ways between ranks, connected, some of them twice.
Topology random_network(std::mt19937_64& random) {
  const std::uint32_t ranks = pick(random, 2, 5);
  TopologyBuilder builder("random");
  for (std::uint32_t n = 0; n < ranks; ++n) builder.add_endpoint();
  const auto add = [&](std::uint32_t a, std::uint32_t b) {
    if (a == b) return;
    builder.add_duplex(NodeId{a}, NodeId{b}, Bandwidth{pick(random, 1, 4) * 1'000'000'000ULL},
                       Time{1});
  };
  for (std::uint32_t n = 1; n < ranks; ++n) add(n, pick(random, 0, n - 1));
  for (std::uint32_t i = pick(random, 0, 6); i > 0; --i) {
    add(pick(random, 0, ranks - 1), pick(random, 0, ranks - 1));
  }
  return std::move(builder).build();
}

Model random_model(std::mt19937_64& random, std::uint32_t most_layers) {
  Model model{.name = "random", .layers = {}};
  for (std::uint32_t l = pick(random, 1, most_layers); l > 0; --l) {
    Layer layer{.name = "layer",
                .forward = pick(random, 0, 9) * 1e-3,
                .backward = pick(random, 0, 9) * 1e-3,
                .tensors = {}};
    if (pick(random, 0, 4) != 0) layer.tensors.push_back(pick(random, 1, 40) * 250'000ULL);
    model.layers.push_back(std::move(layer));
  }
  return model;
}

/// Of every partition of the ranks: seconds that a byte of all-reduce keeps the links between its
/// parts. Each byte of a sum crosses as many of them as a tree of the parts has, both ways at once.
std::vector<double> seconds_by_partition(const Topology& topology) {
  const std::uint32_t ranks = topology.num_ranks();
  std::vector<double> all;
  std::vector<std::uint32_t> part(ranks, 0);
  const std::function<void(std::uint32_t, std::uint32_t)> go = [&](std::uint32_t rank,
                                                                   std::uint32_t parts) {
    if (rank < ranks) {
      for (part[rank] = 0; part[rank] <= parts; ++part[rank]) {
        go(rank + 1, std::max(parts, part[rank] + 1));
      }
      return;
    }
    if (parts < 2) return;
    double between = 0;  // of both directions
    for (const Link& link : topology.links()) {
      if (part[index(link.src)] != part[index(link.dst)]) {
        between += static_cast<double>(link.bandwidth.bytes_per_second);
      }
    }
    all.push_back((parts - 1) / (between / 2));
  };
  go(0, 0);
  return all;
}

/// The least time of an iteration as a linear program. Time falls into slots at the moments when
/// gradients get ready and when they are needed; the one between is as long as need be. In each
/// slot and at each partition, what is sent has to fit.
double by_linear_program(const Model& model, const std::vector<double>& partitions) {
  const auto layers = static_cast<int>(model.layers.size());
  const int slots = 2 * layers - 1;  // backward passes but the last layer's, the one, forward ones
  const auto column = [&](int layer, int slot) { return 1 + layer * slots + slot; };
  ClpSimplex lp;
  lp.setLogLevel(0);
  lp.resize(0, 1 + layers * slots);  // how long the middle slot is, and parts of layers
  for (int c = 0; c < lp.numberColumns(); ++c) {
    lp.setColumnBounds(c, 0, COIN_DBL_MAX);
    lp.setObjectiveCoefficient(c, c == 0 ? 1 : 0);
  }
  const auto add = [&](const std::vector<int>& columns, const std::vector<double>& values,
                       double least, double most) {
    lp.addRow(static_cast<int>(columns.size()), columns.data(), values.data(), least, most);
  };
  for (int k = 0; k < layers; ++k) {
    std::vector<int> columns;
    // Ready when layers - 1 - k slots of backward passes are over, needed after k of forward ones.
    for (int s = layers - 1 - k; s <= layers - 1 + k; ++s) columns.push_back(column(k, s));
    const double part = model.layers[static_cast<std::size_t>(k)].bytes() == 0 ? 0 : 1;
    add(columns, std::vector<double>(columns.size(), 1), part, part);
  }
  for (int s = 0; s < slots; ++s) {
    for (const double seconds : partitions) {
      std::vector<int> columns;
      std::vector<double> values;
      for (int k = 0; k < layers; ++k) {
        if (s < layers - 1 - k || s > layers - 1 + k) continue;
        columns.push_back(column(k, s));
        values.push_back(seconds *
                         static_cast<double>(model.layers[static_cast<std::size_t>(k)].bytes()));
      }
      double length = 0;
      if (s < layers - 1) {
        length = model.layers[static_cast<std::size_t>(layers - 2 - s)].backward;
      } else if (s == layers - 1) {
        columns.push_back(0);
        values.push_back(-1);
      } else {
        length = model.layers[static_cast<std::size_t>(s - layers)].forward;
      }
      add(columns, values, -COIN_DBL_MAX, length);
    }
  }
  lp.primal();
  EXPECT_TRUE(lp.isProvenOptimal());
  return lp.objectiveValue() + model.forward() + model.backward();
}

TEST(BoundByLinearProgram, IsTheSameOn500RandomNetworksAndModels) {
  std::uint32_t communication = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    const Topology topology = random_network(random);
    const Model model = random_model(random, 6);
    const double bound = certify_iteration(model, topology).bound.seconds;
    const double least = by_linear_program(model, seconds_by_partition(topology));
    EXPECT_NEAR(bound, least, 1e-9) << "seed " << seed;
    if (bound > 1.001 * (model.forward() + model.backward())) ++communication;
  }
  EXPECT_GT(communication, 100U);  // or else computing was all that was compared
}

/// The least time of an iteration when a byte takes a unit of time and layers whole ones: by all
/// choices of which layer's byte goes next, or none.
std::uint32_t by_all_orders(const std::vector<std::uint32_t>& forward,
                            const std::vector<std::uint32_t>& backward,
                            const std::vector<std::uint32_t>& bytes) {
  const std::size_t layers = bytes.size();
  std::vector<std::uint32_t> ready(layers);
  std::uint32_t now = 0;
  for (std::size_t l = layers; l-- > 0;) ready[l] = now += backward[l];
  const std::uint32_t most = std::accumulate(bytes.begin(), bytes.end(), now);
  // Forward passes may be late for the last byte of any layer.
  std::uint32_t least = ~0U;
  std::set<std::pair<std::uint32_t, std::vector<std::uint32_t>>> seen;
  const std::function<void(std::uint32_t, std::vector<std::uint32_t>, std::vector<std::uint32_t>)>
      send = [&](std::uint32_t time, std::vector<std::uint32_t> left,
                 std::vector<std::uint32_t> done) {
        std::vector<std::uint32_t> state = left;
        state.insert(state.end(), done.begin(), done.end());
        if (!seen.insert({time, state}).second) return;
        if (std::ranges::all_of(left, [](std::uint32_t one) { return one == 0; })) {
          std::uint32_t end = ready[0];
          for (std::size_t l = 0; l < layers; ++l) end = std::max(end, done[l]) + forward[l];
          least = std::min(least, end);
          return;
        }
        if (time >= most) return;  // who waits for longer has nothing to gain
        for (std::size_t l = 0; l < layers; ++l) {
          if (left[l] == 0 || ready[l] > time) continue;
          --left[l];
          const std::uint32_t before = done[l];
          if (left[l] == 0) done[l] = time + 1;
          send(time + 1, left, done);
          done[l] = before;
          ++left[l];
        }
        send(time + 1, left, done);
      };
  send(0, bytes, std::vector<std::uint32_t>(layers, 0));
  return least;
}

TEST(BoundByAllOrders, IsReachedOnTheSmallest) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint32_t> forward, backward, bytes;
    Model model{.name = "small", .layers = {}};
    for (std::uint32_t l = pick(random, 1, 3); l > 0; --l) {
      forward.push_back(pick(random, 0, 3));
      backward.push_back(pick(random, 0, 3));
      bytes.push_back(pick(random, 0, 3));
      Layer layer{.name = "layer",
                  .forward = static_cast<double>(forward.back()),
                  .backward = static_cast<double>(backward.back()),
                  .tensors = {}};
      if (bytes.back() != 0) layer.tensors.push_back(bytes.back());
      model.layers.push_back(std::move(layer));
    }
    EXPECT_DOUBLE_EQ(iteration_bound(model, 1).seconds, by_all_orders(forward, backward, bytes))
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace multitree::training
