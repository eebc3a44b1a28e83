// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// NCCL's constants. They are its measure of what an application gets, below the peak rates.
#include "topologies/io/nccl_rates_internal.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace multitree {
namespace {

constexpr std::uint64_t kTenthOfGigabyte = 100'000'000;

constexpr Bandwidth tenths(std::uint64_t tenths_of_gigabytes) {
  return {tenths_of_gigabytes * kTenthOfGigabyte};
}

// 100 Mb/s a lane, after the line code.
struct PciSpeed {
  double gigatransfers;
  std::uint64_t per_lane;
};
constexpr std::array kPciSpeeds =
    std::to_array<PciSpeed>({{2.5, 15}, {5, 30}, {8, 60}, {16, 120}, {32, 240}, {64, 480}});
constexpr std::uint64_t kUnknownPciSpeed = 60;

Bandwidth intel_bandwidth(const CpuModel& cpu) {
  const bool granite_rapids_or_sierra_forest = cpu.model >= 0xAD && cpu.model <= 0xAF;
  if (cpu.family != 6) return tenths(60);
  if (cpu.model >= 0xCF || granite_rapids_or_sierra_forest) return tenths(400);
  if (cpu.model >= 0x8F) return tenths(220);
  if (cpu.model >= 0x55) return tenths(100);
  return tenths(60);
}

// Families 25 and 26 are Zen 3/4 and Zen 5; the others are what older files say for the same.
Bandwidth amd_bandwidth(const CpuModel& cpu) {
  if (cpu.family == 26 || cpu.family == 0xBF) return tenths(320);
  if (cpu.family == 25 || cpu.family == 0xAF) return tenths(240);
  return tenths(160);
}

}  // namespace

Bandwidth pci_bandwidth(std::uint32_t width, std::string_view link_speed) {
  double gigatransfers = 0;
  const char* end = link_speed.data() + link_speed.size();
  const auto [rest, error] = std::from_chars(link_speed.data(), end, gigatransfers);
  const bool has_unit = std::string_view(rest, end).starts_with(" GT/s");
  const auto* known = std::ranges::find(kPciSpeeds, gigatransfers, &PciSpeed::gigatransfers);
  const std::uint64_t per_lane = error == std::errc{} && has_unit && known != kPciSpeeds.end()
                                     ? known->per_lane
                                     : kUnknownPciSpeed;
  constexpr std::uint64_t kGigabyteBy80 = 12'500'000;
  return {(width == 0 ? 16U : width) * per_lane * kGigabyteBy80};
}

Bandwidth nvlink_bandwidth(std::int64_t sm) {
  if (sm >= 100) return tenths(401);
  if (sm >= 90) return tenths(206);
  if (sm == 86) return tenths(120);
  if (sm >= 70) return tenths(200);
  if (sm >= 60) return tenths(180);
  return tenths(200);
}

Bandwidth cpu_bandwidth(const CpuModel& cpu) {
  if (cpu.arch == "ppc64") return tenths(320);
  if (cpu.arch == "arm64") return tenths(60);
  if (cpu.arch == "x86_64") {
    if (cpu.vendor == "GenuineIntel") return intel_bandwidth(cpu);
    if (cpu.vendor == "AuthenticAMD") return amd_bandwidth(cpu);
    if (cpu.vendor == "CentaurHauls" || cpu.vendor == "  Shanghai  ") {
      return cpu.family == 7 && cpu.model == 0x5B ? tenths(90) : tenths(60);
    }
  }
  return kLocalBandwidth;
}

}  // namespace multitree
