// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What they are called, and what they come to.
#include "tools/run/flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/messages/transport.hpp"

namespace multitree::tools {
namespace {

constexpr std::uint32_t kDefaultIterations = 20;

std::vector<std::string> wire_names() {
  std::vector<std::string> names;
  for (const runtime::WireType wire : runtime::all_wire_types())
    names.emplace_back(to_string(wire));
  return names;
}

/// Whether sums of DataKind::Exact are numbers of this form.
std::vector<std::string> summing_names() {
  std::vector<std::string> names;
  for (const runtime::Summing summing : runtime::all_summings())
    names.emplace_back(to_string(summing));
  return names;
}

bool holds_exact(runtime::WireType wire) {
  return wire != runtime::WireType::Float8E4M3 && wire != runtime::WireType::Float8E5M2;
}

template <typename T, typename Parse>
std::vector<T> parse_list(std::string_view flag, const std::string& text, std::span<const T> all,
                          const Parse& parse) {
  if (text == "all") return {all.begin(), all.end()};
  std::vector<T> values;
  for (const std::string& item : for_flag(flag, [&] { return split_list(text); })) {
    values.push_back(for_flag(flag, [&] { return parse(item); }));
  }
  return values;
}

/// Files are named by -o in other commands.
std::vector<runtime::ReduceOp> operators_of(const std::string& list) {
  if (list.ends_with(".json")) {
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("-o: expected reduction operators, as in nccl-tests, got '{0}'; results "
                    "as JSON are written by -J {0}",
                    list));
  }
  return parse_list<runtime::ReduceOp>("-o", list, runtime::all_reduce_ops(),
                                       [](const auto& t) { return runtime::parse_reduce_op(t); });
}

std::uint64_t parse_factor(const std::string& text) {
  if (text.empty() || text.size() > 6 ||
      !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("-f: expected a factor from 2 to 999999, got '{}'", text));
  }
  return std::stoull(text);
}

std::string check_progress(const std::string& text) {
  const bool core = !text.empty() && text.size() < 6 &&
                    std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (core || text == "on" || text == "off") return {};
  return fmt::format("expected on, off or the number of a core, got '{}'", text);
}

std::string check_seconds_or_0(const std::string& text) {
  const std::string error = check_seconds(text);
  return error.empty() || text == "0" ? std::string() : "expected 0 or" + error.substr(8);
}

std::string check_times(const std::string& text) {
  double times = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, times);
  if (error == std::errc{} && rest == end && times >= 1 && times <= 1e6) return {};
  return fmt::format("expected a factor from 1 to 1000000, such as 1.5, got '{}'", text);
}

/// What is run, and on which network.
void add_source_flags(CLI::App& app, RunFlags& flags) {
  auto* schedule = app.add_option("-s,--schedule", flags.schedule,
                                  "Run this schedule or plan file ('-': standard input)")
                       ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_network_flags(app, flags.network)->excludes(schedule);
  auto* algorithm =
      app.add_option(
             "-a,--algorithm", flags.algorithms,
             "One or several, separated by commas; host: no messages, the memory of one host")
          ->capture_default_str()
          ->excludes(schedule);
  app.add_option("--tables", flags.tables,
                 "Run what this image of 'nic tables' says, on the network -t that it is for; "
                 "without -b and -e at its own size")
      ->excludes(schedule)
      ->excludes(algorithm);
  app.add_flag("--device", flags.device,
               "Buffers on GPUs: rank R takes the device R modulo as many as its host has");
}

