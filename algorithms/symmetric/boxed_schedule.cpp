// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Trees of a box moved to every rank, and rounds between boxes.
#include "algorithms/symmetric/boxed_schedule.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace multitree {

using Reach = BoxDimension::Reach;

BoxedSchedule::BoxedSchedule(AlikeRanks ranks, Boxes boxes)
    : ranks_(std::move(ranks)), boxes_(std::move(boxes)), box_(ranks_of_box(ranks_, boxes_)) {
  if (chunks() > 1) {
    trees_.emplace(box_.ranks, 1, Collective::AllGather);
    place_.assign(chunks(), 0);
    for (std::uint32_t step = 0; step < tree_steps(); ++step) {
      for (const SymmetricSchedule::Arc& arc : trees_->arcs_of_step(step)) {
        place_[arc.element] =
            ranks_.graph.apply(place_[arc.parent], box_.generators[arc.generator]);
      }
    }
  }
  add_rounds();
}

void BoxedSchedule::add_rounds() {
  std::uint32_t step = tree_steps();
  const auto add = [&](Round round) {
    round.first_step = step;
    step += round.steps;
    rounds_.push_back(round);
  };
  for (std::uint32_t i = 0; i < boxes_.size(); ++i) {
    const BoxDimension& d = boxes_[i];
    if (d.reach == Reach::Line) {
      for (std::uint32_t distance = d.box; distance < d.size; distance *= 2) {
        add({.dimension = i, .steps = distance, .distance = distance});
      }
      continue;
    }
    const std::uint32_t core = std::bit_floor(d.boxes());
    if (core < d.boxes()) add({.dimension = i, .distance = core, .folding = true});
    for (std::uint32_t bit = 1; bit < core; bit *= 2) add({.dimension = i, .distance = bit});
    if (core < d.boxes()) {
      add({.dimension = i, .op = Op::Copy, .distance = core, .folding = true});
    }
  }
  exchange_steps_ = step - tree_steps();
}

std::uint32_t BoxedSchedule::num_steps() const { return 2 * tree_steps() + exchange_steps_; }

std::uint64_t BoxedSchedule::num_messages() const {
  const std::uint64_t ranks = ranks_.graph.size();
  std::uint64_t messages = 2 * ranks * (chunks() - 1);
  for (const Round& round : rounds_) {
    const BoxDimension& d = boxes_[round.dimension];
    std::uint64_t senders = d.boxes();
    if (d.reach == Reach::All) {
      const std::uint32_t core = std::bit_floor(d.boxes());
      senders = round.folding ? d.boxes() - core : core;
    }
    messages += ranks / d.boxes() * senders;
  }
  return messages;
}

std::uint32_t BoxedSchedule::depth() const {
  return (trees_ ? 2 * trees_->tree().depth : 0) + static_cast<std::uint32_t>(rounds_.size());
}

void BoxedSchedule::add_load(const BoxDimension& d, std::vector<std::int64_t>& uses) const {
  const std::uint32_t core = std::bit_floor(d.boxes());
  const auto way = ranks_.links.way(d.generators.front());
  if (d.reach == Reach::Line || way.size() > 1) {
    // Distances of 1, 2, 4, ... boxes; or a message a round, of which one is an end's.
    const std::int64_t folding = core < d.boxes() ? 1 : 0;
    const std::int64_t times =
        d.reach == Reach::Line ? d.size - d.box : std::countr_zero(core) + folding;
    for (const std::uint32_t orbit : way) uses[orbit] += times;
    return;
  }
  // Straight to each other: no link serves two rounds.
  std::vector<bool> used(d.size, false);
  for (std::uint32_t own = 0; own < d.boxes(); ++own) {
    if (own >= core) used[(d.size - core * d.box) % d.size] = true;
    if (own + core < d.boxes()) used[core * d.box] = true;
    for (std::uint32_t bit = 1; own < core && bit < core; bit *= 2) {
      used[((own ^ bit) + d.boxes() - own) % d.boxes() * d.box] = true;
    }
  }
  for (std::uint32_t offset = 1; offset < d.size; ++offset) {
    const std::uint32_t s = d.size == 2 ? d.generators.front() : d.generators[offset - 1];
    if (used[offset]) ++uses[ranks_.links.way(s).front()];
  }
}

Rational BoxedSchedule::load() const {
  const LinkOrbits& links = ranks_.links;
  std::vector<std::int64_t> uses(links.orbits.size(), 0);
  for (std::uint32_t step = 0; step < tree_steps(); ++step) {
    for (const SymmetricSchedule::Arc& arc : trees_->arcs_of_step(step)) {
      const std::uint32_t s = box_.generators[arc.generator];
      for (const std::uint32_t orbit : links.way(s)) ++uses[orbit];
      for (const std::uint32_t orbit : links.way(ranks_.graph.inverse(s))) ++uses[orbit];
    }
  }
  for (const BoxDimension& d : boxes_) add_load(d, uses);
  const auto unit = static_cast<std::int64_t>(links.unit_bandwidth().bytes_per_second);
  Rational most(0);
  for (std::size_t o = 0; o < uses.size(); ++o) {
    const auto own = static_cast<std::int64_t>(links.orbits[o].bandwidth.bytes_per_second);
    most = std::max(most, Rational(unit, own) * uses[o]);
  }
  return most * static_cast<std::int64_t>(ranks_.graph.size() / chunks());
}

