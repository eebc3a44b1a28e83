// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Recursive halving and doubling for any number of ranks. R. Rabenseifner: "Optimization of
/// collective reduction operations", ICCS 2004 (DOI 10.1007/978-3-540-24685-5_1); Thakur,
/// Rabenseifner, Gropp, IJHPCA 2005. Of n ranks, the first 2^k <= n are the core; each rank beyond
/// is folded onto one of them, which does its work.
///
/// With scatter=S only S rounds halve, with the nearest ranks first; in the others ranks exchange
/// the sums of what they have, as in recursive doubling, and S rounds gather: 2^S chunks, which
/// take 2 (2^S - 1) + k - S messages a rank instead of 2 (2^k - 1). Between boxes of 2^S ranks with
/// fast links inside, only shards pass. With radix=R such a round divides by R, with messages to R
/// - 1 ranks, one after the other: more links carry them, and latencies are fewer. With parts=K the
/// buffer is K of them, one behind the other: while one is exchanged between boxes, the next is
/// scattered inside them and the one before is gathered. While the first is scattered, and while
/// the last is gathered, nothing is exchanged, so these two are half as large. Where the number of
/// ranks has a small odd factor nobody is folded: the first round divides by that factor.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/generators/recursive_doubling_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// Of a part between others, and of the first and the last.
constexpr std::uint64_t kInner = 2, kOuter = 1;

/// More rounds than any job has.
constexpr std::uint32_t kAll = 32;

std::uint32_t scatter_option(const Spec& options) {
  return options.get_number("scatter", kAll, 1, kAll);
}

std::uint32_t radix_option(const Spec& options) {
  const std::uint32_t radix = options.get_number("radix", 2, 2, 16);
  if (!std::has_single_bit(radix)) options.fail("radix: expected 2, 4, 8 or 16");
  if (radix > 2 && !options.has("scatter")) options.fail("radix: expected scatter= beside it");
  return radix;
}

std::uint32_t parts_option(const Spec& options) {
  const std::uint32_t parts = options.get_number("parts", 1, 1, 64);
  if (parts > 1 && !options.has("scatter")) options.fail("parts: expected scatter= beside it");
  return parts;
}

/// Options of an all-reduce alone.
void check_only(const Spec& options) {
  static_cast<void>(scatter_option(options));
  static_cast<void>(radix_option(options));
  static_cast<void>(parts_option(options));
}

Schedule halving_all_gather(const Topology& topology, const Spec& options) {
  check_only(options);
  const FoldedLabels labels(topology.num_ranks(), Rank{0});
  const auto chunks_of = [&](std::uint32_t label) {
    std::vector<std::uint32_t> chunks = {index(labels.core[label])};
    if (label < labels.folded.size()) chunks.push_back(index(labels.folded[label]));
    return chunks;
  };
  std::vector<Message> messages;
  for (std::size_t i = 0; i < labels.folded.size(); ++i) {
    const Rank rank = labels.folded[i];
    messages.push_back({Op::Copy, index(rank), rank, labels.core[i]});
  }
  add_doubling(labels.core, chunks_of, messages);
  for (std::size_t i = 0; i < labels.folded.size(); ++i) {
    for (std::uint32_t chunk = 0; chunk < topology.num_ranks(); ++chunk) {
      if (chunk == index(labels.folded[i])) continue;
      messages.push_back({Op::Copy, chunk, labels.core[i], labels.folded[i]});
    }
  }
  Schedule header = all_gather_header(topology);
  header.coalesces = rounds_option(options, topology);
  return pack(std::move(header), messages, topology);
}

void add_folding(const FoldedLabels& labels, std::uint32_t chunks, std::vector<Message>& messages) {
  for (std::size_t i = 0; i < labels.folded.size(); ++i) {
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      messages.push_back({Op::Reduce, chunk, labels.folded[i], labels.core[i]});
    }
  }
}

void add_unfolding(const FoldedLabels& labels, std::uint32_t chunks,
                   std::vector<Message>& messages) {
  for (std::size_t i = 0; i < labels.folded.size(); ++i) {
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      messages.push_back({Op::Copy, chunk, labels.core[i], labels.folded[i]});
    }
  }
}

Schedule halving_broadcast(const Topology& topology, Rank root, const Spec& options) {
  check_only(options);
  const FoldedLabels labels(topology.num_ranks(), root);
  std::vector<Message> messages;
  add_scatter_doubling(labels.core, messages);
  const auto chunks = static_cast<std::uint32_t>(labels.core.size());
  add_unfolding(labels, chunks, messages);
  return pack(broadcast_header(topology, root, chunks), messages, topology);
}

