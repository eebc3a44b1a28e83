// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Numbers with units from the kernel's small files.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "topologies/discovery/pci_speed_internal.hpp"

namespace multitree::discovery {
namespace {

/// Gigatransfers a second, and MB/s of a lane in a direction.
struct Generation {
  double gigatransfers;
  std::uint64_t megabytes;
};
// 8b/10b, then 128b/130b, then 242 of 256 bytes of a flit.
constexpr std::array kGenerations =
    std::to_array<Generation>({{2.5, 250}, {5, 500}, {8, 985}, {16, 1969}, {32, 3938}, {64, 7563}});
constexpr std::uint32_t kMostLanes = 32;

/// The number that the file's first line starts with; 0 if there is none.
double number_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  double value = 0;
  std::from_chars(line.data(), line.data() + line.size(), value);
  return value;
}

Bandwidth of_gigabits(double gigabits) {
  return {static_cast<std::uint64_t>(gigabits * 1000 + 0.5) * 125'000};
}

}  // namespace

Bandwidth pcie_rate(std::uint32_t generation, std::uint32_t lanes) {
  if (generation == 0 || generation > kGenerations.size() || lanes > kMostLanes) return {};
  return {kGenerations[generation - 1].megabytes * 1'000'000 * lanes};
}

Bandwidth pcie_rate_of(const std::string& sysfs, const std::string& address) {
  const std::filesystem::path folder = std::filesystem::path(sysfs) / "bus/pci/devices" / address;
  const double speed = number_in(folder / "max_link_speed");
  const double lanes = number_in(folder / "max_link_width");
  if (!(lanes >= 1 && lanes <= kMostLanes)) return {};
  for (std::uint32_t i = 0; i < kGenerations.size(); ++i) {
    if (kGenerations[i].gigatransfers == speed) {
      return pcie_rate(i + 1, static_cast<std::uint32_t>(lanes));
    }
  }
  return {};
}

Bandwidth nic_speed_of(const std::string& sysfs, const std::vector<std::string>& names) {
  const std::filesystem::path classes = std::filesystem::path(sysfs) / "class";
  for (const std::string& name : names) {
    std::error_code ignored;
    // The sum over the ports of a device: "100 Gb/sec (4X EDR)". A port that is down has a rate
    // too.
    double gigabits = 0;
    for (const auto& port :
         std::filesystem::directory_iterator(classes / "infiniband" / name / "ports", ignored)) {
      if (number_in(port.path() / "state") == 4) gigabits += number_in(port.path() / "rate");
    }
    if (gigabits > 0) return of_gigabits(gigabits);
    // Megabits; -1 or an error if it is down.
    const double megabits = number_in(classes / "net" / name / "speed");
    if (megabits > 0) return of_gigabits(megabits / 1000);
  }
  return {};
}

}  // namespace multitree::discovery
