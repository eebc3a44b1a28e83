// SPDX-License-Identifier: BSD-3-Clause
#include "training/bound.hpp"

#include <gmock/gmock.h>

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
  wrong.all_reduce.bound *= 2;
  EXPECT_THAT(check(wrong, kFront, mesh), testing::Not(testing::IsEmpty()));
  Model other = kFront;
  other.layers[0].tensors[0] /= 2;
  EXPECT_THAT(check(made, other, mesh), testing::SizeIs(1));
}

TEST(BoundCertificate, FilesAreChecked) {
  for (const std::string_view text :
       {"", "{}", "[1]", R"({"schema":"other"})",
        R"({"schema":"multitree/iteration-certificate/1","seconds":1,"front_layers":1})",
        R"({"schema":"multitree/iteration-certificate/1","seconds":1,"front_layers":1,
            "model":{"name":"m","layers":[]}})",
        R"({"schema":"multitree/iteration-certificate/1","seconds":1,"front_layers":1,
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
