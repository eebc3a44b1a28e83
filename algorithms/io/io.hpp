// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedule files (docs/file-formats.md) and pictures.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "algorithms/certificate/certificate.hpp"
#include "algorithms/schedule.hpp"
#include "algorithms/tuning/plan.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// A schedule together with the network it was made for: what a schedule file holds.
struct SchedulePlan {
  Topology topology;
  Schedule schedule;
  /// What the schedule is to be measured by, if the file says it. Not checked
  /// (check_certificate()).
  std::optional<Certificate> certificate = std::nullopt;
};

/// Canonical, byte-stable; a transfer is one line, and so is a cut of the certificate, which may be
/// nullptr.
std::string write_schedule_json(const Schedule& schedule, const Topology& topology,
                                const Certificate* certificate = nullptr);
/// Checks form and ranges, not meaning (that is verify()'s). \throws Error(InvalidInput)
/// "file:line: ...".
SchedulePlan parse_schedule_json(std::string_view text, const std::string& file);

/// Schedules by size with the network that they are for: what `multitree tune` writes.
struct PlanFile {
  Topology topology;
  SizedSchedules schedules;
  std::optional<Certificate> certificate = std::nullopt;  ///< as in SchedulePlan; of all of them
};

/// Canonical, byte-stable; a transfer is one line. \pre check_sized().
std::string write_plan_json(const SizedSchedules& schedules, const Topology& topology,
                            const Certificate* certificate = nullptr);
/// A plan, or a schedule file as a plan for all sizes. Checks form, ranges and sizes, not what the
/// schedules do. \throws Error(InvalidInput) "file:line: ...".
PlanFile parse_plan_json(std::string_view text, const std::string& file);

/// A certificate with the network that it is for.
struct CertificateFile {
  Topology topology;
  Certificate certificate;
};

/// Canonical, byte-stable; a cut is one line.
std::string write_certificate_json(const Certificate& certificate, const Topology& topology);
/// Checks form and ranges, not what the cuts prove (check_certificate()). \throws
/// Error(InvalidInput) "file:line: ...".
CertificateFile parse_certificate_json(std::string_view text, const std::string& file);

/// The tree that one chunk travels, as Graphviz text: vertices ranked by depth, edges labelled by
/// step.
std::string write_tree_dot(const Schedule& schedule, const Topology& topology, std::uint32_t chunk);

}  // namespace multitree
