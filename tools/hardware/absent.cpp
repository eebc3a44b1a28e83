// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Commands on the hardware where Verilator was not found.
#include "tools/hardware/hardware.hpp"
#include "topologies/error.hpp"

namespace multitree::tools {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::Unsupported,
              "hardware model: expected a program that was built with Verilator");
}

}  // namespace

CosimRow cosimulate(const Schedule&, const Topology&, std::uint64_t, const nic::Parameters&,
                    const CosimRequest&) {
  refuse();
}

CosimRow cosimulate(const nic::Tables&, std::span<const nic::Job>, const Topology&,
                    const nic::Parameters&, const CosimRequest&) {
  refuse();
}

nic::Simulation simulate_hardware(const Schedule&, const Topology&, std::uint64_t,
                                  const nic::Parameters&) {
  refuse();
}

std::vector<WireRow> run_wires(const Schedule&, const Topology&, const nic::Parameters&,
                               const WireRequest&, runtime::Bootstrap*) {
  refuse();
}

}  // namespace multitree::tools
