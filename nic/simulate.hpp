// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long a schedule takes on a network of interfaces: the one door to all models.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/schedule.hpp"
#include "nic/link_errors.hpp"
#include "nic/parameters.hpp"
#include "topologies/topology.hpp"

namespace multitree::nic {

class Observer;  // nic/observer.hpp

enum class Model : std::uint8_t {
  AlphaBeta,  ///< predict_time(): links with latency and bandwidth, no flits
  Message,    ///< event-driven, message by message, with contention
  Flit,       ///< every router, link and interface, cycle by cycle
  Rtl         ///< the verilated hardware, rtl/sim: not by simulate()
};
/// \throws Error(InvalidArgument) listing the names: alphabeta, message, flit, rtl.
Model parse_model(std::string_view text);
std::string_view to_string(Model model);

/// What goes wrong, on purpose. Flit model only, but for LateInterface, which the message model has
/// as well.
struct Fault {
  enum class Kind : std::uint8_t { DropFlit, CorruptFlit, DeadLink, LateInterface };
  Kind kind = Kind::DropFlit;
  LinkId link{};            ///< all but LateInterface
  Rank rank{};              ///< LateInterface
  std::uint64_t cycle = 0;  ///< from then on; LateInterface: it starts then
  std::uint64_t count = 0;  ///< DropFlit, CorruptFlit: which flit to pass the link from then on
};

/// Something that took time, for traces.
struct Span {
  enum class Kind : std::uint8_t { Interface, Link };
  Kind kind = Kind::Interface;
  std::uint32_t row = 0;   ///< Interface: rank; Link: LinkId
  std::uint32_t port = 0;  ///< Interface: injection port
  std::uint32_t message = 0;
  std::uint64_t begin = 0, end = 0;  ///< cycles
};
/// A message of a trace.
struct MessageRecord {
  Rank src{}, dst{};
  Op op = Op::Copy;
  std::uint32_t step = 0, flow = 0, piece = 0;
  std::uint64_t bytes = 0;
  std::uint64_t issued = 0, arrived = 0;  ///< cycles
};

/// An all-reduce that goes on without contributions that are late (docs/nic-spec.md, "Losses within
/// bounds"): when each is there, and what the sum may do without.
struct Losses {
  /// Cycles from the start to when a contribution is late; one of that very cycle is not.
  std::uint64_t deadline = 0;
  std::uint32_t budget = 0;               ///< contributions that may be missing
  std::vector<std::uint64_t> ready = {};  ///< [rank]: cycle; empty: all from the start on
  bool operator==(const Losses&) const = default;
};
/// What became of it.
struct LossReport {
  std::uint32_t contributions = 0;         ///< to every number of the sum
  std::vector<std::uint32_t> late = {};    ///< ranks that were not there at the deadline
  std::vector<std::uint32_t> absent = {};  ///< ranks that it went on without
  bool operator==(const LossReport&) const = default;
};

struct SimulationOptions {
  Model model = Model::Flit;
  bool data = false;  ///< Flit: move real numbers and compare with the schedule's result
  std::vector<Fault> faults = {};
  bool trace = false;                          ///< fill in spans and messages
  std::function<void(double)> progress = {};   ///< called now and then with the share that is done
  Observer* observer = nullptr;                ///< Flit: told what happens, unless nullptr
  std::optional<Losses> losses = {};           ///< Flit, pipelined, of one all-reduce
  std::optional<LinkErrors> link_errors = {};  ///< Flit: links lose, and send again what is lost
};

/// When a job of several (nic/jobs.hpp) took place.
struct JobSpan {
  std::uint64_t begin = ~std::uint64_t{0};  ///< cycle in which the first rank starts it
  std::uint64_t end = 0;                    ///< cycle in which it is over for the last
};

struct Simulation {
  std::uint64_t cycles = 0;    ///< until the last message was taken in
  std::uint64_t clock_hz = 0;  ///< of those cycles
  std::uint64_t messages = 0;
  std::uint64_t link_flits = 0;          ///< flits on links, a flit on two links twice
  std::uint64_t busiest_link_flits = 0;  ///< of the link with most
  bool checked = false;                  ///< data moved and found right, bit for bit
  std::vector<std::string> errors;       ///< what was noticed; empty: it finished as it should
  std::vector<Span> spans;
  std::vector<MessageRecord> records;
  std::vector<JobSpan> jobs;              ///< of several jobs: when each took place
  std::optional<LossReport> losses;       ///< of SimulationOptions::losses
  std::optional<LinkCounts> link_counts;  ///< of SimulationOptions::link_errors, of all links
  [[nodiscard]] double seconds() const {
    return static_cast<double>(cycles) / static_cast<double>(clock_hz);
  }
};

/// Simulates a collective on `bytes` (nccl-tests' size; padded to whole shards). Switches that add
/// and copy have an interface each, and pass on what they have all of (nic/program/switches.hpp).
/// \pre the schedule verifies on the topology.
/// \throws Error(Unsupported): routes that need more virtual channels than there are to be free of
/// deadlock, links that are too slow or too far for the clock, more than 2^31 cycles, faults that
/// the model does not have. Error(InvalidArgument): faults of links or ranks that do not exist.
/// Error(InvalidInput): parameters that read_parameters() would not take.
Simulation simulate(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                    const Parameters& parameters, const SimulationOptions& options);

}  // namespace multitree::nic