/// With as many chunks as the core has ranks, which is fewer than reduce-scatter and all-gather
/// need.
Schedule wholly_halved(const Topology& topology, std::uint64_t coalesces) {
  const FoldedLabels labels(topology.num_ranks(), Rank{0});
  const auto chunks = static_cast<std::uint32_t>(labels.core.size());
  std::vector<Message> messages;
  add_folding(labels, chunks, messages);
  add_halving(labels.core, messages);
  add_doubling(
      labels.core, [](std::uint32_t label) { return std::vector{label}; }, messages);
  add_unfolding(labels, chunks, messages);
  Schedule header = all_reduce_header(topology, chunks);
  header.coalesces = coalesces;
  return pack(std::move(header), messages, topology);
}

/// The largest odd factor that is worth a message to each other rank.
constexpr std::uint32_t kMostOdd = 9;

/// Labels as numbers with these digits, the first for the nearest ranks; those of the rounds that
/// halve are the first `rounds`. The first may be odd; the others that halve are `radix` where it
/// divides what is left, and all others 2.
struct Digits {
  FoldedLabels labels;
  std::vector<std::uint32_t> radices;

  Digits(std::uint32_t ranks, std::uint32_t rounds, std::uint32_t radix) : labels(ranks, Rank{0}) {
    const std::uint32_t odd = ranks >> std::countr_zero(ranks);
    std::uint32_t left = std::bit_floor(ranks);
    if (odd > 1 && odd <= kMostOdd) {
      labels.core.resize(ranks);
      for (std::uint32_t r = 0; r < ranks; ++r) labels.core[r] = Rank{r};
      labels.folded.clear();
      radices.push_back(odd);
      left = ranks / odd;
    }
    while (left > 1) {
      radices.push_back(radices.size() < rounds && left % radix == 0 ? radix : 2);
      left /= radices.back();
    }
  }
};

/// Messages of parts of the buffer with so many chunks each, by waves.
class Waves {
 public:
  explicit Waves(std::uint32_t chunks) : chunks_(chunks) {}
  void begin() { ++wave_; }
  void add(std::uint32_t part, Message message) {
    message.chunk += part * chunks_;
    message.wave = wave_;
    messages_.push_back(message);
  }
  [[nodiscard]] std::vector<Message> take() && { return std::move(messages_); }

 private:
  std::uint32_t chunks_, wave_ = 0;
  std::vector<Message> messages_;
};

/// The first `rounds` digits divide the chunks, as many as these digits have values, among labels;
/// labels that have the same one exchange it, and the chunks are gathered again.
class PartlyScattered {
 public:
  PartlyScattered(const Digits& digits, std::uint32_t rounds, std::uint32_t parts,
                  const Topology& topology)
      : core_(digits.labels.core), radices_(digits.radices), rounds_(rounds), parts_(parts) {
    chunks_ = std::accumulate(radices_.begin(), radices_.begin() + rounds, 1U, std::multiplies<>());
    for (std::uint32_t round = 0; round < rounds; ++round) {
      direct_.push_back(is_direct(round, topology));
    }
  }
  /// Of all parts.
  [[nodiscard]] std::uint32_t chunks() const { return parts_ * chunks_; }

  /// Parts follow on one another: while one is exchanged, the next is scattered and the one before
  /// is gathered.
  [[nodiscard]] std::vector<Message> messages() const {
    Waves waves(chunks_);
    for (std::uint32_t part = 0; part <= parts_; ++part) {
      if (part < parts_) add_scatter(part, waves);
      if (part < parts_) add_exchange(part, waves);
      if (part > 0) add_gather(part - 1, waves);
    }
    return std::move(waves).take();
  }

 private:
  /// Whether links lead from all labels to all that they send to in a round.
  [[nodiscard]] bool is_direct(std::uint32_t round, const Topology& topology) const {
    bool all = true;
    for (std::uint32_t ahead = 1; ahead < radices_[round]; ++ahead) {
      for_each_pair(round, ahead, [&](std::uint32_t from, std::uint32_t to, std::uint32_t) {
        const NodeId dst = topology.node_of(core_[to]);
        all =
            all && std::ranges::any_of(topology.out_links(topology.node_of(core_[from])),
                                       [&](LinkId link) { return topology.link(link).dst == dst; });
      });
    }
    return all;
  }

  /// A round of messages to ranks that are no neighbours has a wave for each: else all would send
  /// to one rank first, and then all to the next.
  void begin(std::uint32_t round, std::uint32_t ahead, Waves& waves) const {
    if (ahead == 1 || !direct_[round]) waves.begin();
  }

  void add_scatter(std::uint32_t part, Waves& waves) const {
    for (std::uint32_t round = 0; round < rounds_; ++round) {
      for (std::uint32_t ahead = 1; ahead < radices_[round]; ++ahead) {
        begin(round, ahead, waves);
        for_each_pair(round, ahead,
                      [&](std::uint32_t from, std::uint32_t to, std::uint32_t stride) {
                        for (std::uint32_t chunk = to % stride; chunk < chunks_; chunk += stride) {
                          waves.add(part, {Op::Reduce, chunk, core_[from], core_[to]});
                        }
                      });
      }
    }
  }

