// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Parts of the search for all-reduces in few steps: distances, rotations, and growing trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "algorithms/schedule.hpp"

namespace multitree::mirrored {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// Hops between ranks. \pre no switches, connected, links in pairs.
struct Distances {
  explicit Distances(const Topology& topology);

  std::uint32_t ranks;
  std::vector<std::uint32_t> hops;          // [from * ranks + to]
  std::vector<std::uint32_t> eccentricity;  // by rank
  std::vector<std::uint32_t> central;       // ranks, the least eccentric first

  [[nodiscard]] std::uint32_t operator()(std::uint32_t from, std::uint32_t to) const {
    return hops[std::size_t{from} * ranks + to];
  }
  [[nodiscard]] std::uint32_t radius() const { return eccentricity[central[0]]; }
};

/// The powers of one automorphism, none of which but the identity leaves a rank in place. A tree
/// and its images never meet on a link if they do not on the link's images.
struct Rotation {
  std::vector<std::vector<std::uint32_t>> ranks;  // [power][rank]
  std::vector<std::vector<std::uint32_t>> links;  // [power][link]
  [[nodiscard]] std::uint32_t order() const { return static_cast<std::uint32_t>(ranks.size()); }
};

/// The identity alone.
Rotation no_rotation(const Topology& topology);

/// A rotation of the greatest order that divides `number`, among those that a bounded search finds;
/// the identity if there is no other.
Rotation find_rotation(const Topology& topology, const Distances& distances, std::uint32_t number);

/// Broadcasts 2p and 2p + 1 are a pair: they start at start[p] and at the number of steps minus
/// start[p]. Each stands for its images by the rotation.
struct Plan {
  std::uint32_t steps = 0;
  std::vector<std::uint32_t> root, start;  // by pair
  bool reserve = true;  // links into ranks that have few of them are kept for broadcasts
};

/// Draws plans in which ranks with the fewest links can receive everything in time.
class Planner {
 public:
  /// `pairs` of broadcasts, besides their images.
  Planner(const Topology& topology, const Distances& distances, const Rotation& rotation,
          std::uint32_t pairs);

  /// The least number of steps for the way there and back and for the work over links.
  [[nodiscard]] std::uint32_t least_steps() const { return least_steps_; }
  /// Nothing if the search finds no plan that leaves those ranks enough time.
  std::optional<Plan> draw(std::uint32_t steps);

 private:
  std::uint32_t draw_root(std::uint32_t start);
  void change(Plan& plan);
  [[nodiscard]] std::uint32_t excess(const Plan& plan);

  const Distances& distances_;
  const Rotation& rotation_;
  std::uint32_t pairs_, least_steps_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> narrow_;  // ranks, receptions a step
  std::vector<std::uint32_t> count_;                             // by step
  std::mt19937_64 random_{7};
};

/// How a rank receives a broadcast: over a link, in a step.
struct Reception {
  std::uint32_t link = kNone, step = 0;
  std::size_t unit = 0;  // which slot of the link in that step
  [[nodiscard]] bool is_missing() const { return link == kNone; }
};

/// Broadcasts that share a network with their mirror images, complete or not.
class Trees {
 public:
  Trees(const Topology& topology, const Distances& distances, const Rotation& rotation, Plan plan,
        std::uint64_t seed);

  /// Receptions that have no slot.
  [[nodiscard]] std::uint32_t missing() const { return state_.missing; }
  /// Choices weighed so far.
  [[nodiscard]] std::uint64_t effort() const { return effort_; }
  [[nodiscard]] const Plan& plan() const { return state_.plan; }
  [[nodiscard]] const Reception& reception(std::uint32_t tree, std::uint32_t rank) const {
    return state_.receptions[tree * ranks_ + rank];
  }

  /// Grows all trees from nothing.
  void grow();
  /// Grows a few trees again, and keeps that if no more is missing and little is later.
  void vary();