void add_job_flags(CLI::App& app, RunFlags& flags) {
  add_source_flags(app, flags);
  app.add_flag("--no-host-path", flags.no_host_path,
               "-a auto: messages even where all ranks share a host (and its memory is faster)");
  app.add_option(
         "--try", flags.tries,
         "-a auto: run all algorithms at every size, in so many rounds, and take the fastest")
      ->check(number_from(1));
  app.add_flag("--refine", flags.refine,
               "-a auto: try what predictions cannot tell apart while running, and say what came "
               "of it; iterations are then of several algorithms");
  app.add_option("--save-plan", flags.save_plan,
                 "Write the schedules that -a auto has chosen, for -s and for the C API");
  app.add_option("--np", flags.processes,
                 "Processes to start (as many as the topology has ranks; without a "
                 "topology: on full:NP)")
      ->check(number_from(1));
  app.add_option("--map", flags.map,
                 "Which process becomes which rank: identity (the launcher's numbers), by-host "
                 "(hosts take ranks next to each other), or a file of ranks and hosts");
  app.add_option("--transport", flags.transport,
                 "ucx, tcp (sockets), loopback (threads of one process), or auto: as "
                 "MULTITREE_TRANSPORT says, else tcp between hosts on slow networks, else ucx")
      ->check(one_of({"auto", "ucx", "tcp", "loopback"}))
      ->capture_default_str();
  app.add_option("-T,--timeout", flags.timeout, "Longest wait without any progress, in seconds")
      ->check(CLI::Validator(check_seconds, "", "seconds"))
      ->capture_default_str();
  app.add_option(
         "--progress", flags.progress,
         "Who moves started collectives on while a rank is elsewhere: on (a thread), off, or "
         "the number of a core for the thread (default: MULTITREE_PROGRESS, else on)")
      ->check(CLI::Validator(check_progress, "", "progress"));
  app.add_flag("--encrypt", flags.encrypt,
               "Encrypt messages between processes, over transport tcp (default: "
               "MULTITREE_ENCRYPT, else not)");
  app.add_flag("--checksums", flags.checksums, "Check every message on arrival");
  app.add_flag("--check-finite", flags.check_finite,
               "Every rank looks through its input for infinities and NaN before each call");
  app.add_option("--link-timeout", flags.link_timeout,
                 "Silence after which a link is dead, in seconds; 0: none is (default: "
                 "MULTITREE_LINK_TIMEOUT, else 5)")
      ->check(CLI::Validator(check_seconds_or_0, "", "seconds"));
  app.add_option("--check-links", flags.check_links,
                 "Measure links only; name those that take so many times what is declared")
      ->check(CLI::Validator(check_times, "", "times"));
  app.add_option("--on-failure", flags.on_failure,
                 "When a rank or a link dies or falls silent: stop, shrink (go on without ranks), "
                 "replan (around links), go-on (both), continue (what is under way goes on over "
                 "other ways between the link's ends), or adapt (the same, and later rounds run "
                 "schedules without the link)")
      ->check(one_of({"stop", "shrink", "replan", "go-on", "continue", "adapt"}))
      ->capture_default_str();
  app.add_option("--spares", flags.spares,
                 "With --on-failure shrink: start so many more processes, which wait, and come in "
                 "the places of ranks that die")
      ->check(number_from(0));
  app.add_option("--segment", flags.segment, "Largest message; larger chunks are pipelined")
      ->capture_default_str();
}

void add_benchmark_flags(CLI::App& app, RunFlags& flags) {
  app.add_option("-b,--minbytes", flags.first, "First size")->capture_default_str();
  app.add_option("-e,--maxbytes", flags.last, "Last size")->capture_default_str();
  app.add_option("-i,--stepbytes", flags.increment, "Add this from size to size, instead of -f");
  app.add_option("-f,--stepfactor", flags.factor, "Multiply by this from size to size")
      ->capture_default_str();
  app.add_option(
         "-n,--iters", flags.iterations,
         "Iterations a size, as in nccl-tests (20); without a topology, schedule and --np also the "
         "processes to start")
      ->check(number_from(1));
  app.add_option("-w,--warmup_iters", flags.warmup, "Warm-up iterations a size")
      ->check(number_from(0))
      ->capture_default_str();
  app.add_option("-d,--datatype", flags.types, "Types ('multitree list types'), or all")
      ->capture_default_str();
  app.add_option("-o,--op", flags.ops,
                 "Operators (the first five of 'multitree list operators'), or all")
      ->capture_default_str();
  app.add_option(
         "--wire", flags.wire,
         "How floats travel in messages: as-is; half, bfloat16, or in blocks of 64 int8, e4m3 "
         "or e5m2, while sums are floats; or lossless, with exponents as Huffman codes")
      ->check(one_of(wire_names()))
      ->capture_default_str();
  app.add_option("--sum", flags.sum,
                 "What sums of floats are made as: floats; exact, whole numbers of a unit for each "
                 "element, the same bits in any order; or exact-blocks, of a unit for 32 elements")
      ->check(one_of(summing_names()))
      ->capture_default_str();
  app.add_option("-c", flags.check_or_collective,
                 "0 or 1: whether to check results, as in nccl-tests; or a collective");
  app.add_option("--check", flags.check, "0 or 1: whether to check results")
      ->check(one_of({"0", "1"}))
      ->capture_default_str();
  app.add_option("--collective", flags.collective, collective_names())->capture_default_str();
  app.add_option("-r,--root", flags.root, "Root rank, where there is one")
      ->check(number_from(0))
      ->capture_default_str();
  app.add_option("--data", flags.data, "exact: sums are exact in any order; random: they are not")
      ->check(one_of({"exact", "random"}))
      ->capture_default_str();
  app.add_option("--seed", flags.seed, "Of the input data")
      ->check(number_from(0, std::numeric_limits<std::uint64_t>::max()))
      ->capture_default_str();
  app.add_flag("--shared-buffers", flags.shared_buffers,
               "Buffers that all ranks of one host map: Communicator::allocate()");
  app.add_flag("--digest", flags.digest, "Print a digest of all ranks' results in each row");
  app.add_flag("--json", flags.json, "Print JSON (keys as in nccl-tests) instead of the table");
  app.add_option("-J,--output_file", flags.json_file, "Write the JSON to this file as well");
}

