// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Jobs one behind the other in flows, pieces, elements and routes.
#include "nic/program/job_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nic/table/route_numbers_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

/// 2^31 cycles are the most that a simulation takes, so nothing longer needs to be told apart.
constexpr double kMostCycles = 1ULL << 32;

/// Jobs of ranks are numbered together.
constexpr std::uint64_t kMostJobs = std::uint64_t{1} << 31;

void check(std::span<const Job> jobs, const Topology& topology, std::span<const double> slowness) {
  const auto refuse = [&](std::size_t number, const std::string& what) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("job {} '{}': {}", number, jobs[number].name, what));
  };
  if (jobs.size() * topology.num_ranks() > kMostJobs) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("simulation of jobs: expected at most {} of all ranks together, got {}",
                            kMostJobs, jobs.size() * topology.num_ranks()));
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const Job& job = jobs[j];
    for (const std::uint32_t before : job.after) {
      if (before >= j)
        refuse(j, fmt::format("expected to be after jobs below {}, got {}", j, before));
    }
    if (std::min({job.computing, job.ready, job.delay}) < Time{}) {
      refuse(j, "expected times from 0 on, got a negative one");
    }
    if (job.schedule != nullptr && job.schedule->ranks != topology.num_ranks()) {
      refuse(j, fmt::format("expected a schedule for the {} ranks of {}, got one for {}",
                            topology.num_ranks(), topology.name(), job.schedule->ranks));
    }
  }
  if (!slowness.empty() && slowness.size() != topology.num_ranks()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("slowness: expected a number for each of {} ranks, got {}",
                            topology.num_ranks(), slowness.size()));
  }
  for (const double times : slowness) {
    if (std::isfinite(times) && times >= 0) continue;
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("slowness: expected finite numbers from 0 on, got {}", times));
  }
}

std::uint64_t cycles_of(Time time, std::uint64_t clock_hz, double times) {
  const double cycles = time.seconds() * static_cast<double>(clock_hz) * times;
  return static_cast<std::uint64_t>(std::ceil(std::min(cycles, kMostCycles)));
}

/// Puts programs behind one another.
class Joining {
 public:
  Joining(const Topology& topology, std::size_t jobs)
      : number_(program_.routes, topology.num_links()) {
    program_.tables.ranks = topology.num_ranks();
    program_.tables.of_rank.resize(topology.num_ranks());
    program_.route_of.resize(topology.num_ranks());
    program_.jobs.reserve(jobs);
  }

  void add(const Program& added, JobRow row) {
    row.first_element = program_.tables.elements;
    row.messages.resize(program_.tables.ranks, 0);
    append(added, row);
    program_.job_of_piece.resize(program_.pieces, static_cast<std::uint32_t>(program_.jobs.size()));
    program_.jobs.push_back(std::move(row));
  }
  [[nodiscard]] Program take() { return std::move(program_); }

 private:
  void append(const Program& added, JobRow& row) {
    const auto flows = static_cast<std::uint32_t>(program_.first_piece.size());
    for (const std::uint32_t first : added.first_piece) {
      program_.first_piece.push_back(program_.pieces + first);
    }
    std::vector<std::uint32_t> routes;
    for (const std::vector<LinkId>& route : added.routes) routes.push_back(number_(route));
    for (std::uint32_t r = 0; r < added.tables.of_rank.size(); ++r) {
      for (std::size_t e = 0; e < added.tables.of_rank[r].size(); ++e) {
        Entry entry = added.tables.of_rank[r][e];
        if (entry.op == Opcode::Nop) continue;
        entry.flow += flows;
        entry.start += row.first_element;
        ++row.messages[r];
        ++row.messages[index(entry.peer)];
        program_.tables.of_rank[r].push_back(entry);
        program_.route_of[r].push_back(routes[added.route_of[r][e]]);
      }
    }
    program_.tables.steps = std::max(program_.tables.steps, added.tables.steps);
    program_.tables.elements += added.tables.elements;
    program_.pieces += added.pieces;
  }

  Program program_;
  RouteNumbers number_;
};

}  // namespace

Program compile_jobs(std::span<const Job> jobs, const Topology& topology,
                     const Parameters& parameters, std::span<const double> slowness) {
  check(jobs, topology, slowness);
  const std::uint64_t clock = clock_of(topology, parameters);
  Joining all(topology, jobs.size());
  for (const Job& job : jobs) {
    JobRow row{.priority = job.priority,
               .ready = cycles_of(job.ready, clock, 1),
               .delay = cycles_of(job.delay, clock, 1),
               .after = job.after};
    if (job.schedule == nullptr) {
      for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
        row.computing.push_back(
            cycles_of(job.computing, clock, slowness.empty() ? 1 : slowness[r]));
      }
      all.add({}, std::move(row));
      continue;
    }
    all.add(
        compile_program(*job.schedule, topology,
                        padded_elements(job.bytes, parameters.element_bytes, job.schedule->ranks)),
        std::move(row));
  }
  return all.take();
}

}  // namespace multitree::nic
