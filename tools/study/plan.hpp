// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the MULTITREE study (Huang et al., ISCA 2021) compares on what: networks, algorithms,
/// sizes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "study/workload.hpp"
#include "tools/study/point.hpp"

namespace multitree::tools {

enum class Part : std::uint8_t { Bandwidth, Scaling, Training, Compatibility };
inline constexpr std::array<std::string_view, 4> kPartNames = {"bandwidth", "scaling", "training",
                                                               "compatibility"};
/// "bandwidth,training", in any order, each once. \throws Error(InvalidArgument).
std::vector<Part> parse_parts(std::string_view text);

/// Tables of one --workload.
struct WorkloadSet {
  std::string label;
  std::vector<study::Workload> workloads;
};

/// The parameters that imitate the study's simulator.
struct Compatibility {
  nic::Parameters packet, message;
};

struct StudyPlan {
  std::vector<Part> parts = {Part::Bandwidth, Part::Scaling, Part::Training, Part::Compatibility};
  nic::Model model = nic::Model::Message;  ///< of all parts but compatibility: flit
  /// Of everything but what imitates the study's simulator.
  nic::Machine machine = nic::Machine::Ideal;
  std::uint64_t max_bytes = std::uint64_t{64} << 20;
  bool quick = false;  ///< few points of each part, for trying out
  std::vector<WorkloadSet> workloads;
  Compatibility compatibility;
  [[nodiscard]] bool has(Part part) const;
};

/// Who takes part in a comparison.
struct Contender {
  std::string label{};
  std::string algorithm{};
  nic::FlowControl flow_control = nic::FlowControl::Packet;
  std::uint32_t ports = 0;  ///< 0: one for each link
};
/// Names of contenders that others are compared with.
/// \{
inline constexpr std::string_view kRingOnePort = "ring, 1 port";
inline constexpr std::string_view kRing = "ring";
inline constexpr std::string_view kTwoRings = "ring each way";
inline constexpr std::string_view kRing2d = "2D-ring";
inline constexpr std::string_view kMultitree = "multitree, packets";
inline constexpr std::string_view kMultitreeMessages = "multitree, messages";
inline constexpr std::string_view kSymmetric = "symmetric, messages";
inline constexpr std::string_view kOptimal = "optimal, messages";
/// \}

/// Those that serve a network, in the order of the report. On direct networks those with one port
/// are there a second time with one for each link.
std::vector<Contender> contenders(std::string_view network);

Point point_of(const StudyPlan& plan, const std::string& network, const Contender& contender,
               std::uint64_t bytes);

/// What the parts simulate on which networks.
/// \{
std::vector<std::string> bandwidth_networks(const StudyPlan& plan);
std::vector<std::uint64_t> bandwidth_sizes(const StudyPlan& plan);  ///< 32 KiB to max_bytes
std::vector<std::uint32_t> scaling_sides(const StudyPlan& plan);    ///< of square tori
/// Bytes a rank: 375 KiB, as the study says, and 384 KiB, as its script has it.
inline constexpr std::array<std::uint64_t, 2> kScalingBytes = {375 << 10, 384 << 10};
std::vector<Contender> scaling_contenders(std::string_view network);
std::string training_network(const StudyPlan& plan);
std::vector<Contender> training_contenders(std::string_view network);
/// Sizes of all-reduces: of each layer, and of each network; ascending.
std::vector<std::uint64_t> training_sizes(const StudyPlan& plan);
/// \}

/// A measurement of the study's released simulator.
struct Measured {
  std::string network;
  std::uint64_t bytes = 0;
  std::string label;
  Contender contender;
  bool lockstep = false;
  std::uint64_t cycles = 0;
};
std::vector<Measured> measured(const StudyPlan& plan);
/// The same point with the parameters that imitate that simulator, and with ours on the machine.
/// \{
Point compatible_point(const StudyPlan& plan, const Measured& measured);
Point default_point(const StudyPlan& plan, const Measured& measured);
/// \}

/// Everything that the parts need, each point once.
std::vector<Point> points_of(const StudyPlan& plan);

}  // namespace multitree::tools