  void add_exchange(std::uint32_t part, Waves& waves) const {
    for (std::uint32_t bit = chunks_; bit < core_.size(); bit *= 2) {
      waves.begin();
      for (std::uint32_t label = 0; label < core_.size(); ++label) {
        if (label / bit % 2 == 1) continue;
        waves.add(part, {Op::Reduce, label % chunks_, core_[label], core_[label + bit], true});
      }
    }
  }

  void add_gather(std::uint32_t part, Waves& waves) const {
    for (std::uint32_t round = rounds_; round-- > 0;) {
      for (std::uint32_t ahead = 1; ahead < radices_[round]; ++ahead) {
        begin(round, ahead, waves);
        for_each_pair(
            round, ahead, [&](std::uint32_t from, std::uint32_t to, std::uint32_t stride) {
              for (std::uint32_t chunk = from % stride; chunk < chunks_; chunk += stride) {
                waves.add(part, {Op::Copy, chunk, core_[from], core_[to]});
              }
            });
      }
    }
  }

  /// visit(from, to, stride) for labels that differ in the round's digit alone: the chunks of a
  /// label after the round are those equal to it modulo `stride`.
  template <typename Visit>
  void for_each_pair(std::uint32_t round, std::uint32_t ahead, const Visit& visit) const {
    const std::uint32_t radix = radices_[round];
    const std::uint32_t unit =
        std::accumulate(radices_.begin(), radices_.begin() + round, 1U, std::multiplies<>());
    for (std::uint32_t label = 0; label < core_.size(); ++label) {
      const std::uint32_t digit = label / unit % radix, other = (digit + ahead) % radix;
      visit(label, label - digit * unit + other * unit, unit * radix);
    }
  }

  const std::vector<Rank>& core_;
  const std::vector<std::uint32_t>& radices_;
  std::uint32_t rounds_, parts_, chunks_ = 1;
  std::vector<bool> direct_;  ///< by round that scatters
};

Schedule halving_all_reduce(const Topology& topology, const Spec& options) {
  const std::uint32_t scatter = scatter_option(options), radix = radix_option(options);
  const std::uint32_t parts = parts_option(options);
  if (scatter == kAll) return wholly_halved(topology, rounds_option(options, topology));
  const Digits digits(topology.num_ranks(), scatter, radix);
  if (scatter > digits.radices.size()) {
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("halving-doubling: scatter: expected at most the {} rounds of {} ranks, "
                    "got {}",
                    digits.radices.size(), topology.num_ranks(), scatter));
  }
  const PartlyScattered rounds(digits, scatter, parts, topology);
  std::vector<Message> messages;
  add_folding(digits.labels, rounds.chunks(), messages);
  const std::vector<Message> all_rounds = rounds.messages();
  messages.insert(messages.end(), all_rounds.begin(), all_rounds.end());
  add_unfolding(digits.labels, rounds.chunks(), messages);
  Schedule header = all_reduce_header(topology, rounds.chunks());
  header.coalesces = rounds_option(options, topology);
  const std::uint32_t chunks = rounds.chunks() / parts;
  for (std::uint32_t c = 0; c < header.chunks.size(); ++c) {
    const std::uint32_t part = c / chunks;
    header.chunks[c].set_root(digits.labels.core[c % chunks]);
    header.chunks[c].weight = part == 0 || part + 1 == parts ? kOuter : kInner;
  }
  return pack(std::move(header), messages, topology);
}

}  // namespace

Algorithm halving_doubling_algorithm() {
  return {
      .name = "halving-doubling",
      .summary = "recursive halving, then recursive doubling; ranks beyond 2^k are folded",
      .source = "Rabenseifner, ICCS 2004; Thakur et al., IJHPCA 2005",
      .parameters =
          "scatter=S: of an all-reduce, rounds that halve, with the nearest ranks "
          "first; in the others what is left is exchanged whole (default: all halve, "
          "the farthest first); radix=R: such a round divides by 4, 8 or 16 "
          "(default 2); parts=K: pieces of the buffer, one behind the other, the first and the "
          "last half "
          "as large (default 1); rounds=1: what a rank sends another in a round is one message",
      .unsupported = supports_all,
      .all_gather = halving_all_gather,
      .broadcast = halving_broadcast,
      .all_reduce = halving_all_reduce,
      .variants =
          "scatter=1|scatter=1&parts=2|scatter=2|scatter=3|scatter=1&radix=4|scatter=1&radix=4&"
          "parts=2|"
          "scatter=1&radix=4&parts=4|scatter=2&radix=4|scatter=2&radix=4&parts=2|scatter=1&radix=8|"
          "scatter=1&radix=8&parts=2|scatter=1&radix=8&parts=4|scatter=1&radix=8&parts=8|"
          "scatter=3&rounds=1"};
}

}  // namespace multitree
