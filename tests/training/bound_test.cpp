// SPDX-License-Identifier: BSD-3-Clause
#include "training/bound.hpp"

#include <gmock/gmock.h>

#include "algorithms/certificate/certify.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::training {
namespace {

const Model kFront{"front", {{"embedding", 0, 0, {4 << 20}}, {"rest", 1e-3, 2e-3, {1 << 10}}}};

TEST(Bound, IsComputingOrTheFrontLayers) {
  const IterationBound free = iteration_bound(kFront, 0);
  EXPECT_DOUBLE_EQ(free.seconds, 3e-3);
  EXPECT_EQ(free.layers, 0U);
  const IterationBound slow = iteration_bound(kFront, 1e-9);
  EXPECT_DOUBLE_EQ(slow.seconds, 3e-3 + 4 * 1.048576e-3 + 1.024e-6);
  EXPECT_EQ(slow.layers, 2U);
  // Computing that all gradients could hide in does not hide those that come last.
  const Model last{"last", {{"a", 1, 1, {8}}, {"b", 50, 50, {1}}}};
  EXPECT_DOUBLE_EQ(iteration_bound(last, 1).seconds, 8 + 102);
  EXPECT_EQ(iteration_bound(last, 1).layers, 1U);
}

TEST(BoundCertificate, IsProvedOnItsNetworkAlone) {
  const Topology mesh = make_topology("mesh:3x3");
  const IterationCertificate made = certify_iteration(kFront, mesh);
  EXPECT_THAT(check(made, kFront, mesh), testing::IsEmpty());

  const IterationCertificateFile read =
      parse_iteration_certificate(write_json(made, kFront, mesh), "certificate.json");
  EXPECT_EQ(read.model, kFront);
  EXPECT_THAT(check(read.certificate, read.model, read.topology), testing::IsEmpty());
  EXPECT_THAT(check(made, kFront, make_topology("torus:3x3")), testing::Not(testing::IsEmpty()));
}

/// Layers of 1 us, so that latency of 6 us is most of an iteration, and what a byte takes the rest.
TEST(BoundCertificate, CountsLatencyWithBandwidth) {
  const Topology mesh = make_topology("mesh:4x4?lat=1us&bw=1GB/s");
  const Model small{"small", {{"a", 1e-6, 1e-6, {1000}}, {"b", 1e-6, 1e-6, {1000}}}};
  const IterationCertificate made = certify_iteration(small, mesh);
  EXPECT_EQ(made.all_reduce.reason, TimeReason::Stream);
  EXPECT_EQ(made.bound.layers, 1U);
  EXPECT_DOUBLE_EQ(made.bound.seconds, 4e-6 + 6.5e-6);
  EXPECT_THAT(check(made, small, mesh), testing::IsEmpty());
  // Of a single byte the longest way; of much next to nothing.
  const Model byte{"byte", {{"a", 1e-6, 1e-6, {1}}}};
  EXPECT_NEAR(certify_iteration(byte, mesh).bound.seconds, 8e-6, 1e-9);
  const Model much{"much", {{"a", 1e-6, 1e-6, {1 << 30}}}};
  const double bandwidth =
      iteration_bound(much,
                      seconds_per_byte(certify(mesh, Collective::AllReduce).certificate, mesh))
          .seconds;
  EXPECT_NEAR(certify_iteration(much, mesh).bound.seconds, bandwidth, 2e-6);
  EXPECT_GT(certify_iteration(much, mesh).bound.seconds, bandwidth);
}

TEST(BoundCertificate, ChangedNumbersAreNoticed) {
  const Topology mesh = make_topology("mesh:3x3");
  const IterationCertificate made = certify_iteration(kFront, mesh);
  IterationCertificate wrong = made;
  wrong.bound.seconds *= 1.0001;
  EXPECT_THAT(check(wrong, kFront, mesh), testing::ElementsAre(testing::HasSubstr("front layers")));
  wrong = made;
  wrong.bound.layers = 0;
  EXPECT_THAT(check(wrong, kFront, mesh), testing::SizeIs(1));
  wrong.bound.layers = 3;
  EXPECT_THAT(check(wrong, kFront, mesh), testing::ElementsAre(testing::HasSubstr("front has 2")));
  wrong = made;
  wrong.all_reduce.bound.picoseconds *= 2;
  EXPECT_THAT(check(wrong, kFront, mesh), testing::Not(testing::IsEmpty()));
  // Messages that cost something would prove too much of an iteration.
  wrong = made;
  wrong.all_reduce.message_overhead = Time{1'000'000};
  wrong.all_reduce.bound = evaluate_time(wrong.all_reduce, mesh);
  wrong.bound.seconds += wrong.all_reduce.bound.seconds() - made.all_reduce.bound.seconds();
  EXPECT_THAT(check(wrong, kFront, mesh),
              testing::ElementsAre(testing::HasSubstr("messages that cost nothing")));
  wrong = made;
  wrong.all_reduce.bytes *= 2;
  wrong.all_reduce.bound = evaluate_time(wrong.all_reduce, mesh);
  wrong.bound.seconds += wrong.all_reduce.bound.seconds() - made.all_reduce.bound.seconds();
  EXPECT_THAT(check(wrong, kFront, mesh), testing::ElementsAre(testing::HasSubstr("is for")));
  Model other = kFront;
  other.layers[0].tensors[0] /= 2;
  EXPECT_THAT(check(made, other, mesh), testing::SizeIs(1));
}

TEST(BoundCertificate, FilesAreChecked) {
  for (const std::string_view text :
       {"", "{}", "[1]", R"({"schema":"other"})",
        R"({"schema":"multitree/iteration-certificate/2","seconds":1,"front_layers":1})",
        R"({"schema":"multitree/iteration-certificate/2","seconds":1,"front_layers":1,
            "model":{"name":"m","layers":[]}})",
        R"({"schema":"multitree/iteration-certificate/2","seconds":1,"front_layers":1,
            "model":{"name":"m","layers":[{"name":"a","forward":-1,"backward":1,"tensors":[]}]}})"}) {
    try {
      (void)parse_iteration_certificate(text, "bad.json");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
      EXPECT_THAT(error.what(), testing::StartsWith("bad.json:")) << text;
    }
  }
}

}  // namespace
}  // namespace multitree::training
