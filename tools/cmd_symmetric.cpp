// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree symmetric`: optimal schedules of networks with millions of ranks that are all alike.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "algorithms/symmetric/symmetric_schedule.hpp"
#include "tools/large.hpp"
#include "tools/progress.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

struct SymmetricFlags {
  std::string topology;
  std::string collective = "allreduce";
  std::string chunks = "1";
  std::optional<std::uint32_t> rank, step;
  bool json = false;
};

ordered_json summary(const SymmetricFlags& flags, const SymmetricSchedule& schedule,
                     double generation, double verification) {
  return {{"topology", flags.topology},
          {"collective", to_string(schedule.collective())},
          {"ranks", schedule.graph().size()},
          {"degree", schedule.graph().degree()},
          {"chunks_per_rank", schedule.chunks()},
          {"steps", schedule.num_steps()},
          {"bound_steps", schedule.bound_steps()},
          {"depth", schedule.tree().depth},
          {"diameter", schedule.tree().diameter},
          {"load_shards", tools::to_text(schedule.load())},
          {"bound_shards", tools::to_text(schedule.load_bound())},
          {"memory_bytes", schedule.memory()},
          {"verified", true},
          {"generation_seconds", generation},
          {"verification_seconds", verification}};
}

std::string_view name_of(Op op) { return op == Op::Reduce ? "reduce" : "copy"; }

/// Appends what is asked for row by row, and prints it now and then, as it may be long.
template <class Format>
void print_transfers(const SymmetricSchedule& schedule, const SymmetricFlags& flags,
                     Format format) {
  const std::uint32_t begin = flags.step.value_or(0);
  const std::uint32_t end = flags.step ? begin + 1 : schedule.num_steps();
  std::string text;
  const auto add = [&](const std::vector<SymmetricTransfer>& transfers) {
    for (const SymmetricTransfer& t : transfers) text += format(t);
    if (text.size() < 1U << 20) return;
    print(text);
    text.clear();
  };
  for (std::uint32_t step = begin; step < end; ++step) {
    if (flags.rank) {
      add(schedule.transfers_of_rank(Rank{*flags.rank}, step));
      continue;
    }
    for (std::uint32_t owner = 0; owner < schedule.graph().size(); ++owner) {
      add(schedule.transfers_of_owner(Rank{owner}, step));
    }
  }
  print(text);
}

void print_as_json(const SymmetricSchedule& schedule, const SymmetricFlags& flags,
                   const ordered_json& json) {
  if (!flags.rank && !flags.step) return print_json(json);
  std::string text = json.dump(2);
  text.resize(text.size() - 2);  // the closing brace and the line break before it
  print(text + ",\n  \"transfers\": [");
  print_transfers(schedule, flags, [first = true](const SymmetricTransfer& t) mutable {
    const std::string_view separator = first ? "" : ",";
    first = false;
    return fmt::format(R"({}
    [{}, "{}", {}, {}, {}, {}])",
                       separator, t.step, name_of(t.op), t.chunk, index(t.src), index(t.dst),
                       t.generator);
  });
  print("\n  ]\n}\n");
}

void print_as_text(const SymmetricSchedule& schedule, const SymmetricFlags& flags,
                   const ordered_json& json) {
  if (flags.rank || flags.step) return print_rows(schedule, flags.rank, flags.step);
  std::string text;
  for (const auto& [key, value] : json.items()) {
    text += fmt::format("{:<21} {}\n", key,
                        value.is_string()         ? value.get<std::string>()
                        : value.is_number_float() ? fmt::format("{:.3f}s", value.get<double>())
                                                  : value.dump());
  }
  print(text);
}

int run(const SymmetricFlags& flags) {
  const LoadedNetwork network = load_large({.topology = flags.topology, .changes = {}}, 0);
  if (!network.alike) {
    throw Error(ErrorCode::InvalidArgument, "--topology: symmetric: " + network.reason);
  }
  const AlikeRanks& ranks = *network.alike;
  const Collective collective =
      for_flag("--collective", [&] { return parse_collective(flags.collective); });
  check_below("--rank", flags.rank, ranks.graph.size());
  Progress progress("growing the trees of " + flags.topology);
  const double start = cpu_seconds();
  const std::uint32_t chunks = for_flag("--chunks", [&] {
    return chunks_option(Spec::parse("symmetric?chunks=" + flags.chunks), ranks.graph);
  });
  const SymmetricSchedule schedule =
      for_flag(has_root(collective) ? "--collective" : "--topology",
               [&] { return SymmetricSchedule(ranks, chunks, collective); });
  const double made = cpu_seconds();
  check_below("--step", flags.step, schedule.num_steps());
  progress.update("verifying the trees of " + flags.topology);
  if (const auto fault = find_fault(schedule.ranks(), schedule.tree())) {
    throw std::logic_error("symmetric on " + flags.topology + ": " + *fault);
  }
  const ordered_json json = summary(flags, schedule, made - start, cpu_seconds() - made);
  flags.json ? print_as_json(schedule, flags, json) : print_as_text(schedule, flags, json);
  return kOk;
}

}  // namespace

Command add_symmetric_command(CLI::App& parent) {
  auto flags = std::make_shared<SymmetricFlags>();
  CLI::App* app = parent.add_subcommand(
      "symmetric", "The optimal schedule of a huge network whose ranks are all alike, or a part");
  app->add_option("-t,--topology", flags->topology,
                  "Spec or file of a network whose ranks are all alike")
      ->required();
  app->add_option("-c,--collective", flags->collective, "allreduce, reduce-scatter or allgather")
      ->capture_default_str();
  app->add_option("--chunks", flags->chunks,
                  "Pieces of a rank's share, each with a tree: 1 to 1024, or 'degree'")
      ->capture_default_str();
  app->add_option("--rank", flags->rank, "Print what this rank sends and receives")
      ->check(number_from(0));
  app->add_option("--step", flags->step, "Print what happens in this step")->check(number_from(0));
  app->add_flag("--json", flags->json, "Print JSON");
  app->footer("Example: multitree symmetric -t torus:64x64 --rank 17 --step 5");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace multitree::tools