/// What travels, and what it is added as. \pre the types, the data and whether to check are set
void set_numbers(BenchmarkOptions& options, const RunFlags& flags) {
  options.wire = runtime::parse_wire(flags.wire);
  if (runtime::rounds(options.wire) && (options.data == DataKind::Random ||
                                        options.types != std::vector{runtime::DataType::Float32})) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--wire {}: expected -d float and --data exact, which rounding leaves "
                            "as they are, got -d {} --data {}",
                            flags.wire, flags.types, flags.data));
  }
  if (!holds_exact(options.wire) && options.check) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--wire {}: expected --check 0, as sums are not exact in so few bits",
                            flags.wire));
  }
  options.summing = runtime::parse_summing(flags.sum);
  if (options.summing != runtime::Summing::Floats &&
      (flags.device || options.wire != runtime::WireType::AsIs)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--sum {}: expected no {}, as exact sums are made in host memory of "
                            "numbers as they are",
                            flags.sum, flags.device ? "--device" : "--wire"));
  }
}

/// Here, not at each of the ranks.
void check_encrypts(const std::string& transport) {
  if (runtime::find_transport(transport).encrypts) return;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("--encrypt: expected a transport that encrypts, got --transport {}; take "
                          "--transport tcp, or a network that encrypts",
                          transport));
}

}  // namespace

void add_run_flags(CLI::App& app, RunFlags& flags) {
  add_job_flags(app, flags);
  add_benchmark_flags(app, flags);
  add_observe_flags(app, flags.observe);
}

void note_given_flags(const CLI::App& app, RunFlags& flags) {
  flags.has_link_timeout = app.count("--link-timeout") > 0;
  flags.has_sizes = app.count("--minbytes") + app.count("--maxbytes") > 0;
}

void resolve_check_or_collective(RunFlags& flags) {
  const std::string& value = flags.check_or_collective;
  if (value.empty()) return;
  const bool is_number = std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
  (is_number ? flags.check : flags.collective) = value;
}

OnFailure on_failure_of(const RunFlags& flags) {
  const std::string& wanted = flags.on_failure;
  return {.shrink = wanted == "shrink" || wanted == "go-on",
          .replan = wanted == "replan" || wanted == "go-on"};
}

BenchmarkOptions benchmark_options(const RunFlags& flags) {
  BenchmarkOptions options;
  options.collective =
      for_flag(flags.collective == flags.check_or_collective ? "-c" : "--collective",
               [&] { return parse_collective(flags.collective); });
  check_along_trees(options.collective, "--collective");
  const SizeRange range{for_flag("-b", [&] { return parse_bytes(flags.first); }),
                        for_flag("-e", [&] { return parse_bytes(flags.last); }),
                        for_flag("-i", [&] { return parse_bytes(flags.increment); }),
                        parse_factor(flags.factor)};
  options.sizes = sizes_of(range);
  options.types =
      parse_list<runtime::DataType>("-d", flags.types, runtime::all_data_types(),
                                    [](const auto& t) { return runtime::parse_data_type(t); });
  options.ops = operators_of(flags.ops);
  if (!reduces(options.collective)) options.ops.resize(1);
  if (flags.check != "0" && flags.check != "1") {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("-c: expected 0, 1 or a collective, got '{}'", flags.check));
  }
  options.check = flags.check == "1";
  options.iterations = flags.iterations > 0 ? flags.iterations : kDefaultIterations;
  options.warmup = flags.warmup;
  options.root = Rank{flags.root};
  options.data = flags.data == "random" ? DataKind::Random : DataKind::Exact;
  set_numbers(options, flags);
  if (flags.device && flags.shared_buffers) {
    throw Error(ErrorCode::InvalidArgument,
                "--device: expected no --shared-buffers, which are memory of the host");
  }
  options.seed = flags.seed;
  options.shared_buffers = flags.shared_buffers;
  options.communicator.transport = flags.transport;
  options.communicator.checksums = flags.checksums;
  if (flags.encrypt) {
    check_encrypts(flags.transport);
    options.communicator.encrypt = true;
  }
  if (flags.check_finite) options.communicator.check_finite = true;
  options.communicator.progress = flags.progress;
  options.communicator.timeout = runtime::Deadline(static_cast<std::int64_t>(flags.timeout * 1000));
  if (flags.on_failure == "continue" || flags.on_failure == "adapt") {
    options.communicator.on_link_failure = runtime::link_failure_named(flags.on_failure);
  }
  if (flags.has_link_timeout) {
    options.communicator.link_timeout =
        runtime::Deadline(static_cast<std::int64_t>(flags.link_timeout * 1000));
  }
  options.communicator.segment_bytes =
      for_flag("--segment", [&] { return parse_bytes(flags.segment); });
  if (options.communicator.segment_bytes == 0) {
    throw Error(ErrorCode::InvalidArgument, "--segment: expected a size of 1 or more, got 0");
  }
  return options;
}

}  // namespace multitree::tools
