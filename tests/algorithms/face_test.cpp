// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Proofs and files in plain types, as programs that use the library have them.
#include <gmock/gmock.h>

#include <filesystem>

#include "algorithms/cost.hpp"
#include "algorithms/io/files.hpp"
#include "algorithms/io/proof.hpp"
#include "algorithms/registry.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kBytes = 64 << 20;

TEST(Proof, SaysTheOptimumAndHowNearASchedule) {
  const Topology mesh = make_topology("mesh:4x4");
  const Proof proof = prove_bound(mesh, Collective::AllReduce);
  EXPECT_EQ(proof.bound, "10");
  EXPECT_TRUE(proof.optimum);

  const Schedule ring = make_schedule("ring", mesh);
  const ProofReport of_ring = check_proof(proof.certificate, ring, mesh, kBytes);
  EXPECT_TRUE(of_ring.ok());
  EXPECT_EQ(of_ring.bound, proof.bound);
  EXPECT_FALSE(of_ring.optimal);
  EXPECT_GT(of_ring.ratio, 1);
  EXPECT_GT(predict_time(ring, mesh, kBytes).seconds(), of_ring.bound_seconds);

  const Schedule best = make_schedule("allreduce-optimal", mesh);
  const ProofReport of_best = check_proof(proof.certificate, best, mesh, kBytes);
  EXPECT_TRUE(of_best.optimal);
  EXPECT_EQ(of_best.load, proof.bound);
  EXPECT_EQ(of_best.ratio, 1);
}

TEST(Proof, AFalseOneIsFound) {
  const Topology ring = make_topology("ring:4");
  const Schedule schedule = make_schedule("ring", ring);
  std::string text = prove_bound(ring, Collective::AllReduce).certificate;
  const std::string bound = "\"bound\":\"";
  ASSERT_THAT(text, HasSubstr(bound));
  text.insert(text.find(bound) + bound.size(), "1");
  const ProofReport report = check_proof(text, schedule, ring, kBytes);
  EXPECT_FALSE(report.ok());
  EXPECT_FALSE(report.optimal);
  EXPECT_THROW(check_proof("{}", schedule, ring, kBytes), Error);
  EXPECT_THROW(check_proof(prove_bound(make_topology("ring:5"), Collective::AllReduce).certificate,
                           schedule, ring, kBytes),
               Error);
}

TEST(PlanFiles, ComeBack) {
  const std::string path = testing::TempDir() + "face_test.json";
  const Topology ring = make_topology("ring:4");
  const SizedSchedule small{make_schedule("double-binary-tree", ring), 4096};
  const SizedSchedule large{make_schedule("ring", ring)};
  for (const SizedSchedules& schedules : {SizedSchedules{large}, SizedSchedules{small, large}}) {
    store_plan_file(path, {ring, schedules}, prove_bound(ring, Collective::AllReduce).certificate);
    const StoredPlan back = load_plan_file(path);
    EXPECT_EQ(back.topology, ring);
    EXPECT_EQ(back.schedules, schedules);
  }
  std::filesystem::remove(path);
  EXPECT_THROW(load_plan_file(path), Error);
}

}  // namespace
}  // namespace multitree
