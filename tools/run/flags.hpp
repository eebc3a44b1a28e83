// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The flags of `multitree run`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "tools/command.hpp"
#include "tools/run/benchmark.hpp"
#include "tools/run/crew.hpp"
#include "tools/run/observe_flags.hpp"

namespace multitree::tools {

struct RunFlags {
  NetworkFlags network;
  std::string algorithms = "multitree", schedule, tables;
  std::string first = "1K", last = "64M", increment = "0", factor = "4";
  std::string types = "float", ops = "sum";
  std::string check_or_collective, collective = "allreduce", check = "1";
  std::string on_failure = "stop", map, wire = "as-is", sum = "floats";
  std::string transport = "auto", data = "exact", segment = "256K", json_file, progress;
  std::uint32_t processes = 0, spares = 0, iterations = 0, warmup = 5, root = 0;
  std::uint64_t seed = 1;
  ObserveFlags observe;
  double timeout = 30, link_timeout = 5, check_links = 0;
  std::uint32_t tries = 0;  ///< rounds in which -a auto tries all; 0: it predicts
  bool refine = false;      ///< -a auto tries while it runs
  std::string save_plan;
  bool json = false, digest = false, checksums = false, encrypt = false, check_finite = false,
       shared_buffers = false;
  bool no_host_path = false;                         ///< -a auto sends messages even on one host
  bool device = false;                               ///< buffers lie on devices
  bool has_link_timeout = false, has_sizes = false;  ///< whether sizes were asked for
};

void add_run_flags(CLI::App& app, RunFlags& flags);
/// After parsing: which of those with a default were given.
void note_given_flags(const CLI::App& app, RunFlags& flags);

/// -c is nccl-tests' check (0 or 1) or, as in the other commands, a collective.
void resolve_check_or_collective(RunFlags& flags);

OnFailure on_failure_of(const RunFlags& flags);

/// \throws Error naming the flag and what it expects
BenchmarkOptions benchmark_options(const RunFlags& flags);

}  // namespace multitree::tools
