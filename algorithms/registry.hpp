// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Algorithms by name: "multitree", "double-binary-tree?segments=16".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

class Spec;

/// One way of doing collectives. The functions read their parameters from `options`. What is not
/// given is composed: reduce-scatter and reduce by reversing, all-reduce as reduce-scatter then
/// all-gather.
struct Algorithm {
  std::string_view name;
  std::string_view summary;          ///< one line
  std::string_view source;           ///< where it is from
  std::string_view parameters = {};  ///< its options, documented
  /// Why it cannot serve this network; empty if it can.
  std::optional<std::string> (*unsupported)(const Topology& topology);
  Schedule (*all_gather)(const Topology& topology, const Spec& options);
  Schedule (*broadcast)(const Topology& topology, Rank root, const Spec& options);
  /// nullptr: reduce-scatter then all-gather.
  Schedule (*all_reduce)(const Topology& topology, const Spec& options) = nullptr;
  /// nullptr: the mirror images of all_gather and broadcast.
  Schedule (*reduce_scatter)(const Topology& topology, const Spec& options) = nullptr;
  Schedule (*reduce)(const Topology& topology, Rank root, const Spec& options) = nullptr;
  /// Options besides the default that `auto` tries, separated by '|': "segments=4|segments=64".
  std::string_view variants = {};
  /// Takes size= and message=, and makes what is fastest for them (told()).
  bool asks_size = false;
};

/// What every algorithm takes beside its own parameters.
inline constexpr std::string_view kParametersOfAll =
    "rounds=0|1: 1: what a rank sends to another in a round is one message (default 0); cut=K: "
    "every "
    "chunk in K pieces, one behind the other, so that what a rank passes on has come while it "
    "sends "
    "the rest (default 1)";

/// All algorithms, sorted by name.
std::span<const Algorithm> algorithms();

/// \throws Error(InvalidArgument) listing the names.
const Algorithm& find_algorithm(std::string_view name);

/// The size that schedules are for where none is given.
inline constexpr std::uint64_t kDefaultSize = 64 << 20;

/// `spec` with the size that its schedule is for, and what a message costs its sender, where the
/// algorithm asks for them and `spec` leaves them open: "auto" -> "auto?size=1KiB&message=1us".
/// What is as by default is left out. \throws Error(InvalidArgument) as find_algorithm().
std::string told(std::string_view spec, std::uint64_t bytes, Time message);

/// \throws std::logic_error if what a generator made does not verify (a bug of ours).
void expect_verified(const Schedule& schedule, const Topology& topology);

/// Generates a schedule, and verifies it before it is returned.
/// \throws Error: InvalidArgument (name, option, root), Unsupported (this network),
/// std::logic_error if the generator made a schedule that does not verify (a bug of ours).
Schedule make_schedule(std::string_view algorithm, const Topology& topology,
                       Collective collective = Collective::AllReduce, Rank root = Rank{0});

/// The same without the verification, for callers that time or verify by themselves.
Schedule generate_schedule(std::string_view algorithm, const Topology& topology,
                           Collective collective, Rank root);

}  // namespace multitree
