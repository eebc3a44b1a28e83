// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// An all-reduce whose messages may be lost.
#include "training/loss/counted_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "topologies/error.hpp"

namespace multitree::training {

CountedSums::CountedSums(const Schedule& schedule, std::size_t numbers, std::size_t packet,
                         std::vector<std::size_t> layers)
    : ranks_(schedule.ranks),
      ranges_(chunk_ranges(schedule, numbers)),
      layers_(std::move(layers)),
      typical_(layers_.size()),
      partial_(schedule.ranks, std::vector<float>(numbers)),
      counts_(schedule.ranks) {
  if (schedule.collective != Collective::AllReduce || packet == 0 || layers_.empty() ||
      layers_.front() != 0) {
    throw Error(ErrorCode::InvalidArgument,
                "counted sums: expected an all-reduce, messages of 1 number or more, and layers "
                "from 0 on");
  }
  check(schedule);
  std::size_t most = 1;
  for (const ElementRange& range : ranges_) {
    std::vector<Stretch>& pieces = stretches_.emplace_back();
    const std::size_t end = range.begin + range.count;
    for (std::size_t at = range.begin; at < end;) {
      const auto next = std::upper_bound(layers_.begin(), layers_.end(), at);
      const std::size_t limit = next == layers_.end() ? end : std::min(end, *next);
      const std::size_t count = std::min(packet, limit - at);
      pieces.push_back({at, count, static_cast<std::size_t>(next - layers_.begin()) - 1});
      at += count;
    }
    most = std::max(most, pieces.size());
  }
  for (const Chunk& chunk : schedule.chunks) roots_.push_back(index(chunk.root()));
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.op != Op::Reduce) continue;
    messages_.push_back({index(transfer.src), index(transfer.dst), transfer.chunk});
  }
  for (auto& counts : counts_) counts.resize(most);
  // By chunk, each in the schedule's order: chunks have nothing to do with each other.
  std::ranges::stable_sort(messages_, {}, &Message::chunk);
}

void CountedSums::check(const Schedule& schedule) const {
  std::vector<std::vector<bool>> sent(schedule.chunks.size(), std::vector<bool>(ranks_));
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.op != Op::Reduce) continue;
    std::vector<bool>& of = sent[transfer.chunk];
    if (of[index(transfer.src)] || transfer.src == schedule.chunks[transfer.chunk].root() ||
        of[index(transfer.dst)]) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("counted sums: expected each rank to send each chunk's partial sum "
                              "once, towards its root; with {} rank {} does otherwise",
                              schedule.algorithm, index(transfer.src)));
    }
    of[index(transfer.src)] = true;
  }
}

void CountedSums::typical_of(std::span<const std::vector<float>> own) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const std::size_t begin = layers_[l];
    const std::size_t end = l + 1 < layers_.size() ? layers_[l + 1] : own[0].size();
    double square = 0;
    for (const std::vector<float>& values : own) {
      for (std::size_t i = begin; i < end; ++i)
        square += static_cast<double>(values[i]) * values[i];
    }
    const auto numbers = static_cast<double>(std::max<std::size_t>(end - begin, 1) * own.size());
    typical_[l] = std::sqrt(square / numbers);
  }
}

LossReport CountedSums::sum(std::span<const std::vector<float>> own, std::span<float> result,
                            const Losses& losses, std::uint64_t iteration, Missing missing) {
  const LossRule& rule = find_loss_rule(losses.which);
  std::mt19937_64 random(losses.seed + 0x9E3779B97F4A7C15ULL * (iteration + 1));
  typical_of(own);
  for (std::uint32_t rank = 0; rank < ranks_; ++rank)
    std::ranges::copy(own[rank], partial_[rank].begin());
  LossReport report{.contributions = std::uint64_t{ranks_} * result.size(), .least_count = ranks_};
  auto message = messages_.begin();
  for (std::uint32_t chunk = 0; chunk < ranges_.size(); ++chunk) {
    for (auto& counts : counts_) std::ranges::fill(counts, 1);
    for (; message != messages_.end() && message->chunk == chunk; ++message) {
      for (std::size_t s = 0; s < stretches_[chunk].size(); ++s) {
        const Stretch& piece = stretches_[chunk][s];
        const float* from = partial_[message->src].data() + piece.begin;
        const std::uint32_t count = counts_[message->src][s];
        ++report.messages;
        // Drawn for all, so that rules differ in what is lost and not in the others' luck.
        const bool unlucky = static_cast<double>(random() >> 11U) * 0x1p-53 < losses.part;
        if (unlucky && rule.droppable({.sums = {from, piece.count},
                                       .count = count,
                                       .layer = piece.layer,
                                       .layers = layers_.size(),
                                       .typical = typical_[piece.layer]})) {
          ++report.lost_messages;
          continue;
        }
        float* to = partial_[message->dst].data() + piece.begin;
        for (std::size_t i = 0; i < piece.count; ++i) to[i] += from[i];
        counts_[message->dst][s] += count;
      }
    }
    const std::uint32_t root = roots_[chunk];
    for (std::size_t s = 0; s < stretches_[chunk].size(); ++s) {
      const Stretch& piece = stretches_[chunk][s];
      const std::uint32_t count = counts_[root][s];
      report.lost += std::uint64_t{ranks_ - count} * piece.count;
      report.least_count = std::min(report.least_count, count);
      const bool whole = count == ranks_ || missing == Missing::Zero;
      const float scale = whole ? 1 : static_cast<float>(ranks_) / static_cast<float>(count);
      for (std::size_t i = piece.begin; i < piece.begin + piece.count; ++i) {
        result[i] = whole ? partial_[root][i] : partial_[root][i] * scale;
      }
    }
  }
  return report;
}

double CountedSums::expected_part_lost(double part) const {
  double lost = 0, numbers = 0;
  for (std::uint32_t chunk = 0; chunk < ranges_.size(); ++chunk) {
    // Up its tree, from the last message to the first: a rank's way is its receiver's and one more.
    std::vector<double> comes(ranks_, 1.0);
    for (auto message = messages_.rbegin(); message != messages_.rend(); ++message) {
      if (message->chunk != chunk) continue;
      comes[message->src] = comes[message->dst] * (1 - part);
    }
    const auto weight = static_cast<double>(ranges_[chunk].count);
    for (const double probability : comes) lost += weight * (1 - probability);
    numbers += weight * ranks_;
  }
  return numbers == 0 ? 0 : lost / numbers;
}

}  // namespace multitree::training
