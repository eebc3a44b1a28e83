// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Switches whose links are cables: routers without an interface.
#include <algorithm>
#include <limits>

#include "rtl/wire/coupling.hpp"
#include "rtl/wire/software_router.hpp"

namespace multitree::rtl {
namespace {

class HardwareSwitch final : public Endpoint {
 public:
  explicit HardwareSwitch(const SwitchPart& part)
      : coupling_(make_switch(links_of(part), part.parameters.flit_bytes,
                              part.topology.node(part.node).name),
                  part.cables, part.parameters.buffer_flits) {}

  bool work() override { return coupling_.run(); }
  /// It looks at no more than routes: who takes a worm in says what is wrong with it.
  [[nodiscard]] std::string error() override { return {}; }

 private:
  static std::uint32_t links_of(const SwitchPart& part) {
    check_verilated(part.topology, part.parameters);
    return static_cast<std::uint32_t>(std::max(part.cables.out.size(), part.cables.in.size()));
  }

  Coupling coupling_;
};

class SoftwareSwitch final : public Endpoint {
 public:
  explicit SoftwareSwitch(const SwitchPart& part)
      : router_(part.cables, part.parameters, kNoInterface, {}) {}

  bool work() override {
    const bool moves = router_.receive();
    return router_.transmit() || moves;
  }
  [[nodiscard]] std::string error() override { return router_.error(); }

 private:
  static constexpr std::uint32_t kNoInterface = std::numeric_limits<std::uint32_t>::max();

  SoftwareRouter router_;
};

}  // namespace

std::unique_ptr<Endpoint> make_hardware_switch(const SwitchPart& part) {
  return std::make_unique<HardwareSwitch>(part);
}

std::unique_ptr<Endpoint> make_software_switch(const SwitchPart& part) {
  return std::make_unique<SoftwareSwitch>(part);
}

}  // namespace multitree::rtl
