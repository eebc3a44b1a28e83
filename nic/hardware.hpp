// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Parameters of the hardware in rtl/.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "algorithms/schedule.hpp"
#include "nic/parameters.hpp"

namespace multitree::nic {

/// Whose interfaces and routers are simulated.
enum class Machine : std::uint8_t {
  Ideal,    ///< as parameters say; by default an input of a router has a way for each channel
  Hardware  ///< those of rtl/, to the cycle. Flit model only
};
/// \throws Error(InvalidArgument) listing the names: ideal, hardware.
Machine parse_machine(std::string_view text);
std::string_view to_string(Machine machine);

/// What parameters are unless they are given.
Parameters defaults_of(Machine machine);

/// What simulate() takes to be that machine for that schedule: the parameters, or what the hardware
/// makes of them, with headers as long as the schedule's routes ask for.
Parameters on_machine(Machine machine, const Parameters& parameters, const Schedule& schedule,
                      const Topology& topology);

/// The same with all that the hardware has in one way only: sums word by word by an engine at each
/// port, its places for early worms and its adders' cycles; one virtual channel to interfaces;
/// routers whose inputs move one flit a cycle.
Parameters as_hardware(Parameters parameters);

/// The hardware may be built with other places for early worms and other cycles of its adders; all
/// else that as_hardware() says it has in one way only.
/// \throws Error(Unsupported) naming the parameter and the way, if given parameters say another.
void expect_hardware(const Parameters& parameters);
/// What is verilated has those too in one way only, and more places where a schedule needs them.
/// \throws as expect_hardware()
void expect_verilated(const Parameters& parameters);
/// With headers as long as the schedule's routes ask for.
Parameters with_hardware_headers(Parameters parameters, const Schedule& schedule,
                                 const Topology& topology);

/// Header flits of each worm of these schedules: a route that does not fit the header has a flit of
/// its own, and then all have.
std::uint32_t hardware_header_flits(std::span<const Schedule* const> schedules);
/// Of one, whose messages end at switches that add and copy, if it has such.
std::uint32_t hardware_header_flits(const Schedule& schedule, const Topology& topology);

}  // namespace multitree::nic
