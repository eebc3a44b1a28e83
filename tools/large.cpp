// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Loads networks of many ranks, and prints what one rank does.
#include "tools/large.hpp"

#include <fmt/format.h>

#include <utility>

#include "algorithms/registry.hpp"
#include "topologies/registry.hpp"
#include "topologies/spec.hpp"

namespace multitree::tools {
namespace {

/// Without an explicit network there is room for more ranks: 4096x4096.
constexpr std::uint64_t kMostRanks = 1U << 24;
/// Beyond, a look at each link from one rank takes minutes.
constexpr std::uint64_t kMostAlikeLinks = 1U << 28;

/// Of the spec of a large network of links that are all alike; empty for all else.
std::optional<AlikeRanks> ranks_of_spec(const NetworkFlags& flags, std::uint32_t least_ranks) {
  if (!flags.changes.given().empty()) return std::nullopt;
  try {
    const Spec spec = Spec::parse(flags.topology);
    auto graph = cayley_graph(spec, kMostRanks);
    if (!graph || graph->size() < least_ranks) return std::nullopt;
    if (std::uint64_t{graph->size()} * graph->degree() > kMostAlikeLinks) return std::nullopt;
    const std::vector<LinkSpeed> speeds = cayley_speeds(spec, *graph);
    spec.check_all_used();
    for (const LinkSpeed& speed : speeds) {
      if (speed.bandwidth != speeds.front().bandwidth) return std::nullopt;
    }
    return linked_ranks(std::move(*graph), speeds);
  } catch (const Error&) {
    return std::nullopt;  // whoever makes the network says what is wrong
  }
}

std::string_view name_of(Op op) { return op == Op::Reduce ? "reduce" : "copy"; }

constexpr std::size_t kPrintedAtOnce = 1U << 20;

/// Collects rows and prints them when there are many.
class Rows {
 public:
  Rows() {
    text_.append(
        fmt::format("{:<8} {:<6} {:>9} {:>9} {:>9}\n", "step", "op", "chunk", "src", "dst"));
  }
  /// As the first row is formatted; by hand, as there may be millions.
  void add(std::uint32_t step, Op op, std::uint32_t chunk, Rank src, Rank dst) {
    put_left(fmt::format_int(step), 8);
    put_left(name_of(op), 6);
    for (const std::uint32_t number : {chunk, index(src), index(dst)}) {
      text_.push_back(' ');
      const fmt::format_int digits(number);
      pad(9, digits.size());
      text_.append(digits.data(), digits.data() + digits.size());
    }
    text_.push_back('\n');
    if (text_.size() >= kPrintedAtOnce) flush();
  }
  void flush() {
    print({text_.data(), text_.size()});
    text_.clear();
  }

 private:
  void pad(std::size_t width, std::size_t used) {
    for (std::size_t i = used; i < width; ++i) text_.push_back(' ');
  }
  template <class Text>
  void put_left(const Text& text, std::size_t width) {
    if (text_.size() > 0 && text_.data()[text_.size() - 1] != '\n') text_.push_back(' ');
    text_.append(text.data(), text.data() + text.size());
    pad(width, text.size());
  }

  fmt::memory_buffer text_;
};

}  // namespace

LoadedNetwork load_large(const NetworkFlags& flags, std::uint32_t least_ranks) {
  LoadedNetwork network{.name = flags.topology,
                        .topology = std::nullopt,
                        .alike = ranks_of_spec(flags, std::max(least_ranks, 1U)),
                        .reason = {}};
  if (network.alike) return network;
  network.topology = load_network(flags);
  network.name = network.topology->name();
  if (network.topology->num_ranks() < least_ranks) return network;
  if (auto found = find_alike_network(*network.topology, network.reason)) {
    network.alike = found->ranks();
  }
  return network;
}

bool asks_for_one_rank(const std::string& algorithm) {
  const std::string name = for_flag("--algorithm", [&] { return Spec::parse(algorithm).name(); });
  return name == "symmetric" || name == "auto";
}

AlikeCandidate one_rank_schedule(const AlikeRanks& ranks, const std::string& algorithm,
                                 Collective collective, std::uint64_t bytes, Time overhead) {
  return for_flag("--algorithm", [&] {
    std::string spec = algorithm;
    if (Spec::parse(algorithm).name() == "auto") {
      AlikeTuneOptions options;
      options.first = options.last = bytes;
      options.message_overhead = overhead;
      options.algorithms = alike_specs(ranks, collective);
      std::erase(options.algorithms, "ring");  // whose ranks are in the order of a cycle
      const AlikeTuneResult result = tune_alike(ranks, collective, options);
      spec = result.candidates[result.ranges.front().candidate]->spec();
    }
    AlikeCandidate candidate(ranks, collective, spec, overhead);
    static_cast<void>(candidate.steps());  // makes it
    return candidate;
  });
}

void print_rows(const SymmetricSchedule& schedule, std::optional<std::uint32_t> rank,
                std::optional<std::uint32_t> step) {
  Rows rows;
  const std::uint32_t begin = step.value_or(0), end = step ? begin + 1 : schedule.num_steps();
  const auto add = [&](const std::vector<SymmetricTransfer>& transfers) {
    for (const SymmetricTransfer& t : transfers) rows.add(t.step, t.op, t.chunk, t.src, t.dst);
  };
  for (std::uint32_t s = begin; s < end; ++s) {
    if (rank) {
      add(schedule.transfers_of_rank(Rank{*rank}, s));
      continue;
    }
    for (std::uint32_t owner = 0; owner < schedule.graph().size(); ++owner) {
      add(schedule.transfers_of_owner(Rank{owner}, s));
    }
  }
  rows.flush();
}

void print_rows(const BoxedSchedule& schedule, std::uint32_t rank) {
  Rows rows;
  for (std::uint32_t step = 0; step < schedule.num_steps(); ++step) {
    for (const BoxedSchedule::Message& m : schedule.messages_of_rank(rank, step)) {
      rows.add(m.step, m.op, m.chunk, m.src, m.dst);
    }
  }
  rows.flush();
}

void print_rows(const Schedule& schedule, Rank rank) {
  Rows rows;
  for (const Transfer& t : schedule.transfers) {
    if (t.src == rank || t.dst == rank) rows.add(t.step, t.op, t.chunk, t.src, t.dst);
  }
  rows.flush();
}

void check_below(std::string_view flag, std::optional<std::uint32_t> value, std::uint32_t end) {
  if (!value || *value < end) return;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("{}: expected a number below {}, got {}", flag, end, *value));
}

}  // namespace multitree::tools