 private:
  struct Arc {
    std::uint32_t src = 0, dst = 0, mate = 0, orbit = 0, slots = 0;
  };
  struct State {
    Plan plan;
    std::vector<Reception> receptions;  // [tree * ranks + rank]
    std::vector<std::uint32_t> owner;   // by unit: reception
    std::vector<std::uint32_t> lacks;   // by tree: receptions missing
    std::uint32_t missing = 0;
  };
  struct Candidate {
    std::uint64_t key = 0;
    std::uint32_t image = 0, slot = 0;
  };
  /// A reception wanted before a step and not in a certain unit.
  struct Wish {
    std::uint32_t reception = 0, before = 0;
    std::size_t avoid = 0;
    int depth = 0;
  };

  void number_orbits(const Topology& topology);
  [[nodiscard]] std::uint32_t start(std::uint32_t tree) const;
  [[nodiscard]] std::pair<std::size_t, std::size_t> units(std::uint32_t link,
                                                          std::uint32_t step) const;
  [[nodiscard]] std::uint32_t arrival(std::uint32_t tree, std::uint32_t rank) const;
  [[nodiscard]] std::uint32_t departure(std::uint32_t tree, std::uint32_t rank) const;
  /// Whether the mirror image would take a slot that a rank needs to receive everything.
  [[nodiscard]] bool is_reserved(std::uint32_t link, std::uint32_t step) const {
    return state_.plan.steps - step >= busy_from_[arcs_[link].src];
  }
  void assign(std::uint32_t reception, std::uint32_t link, std::uint32_t step, std::size_t unit);
  void clear(std::uint32_t reception);

  // Growth, step by step.
  void regrow(std::vector<std::uint32_t> trees);
  void give(std::uint32_t rank, std::uint32_t image);
  void receive(std::uint32_t rank, std::uint32_t step);
  void find_candidates(std::uint32_t rank, std::uint32_t step);
  bool match(std::uint32_t image);
  [[nodiscard]] std::uint64_t key(std::uint32_t image, std::uint32_t rank, std::uint32_t step,
                                  std::uint32_t link) const;

  // Repair.
  void repair();
  bool place(const Wish& wish);
  bool take(const Wish& wish, std::uint32_t link, std::uint32_t step, std::size_t unit);
  bool take_free(const Wish& wish, std::uint32_t link);
  bool push_aside(const Wish& wish, std::uint32_t link);
  bool pull_forward(const Wish& wish, std::uint32_t link);
  [[nodiscard]] bool is_below(std::uint32_t tree, std::uint32_t rank, std::uint32_t above) const;
  std::vector<std::uint32_t> draw_trees();
  void set_needs();
  [[nodiscard]] std::uint64_t lateness() const;

  const Distances& distances_;
  const Rotation& rotation_;
  std::uint32_t ranks_, trees_;
  std::vector<Arc> arcs_;
  std::vector<std::vector<std::uint32_t>> in_;  // by rank: links
  std::vector<std::uint32_t> heads_;            // one rank of each orbit
  std::vector<std::size_t> first_slot_;         // by orbit of links
  std::size_t num_slots_ = 0;                   // of all orbits in one step
  std::vector<std::uint32_t> in_slots_;         // by rank: receptions a step
  std::vector<std::uint32_t> needs_;            // [tree * ranks + rank]: steps until it is late
  std::vector<std::uint32_t> busy_from_;        // by rank: step from which its links in are needed
  State state_;
  std::mt19937_64 random_;
  std::uint64_t effort_ = 0;

  std::vector<std::uint32_t> growing_;  // trees
  std::uint64_t ties_ = 0;
  std::size_t words_ = 0;
  std::vector<std::uint64_t> has_;                            // bits by rank and image
  std::vector<std::uint32_t> holders_;                        // by growing tree
  std::vector<std::pair<std::uint32_t, std::size_t>> slots_;  // links, units
  std::vector<Candidate> candidates_;
  std::vector<std::uint32_t> taken_;  // by slot: image
  std::vector<bool> seen_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> given_;  // ranks, images
  std::vector<std::uint32_t> visited_;                          // by reception: last pass
  std::uint32_t pass_ = 0;
};

}  // namespace multitree::mirrored
