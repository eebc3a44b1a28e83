// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ten steps of training whose sums somebody else makes, and the same on real ranks.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nic/jobs.hpp"
#include "nic/machine/reference.hpp"
#include "nic/table/table.hpp"
#include "topologies/topology.hpp"

namespace multitree::training {

/// Transfers of an iteration that interfaces make by themselves: groups of one image, each with
/// its doorbell. What the host does between two transfers of the same gradients ends an image.
struct Phase {
  std::vector<nic::Job> jobs;          ///< [group]
  std::vector<std::size_t> transfers;  ///< [group]: number in the plan
  nic::Tables image;
};

/// Makes all sums of a phase, in place: [rank], a vector of the image's elements.
using SumUp = std::function<void(const Phase&, const Topology&, nic::Memory&)>;

/// What is trained.
struct TenSteps {
  std::string network, policy, algorithm;
};

/// One tree: the sum of a number is made in one order, whatever it travels with.
inline constexpr const char* kOneTree = "allreduce-optimal?trees=1&segments=1";
/// Policies of all-reduces, and of halves of them: of what plan does not follow from times.
inline constexpr const char* kPolicies[] = {"bsp", "wfbp", "mg-wfbp?small=1KB", "priority",
                                            "dear?fusion=none"};

/// Letters for a test's name.
std::string name_of(const testing::TestParamInfo<TenSteps>& info);

/// The digest of the parameters of real ranks, a process each, with messages between them; as
/// `train run` prints it. Fails the test if there is none.
std::string digest_of_ranks(const TenSteps& steps);
/// Trains as those do, but for who sums up. \returns the digest of the parameters of all ranks;
/// fails the test if they differ
std::string train(const TenSteps& steps, const SumUp& sum_up);

}  // namespace multitree::training
