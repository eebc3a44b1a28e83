// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Certificates in files: round trips, bytes that do not change, and errors with their line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/registry.hpp"
#include "tests/topologies/error_matcher.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

TEST(CertificateFiles, AreReadBackAndWrittenTheSame) {
  for (const char* spec : {"ring:1", "star:3", "mesh:2x3", "dgx-a100:2", "fattree:3x2"}) {
    const Topology topology = make_topology(spec);
    for (const Collective collective : all_collectives()) {
      const Rank last{topology.num_ranks() - 1};
      const Certificate certificate = certify(topology, collective, last).certificate;
      const std::string text = write_certificate_json(certificate, topology);
      const CertificateFile file = parse_certificate_json(text, "file");
      EXPECT_EQ(file.certificate, certificate);
      EXPECT_EQ(file.topology, topology);
      EXPECT_EQ(write_certificate_json(file.certificate, file.topology), text);
    }
  }
}

TEST(CertificateFiles, KeepNumbersOfAnySize) {
  const Topology topology = make_topology("ring:2");
  Certificate certificate = certify(topology, Collective::AllReduce).certificate;
  certificate.bound =
      Exact("123456789012345678901234567890123456789/98765432109876543210987654321");
  certificate.cuts[0].gather = Exact(-8, 9);
  EXPECT_EQ(
      parse_certificate_json(write_certificate_json(certificate, topology), "file").certificate,
      certificate);
}

TEST(CertificateFiles, ScheduleFilesMayHaveOne) {
  const Topology topology = make_topology("mesh:2x2");
  const Schedule schedule = make_schedule("multitree", topology);
  const Certificate certificate = certify(topology, Collective::AllReduce).certificate;
  const std::string text = write_schedule_json(schedule, topology, &certificate);
  const SchedulePlan plan = parse_schedule_json(text, "file");
  EXPECT_EQ(plan.schedule, schedule);
  ASSERT_TRUE(plan.certificate.has_value());
  EXPECT_EQ(*plan.certificate, certificate);
  EXPECT_EQ(write_schedule_json(plan.schedule, plan.topology, &*plan.certificate), text);
  EXPECT_FALSE(parse_schedule_json(write_schedule_json(schedule, topology), "file").certificate);
}

struct BadText {
  const char *from, *to, *message;
};
void PrintTo(const BadText& bad, std::ostream* out) { *out << bad.to; }

class BadCertificates : public testing::TestWithParam<BadText> {};

TEST_P(BadCertificates, NameFileAndLine) {
  const Topology topology = make_topology("star:2");
  std::string text =
      write_certificate_json(certify(topology, Collective::AllReduce).certificate, topology);
  const auto [from, to, message] = GetParam();
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string(from).size(), to);
  const std::string error =
      error_of(ErrorCode::InvalidInput, [&] { parse_certificate_json(text, "c.json"); });
  EXPECT_THAT(error, testing::StartsWith("c.json:"));
  EXPECT_THAT(error, testing::HasSubstr(message));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BadCertificates,
    testing::Values(
        BadText{"certificate/1", "certificate/2", "c.json:2: expected the schema"},
        BadText{"\"hops\":", "\"hop\":", ": unknown key 'hop'"},
        BadText{"\"bound\":\"2\"", "\"bound\":\"2/0\"", "expected a fraction"},
        BadText{"\"bound\":\"2\"", "\"bound\":\"+2\"", "expected a fraction"},
        BadText{"\"bound\":\"2\"", "\"bound\":\"\"", "expected a fraction"},
        BadText{"\"bound\":\"2\"", "\"bound\":\"1/2/3\"", "expected a fraction"},
        BadText{"\"bound\":\"2\"", "\"bound\":\"0x2\"", "expected a fraction"},
        BadText{"\"bound\":\"2\"", "\"bound\":2", "'bound': expected a string"},
        BadText{"\"far\":[0]", "\"far\":[3]", "expected an integer from 0 to 2, got 3"},
        BadText{"\"far\":[0]", "\"far\":0", "'far': expected an array"},
        BadText{"\"far_apart\":[0,1]", "\"far_apart\":[0]", "expected two ranks, got 1"},
        BadText{"\"far_apart\":[0,1]", "\"far_apart\":[0,2]", "expected an integer from 0 to 1"},
        BadText{"\"collective\":\"allreduce\"", "\"collective\":\"gossip\"",
                "expected a collective"},
        BadText{"store and forward", "magic", "expected the model"},
        BadText{"\"ranks\":2,\n\"bound\"", "\"ranks\":0,\n\"bound\"",
                "expected an integer from 1"}));

TEST(CertificateFiles, LeadingZerosAreDecimal) {
  const Topology topology = make_topology("star:2");
  std::string text =
      write_certificate_json(certify(topology, Collective::AllReduce).certificate, topology);
  text.replace(text.find("\"bound\":\"2\""), 11, "\"bound\":\"0010/005\"");
  EXPECT_EQ(parse_certificate_json(text, "file").certificate.bound, 2);
}

}  // namespace
}  // namespace multitree
