// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Makes what one rank does, and prices it.
#include "algorithms/tuning/alike_candidate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "algorithms/cost_links_internal.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/symmetric/alike_times.hpp"
#include "topologies/error.hpp"
#include "topologies/spec.hpp"

namespace multitree {
namespace {

std::int64_t phases_of(Collective collective) {
  return collective == Collective::AllReduce ? 2 : 1;
}

}  // namespace

bool is_of_one_rank(std::string_view spec) {
  const std::string_view name = find_algorithm(Spec::parse(spec).name()).name;
  return name == "symmetric" || name == "ring";
}

AlikeCandidate::AlikeCandidate(const AlikeRanks& ranks, Collective collective, std::string spec,
                               Time message_overhead)
    : ranks_(ranks), collective_(collective), spec_(std::move(spec)), overhead_(message_overhead) {
  Spec options = Spec::parse(spec_);
  const std::string_view name = find_algorithm(options.name()).name;
  options.call(name, {});
  spec_ = options.text();
  if (!is_of_one_rank(spec_) || has_root(collective) || collective == Collective::AllToAll) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: expected symmetric or ring, and allreduce, reduce-scatter or "
                            "allgather, where one rank stands for all, got {}",
                            name, to_string(collective)));
  }
  const std::uint64_t size = ranks.graph.size(), others = size - 1;
  if (name == "ring") {
    kind_ = Kind::OfRing;
    check_ring();
  } else if (collective == Collective::AllReduce && options.has("within")) {
    if (options.has("chunks")) options.fail("within: expected it without chunks=");
    kind_ = Kind::OfBoxes;
    boxes_ = boxes_of(ranks, options.get_number("within", 1, 1, ranks.graph.size()));
  } else {
    chunks_ = chunks_option(options, ranks.graph);
  }
  options.check_all_used();
  messages_ = phases_of(collective) * static_cast<std::int64_t>(others * chunks_);
  transfers_ = static_cast<std::uint64_t>(messages_) * size;
  if (kind_ == Kind::OfBoxes) {
    messages_ = 2 * (static_cast<std::int64_t>(box_size(boxes_)) - 1);
    transfers_ = 0;  // known when it is made
  }
}

void AlikeCandidate::check_ring() const {
  std::string reason;
  const bool linked = ranks_.levels.empty() && !box_ladder(ranks_, reason).empty();
  const auto& orbits = ranks_.links.orbits;
  const bool equal = linked && std::ranges::all_of(orbits, [&](const LinkOrbits::Orbit& orbit) {
                       return orbit.latency == orbits.front().latency &&
                              orbit.bandwidth == orbits.front().bandwidth;
                     });
  if (equal) return;
  throw Error(ErrorCode::Unsupported,
              "ring: expected ranks of a torus, hypercube or full network with equal links, where "
              "one stands for all");
}

void AlikeCandidate::make() {
  if (kind_ == Kind::OfBoxes && !boxed_) {
    boxed_.emplace(ranks_, boxes_);
    transfers_ = boxed_->num_messages();
  }
  if (kind_ == Kind::OfTrees && !trees_) trees_.emplace(ranks_, chunks_, collective_);
  const SymmetricSchedule* made = kind_ == Kind::OfTrees ? &*trees_ : nullptr;
  if (boxed_ && boxed_->trees()) made = &*boxed_->trees();
  if (made == nullptr || !known_.empty()) return;
  if (const auto fault = find_fault(made->ranks(), made->tree())) {
    throw std::logic_error("symmetric: " + *fault);
  }
}

Time AlikeCandidate::predict(std::uint64_t bytes, Time overhead) {
  make();
  if (boxed_) return predict_time(*boxed_, bytes, overhead);
  if (trees_) return predict_time(*trees_, bytes, overhead);
  const std::uint32_t size = ranks_.graph.size();
  if (size < 2) return {};
  // Each rank has a message a round, for the next.
  const LinkOrbits::Orbit& link = ranks_.links.orbits.front();
  const Picoseconds round =
      static_cast<Picoseconds>(overhead.picoseconds + link.latency.picoseconds) +
      serialisation(static_cast<double>(bytes) / size, link.bandwidth);
  return to_time(round * static_cast<Picoseconds>(phases_of(collective_) * (size - 1)), bytes);
}

Time AlikeCandidate::time(std::uint64_t bytes) {
  const auto found = known_.find(bytes);
  if (found != known_.end()) return found->second;
  const Time time = predict(bytes, overhead_);
  known_.emplace(bytes, time);
  return time;
}

Time AlikeCandidate::time_of_links(std::uint64_t bytes) { return predict(bytes, Time{}); }

std::uint64_t AlikeCandidate::steps() {
  make();
  if (boxed_) return boxed_->num_steps();
  if (trees_) return trees_->num_steps();
  return static_cast<std::uint64_t>(phases_of(collective_)) * (ranks_.graph.size() - 1);
}

Rational AlikeCandidate::load() {
  make();
  if (boxed_) return boxed_->load();
  if (trees_) return trees_->load();
  return Rational(phases_of(collective_) * (std::int64_t{ranks_.graph.size()} - 1));
}

const SymmetricSchedule* AlikeCandidate::trees() {
  make();
  return trees_ ? &*trees_ : nullptr;
}

const BoxedSchedule* AlikeCandidate::boxed() {
  make();
  return boxed_ ? &*boxed_ : nullptr;
}

}  // namespace multitree
