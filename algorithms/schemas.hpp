// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kinds of JSON files that hold schedules or what is known of them, by their "schema".
#pragma once

#include <array>
#include <string_view>

namespace multitree {

struct FileSchema {
  std::string_view name;
  std::string_view summary;
};

inline constexpr FileSchema kScheduleSchema{"multitree/schedule/1",
                                            "a schedule with its network, perhaps a certificate"};
inline constexpr FileSchema kPlanSchema{"multitree/plan/1", "schedules by size with their network"};
inline constexpr FileSchema kCertificateSchema{"multitree/certificate/1",
                                               "what no schedule can beat on a network, proved"};
inline constexpr FileSchema kTimeCertificateSchema{
    "multitree/time-certificate/1", "what no schedule for a size can take less than, proved"};
inline constexpr FileSchema kLinkTableSchema{"multitree/link-table/1",
                                             "what links were measured to take"};
inline constexpr FileSchema kIterationPlanSchema{
    "multitree/iteration-plan/1", "what an iteration of training sends when, on a network"};
inline constexpr FileSchema kIterationCertificateSchema{
    "multitree/iteration-certificate/2", "what no iteration can beat on a network, proved"};

inline constexpr std::array kFileSchemas{
    kScheduleSchema,  kPlanSchema,          kCertificateSchema,         kTimeCertificateSchema,
    kLinkTableSchema, kIterationPlanSchema, kIterationCertificateSchema};

}  // namespace multitree