std::uint32_t BoxedSchedule::chunk_of(std::uint32_t rank) const {
  std::uint32_t chunk = 0, stride = 1;
  for (const BoxDimension& d : boxes_) {
    chunk += d.coordinate(rank) % d.box * stride;
    stride *= d.box;
  }
  return chunk;
}

std::uint32_t BoxedSchedule::moved(std::uint32_t rank, const BoxDimension& d,
                                   std::uint32_t by) const {
  const std::uint32_t at = d.coordinate(rank);
  const auto to = static_cast<std::uint32_t>((std::uint64_t{at} + by) % d.size);
  return rank + (to - at) * d.stride;  // modular: may be below
}

std::optional<BoxedSchedule::Message> BoxedSchedule::of_round(const Round& round,
                                                              std::uint32_t rank,
                                                              std::uint32_t step, bool sent) const {
  const BoxDimension& d = boxes_[round.dimension];
  const std::uint32_t at = d.coordinate(rank);
  Message message{.step = step, .op = round.op, .chunk = chunk_of(rank)};
  if (d.reach == Reach::Line) {
    if (at % round.distance != step - round.first_step) return std::nullopt;
    const std::uint32_t other = moved(rank, d, sent ? round.distance : d.size - round.distance);
    message.src = Rank{sent ? rank : other};
    message.dst = Rank{sent ? other : rank};
    message.generator = d.generators.front();
    message.hops = round.distance;
    return message;
  }
  const std::uint32_t own = at / d.box, core = std::bit_floor(d.boxes());
  std::uint32_t other = own ^ round.distance;
  if (round.folding) {
    const bool from_core = round.op == Op::Copy, sends_from_core = from_core == sent;
    if ((own < core) != sends_from_core) return std::nullopt;
    other = own < core ? own + core : own - core;
    if (other >= d.boxes()) return std::nullopt;
  } else if (own >= core) {
    return std::nullopt;
  }
  const std::uint32_t peer = moved(rank, d, (other + d.boxes() - own) % d.boxes() * d.box);
  message.src = Rank{sent ? rank : peer};
  message.dst = Rank{sent ? peer : rank};
  const std::uint32_t offset =
      (sent ? other + d.boxes() - own : own + d.boxes() - other) % d.boxes() * d.box;
  message.generator = d.size == 2 ? d.generators.front() : d.generators[offset - 1];
  return message;
}

void BoxedSchedule::add_tree_messages(std::uint32_t rank, std::uint32_t step, bool sent,
                                      std::vector<Message>& messages) const {
  const bool reduces = step < tree_steps();
  const std::uint32_t gather_step =
      reduces ? tree_steps() - 1 - step : step - tree_steps() - exchange_steps_;
  const FiniteGroup& group = ranks_.graph.group();
  for (const SymmetricSchedule::Arc& arc : trees_->arcs_of_step(gather_step)) {
    const std::uint32_t generator = box_.generators[arc.generator];
    const std::uint32_t near = place_[arc.parent];
    const std::uint32_t far = ranks_.graph.apply(near, generator);
    // Whose translate of the arc begins, or ends, here.
    const std::uint32_t end = reduces == sent ? far : near;
    const std::uint32_t owner = group.multiply(rank, group.inverse(end));
    const std::uint32_t inner = group.multiply(owner, near), outer = group.multiply(owner, far);
    messages.push_back({.step = step,
                        .op = reduces ? Op::Reduce : Op::Copy,
                        .chunk = chunk_of(owner),
                        .src = Rank{reduces ? outer : inner},
                        .dst = Rank{reduces ? inner : outer},
                        .generator = reduces ? ranks_.graph.inverse(generator) : generator});
  }
}

std::vector<BoxedSchedule::Message> BoxedSchedule::of_rank(std::uint32_t rank, std::uint32_t step,
                                                           bool sent) const {
  std::vector<Message> messages;
  if (step < tree_steps() || step >= tree_steps() + exchange_steps_) {
    add_tree_messages(rank, step, sent, messages);
    return messages;
  }
  const auto next = std::ranges::upper_bound(rounds_, step, {}, &Round::first_step);
  if (const auto message = of_round(*std::prev(next), rank, step, sent)) {
    messages.push_back(*message);
  }
  return messages;
}

std::vector<BoxedSchedule::Message> BoxedSchedule::sends_of_rank(std::uint32_t rank,
                                                                 std::uint32_t step) const {
  return of_rank(rank, step, true);
}

std::vector<BoxedSchedule::Message> BoxedSchedule::messages_of_rank(std::uint32_t rank,
                                                                    std::uint32_t step) const {
  std::vector<Message> messages = of_rank(rank, step, true);
  const std::vector<Message> received = of_rank(rank, step, false);
  messages.insert(messages.end(), received.begin(), received.end());
  std::ranges::sort(messages, {},
                    [](const Message& m) { return std::tuple(m.op, m.chunk, m.dst, m.src); });
  return messages;
}

}  // namespace multitree
