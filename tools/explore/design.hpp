// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The file of `multitree explore`: values of each parameter, and the points that they span.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective.hpp"
#include "nic/parameters.hpp"
#include "topologies/topology.hpp"

namespace multitree::tools {

/// Of the file.
inline constexpr std::string_view kExplorationSchema = "multitree/exploration/1";

/// What a parameter belongs to. Designs are compared where they do the same work.
enum class AxisKind : std::uint8_t { Work, Design };

/// A parameter and its values.
struct Axis {
  struct Value {
    std::string json;  ///< canonical
    std::string text;  ///< for eyes
  };
  std::string name;
  AxisKind kind = AxisKind::Design;
  std::vector<Value> values;
};

/// A collective beside the one that is timed.
struct BackgroundJob {
  Collective collective = Collective::AllReduce;
  std::string algorithm;
  std::uint64_t bytes = 0;
  Time start{};
  std::uint32_t priority = 0;
};

/// How points are simulated.
enum class ModelRule : std::uint8_t { Auto, Message, Flit };
/// What is to be small besides the time.
enum class Cost : std::uint8_t { Cells, MemoryBits };
std::string_view to_string(ModelRule rule);
std::string_view to_string(Cost cost);

/// One combination of values.
struct ExplorePoint {
  std::vector<std::uint32_t> at;  ///< [axis]: which of its values
  std::uint32_t topology = 0;     ///< into ExploreDesign::topologies
  std::uint32_t algorithm = 0;    ///< into ExploreDesign::algorithms
  std::string background;         ///< canonical JSON
  Collective collective = Collective::AllReduce;
  std::uint64_t bytes = 0;
  std::string stragglers;  ///< "5:10us,...", or "none"
  std::string adders;      ///< types that units add: of the area alone
  bool is_hardware = true;
  bool has_header_flits = false;  ///< they are given; otherwise the hardware's follow from routes
  nic::Parameters parameters;     ///< with those of the machine
  std::string content;            ///< all that its simulation is a function of, as a line of JSON
  std::string id;                 ///< a digest of it
};

struct NamedTopology {
  std::string spec, digest;
  Topology topology;
};
struct NamedAlgorithm {
  std::string spec, where;  ///< where: "file:line: " of it
};

struct ExploreDesign {
  std::vector<Axis> axes;  ///< all, the first varying slowest
  std::vector<NamedTopology> topologies;
  std::vector<NamedAlgorithm> algorithms;
  ModelRule model = ModelRule::Auto;
  std::vector<Cost> costs;

  [[nodiscard]] std::size_t num_points() const;
  /// \pre index < num_points()
  [[nodiscard]] ExplorePoint point(std::size_t index) const;
};

/// Reads what docs/file-formats.md describes. \throws Error(InvalidInput) "file:line: ..." naming
/// what was expected and found; Error(Io) for files that it names.
ExploreDesign read_explore_design(std::string_view text, const std::string& file);

/// The jobs of ExplorePoint::background.
std::vector<BackgroundJob> background_jobs(const std::string& json);

/// 16 hexadecimal digits of FNV-1a.
std::string digest_of(std::string_view text);

}  // namespace multitree::tools
