// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What must hold in every simulation, checked by code that shares nothing with the simulators but
/// their tables.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nic/simulate.hpp"

namespace multitree::test {

/// A collective of one size on a network.
struct Job {
  std::string topology, algorithm;
  std::uint64_t bytes = 0;
  Collective collective = Collective::AllReduce;
};

/// Simulates flit by flit with data, and expects that
/// - results are right bit for bit, and nothing is left in the network;
/// - every message put its flits on each link of its route, once;
/// - no link and no port took more than its cycles hold, and ports sent one message after the
///   other;
/// - no message was sent before what it needs had come, nor came sooner than light would;
/// - a second run, without data, is the same in every span and record.
nic::Simulation simulate_checked(const Schedule& schedule, const Topology& topology,
                                 std::uint64_t bytes, const nic::Parameters& parameters = {});
nic::Simulation simulate_checked(const Job& job, const nic::Parameters& parameters = {});

/// Cycles by the message model; expects no errors and the flits of the same messages.
std::uint64_t message_cycles(const Schedule& schedule, const Topology& topology,
                             std::uint64_t bytes, const nic::Parameters& parameters = {});

/// Cycles of a job by a model. Flit: with all the checks above.
std::uint64_t cycles_of(const Job& job, nic::Model model, const nic::Parameters& parameters = {});

/// One transfer after the other, a step each, unless told otherwise by `steps`: for closed forms.
struct Hand {
  std::uint32_t step = 0, chunk = 0, src = 0, dst = 0;
};
/// A broadcast from rank 0 in `chunks` equal pieces, by these copies along shortest routes.
Schedule broadcast_by_hand(const Topology& topology, std::uint32_t chunks,
                           std::span<const Hand> copies);

}  // namespace multitree::test
