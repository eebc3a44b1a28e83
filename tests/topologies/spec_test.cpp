// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Spec strings and what is refused in them, for every family.
#include "topologies/spec.hpp"

#include <gtest/gtest.h>

#include "tests/topologies/error_matcher.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Spec, TakesTheTextApart) {
  const Spec spec = Spec::parse("torus:4x2?bw=50GB/s&without=0-1,2-3");
  EXPECT_EQ(spec.text(), "torus:4x2?bw=50GB/s&without=0-1,2-3");
  EXPECT_EQ(spec.name(), "torus");
  EXPECT_EQ(spec.dims_text(), "4x2");
  EXPECT_THAT(spec.dims(1, 3), ElementsAre(4, 2));
  EXPECT_EQ(spec.get("bw", "none"), "50GB/s");
  EXPECT_EQ(spec.get("lat", "none"), "none");
  EXPECT_THAT(spec.get_list("without", ""), ElementsAre("0-1", "2-3"));
  EXPECT_EQ(spec.get_number("seed", 7, 0, 9), 7U);
  EXPECT_NO_THROW(spec.check_all_used());
}

TEST(Spec, ReportsParametersThatNobodyRead) {
  const Spec spec = Spec::parse("dgx2?bandwidht=3&nvlink=1GB/s");
  (void)spec.get("nvlink", "");
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument, [&] { spec.check_all_used(); }),
            "dgx2?bandwidht=3&nvlink=1GB/s: unknown parameter 'bandwidht'; known here: nvlink");
}

struct BadSpec {
  const char* text;
  const char* what;
};

void PrintTo(const BadSpec& bad, std::ostream* out) { *out << slug(bad.text) << slug(bad.what); }

class BadTopologySpec : public testing::TestWithParam<BadSpec> {};

TEST_P(BadTopologySpec, IsRefusedWithTheWholeSpecAndTheReason) {
  const auto [text, what] = GetParam();
  const std::string message =
      error_of(ErrorCode::InvalidArgument, [&] { (void)make_topology(text); });
  EXPECT_THAT(message, StartsWith(std::string(text) + ": "));
  EXPECT_THAT(message, HasSubstr(what));
}

INSTANTIATE_TEST_SUITE_P(
    Syntax, BadTopologySpec,
    testing::Values(BadSpec{"", "the name is empty"}, BadSpec{":4", "the name is empty"},
                    BadSpec{"?bw=3", "the name is empty"},
                    BadSpec{"thorus:4x4", "twisted-torus; did you mean 'torus'?"},
                    BadSpec{"ring:4?", "expected key=value"},
                    BadSpec{"ring:4?bw", "expected key=value after '?' and '&', got 'bw'"},
                    BadSpec{"ring:4?bw=", "expected key=value"},
                    BadSpec{"ring:4?=3", "expected key=value"},
                    BadSpec{"ring:4?bw=1GB/s&", "expected key=value"},
                    BadSpec{"ring:4?bw=1GB/s&bw=2GB/s", "parameter 'bw' is given twice"},
                    BadSpec{"ring:4?bandwith=1GB/s", "unknown parameter 'bandwith'"},
                    BadSpec{"ring:4?withot=0-1", "without; did you mean 'without'?"}));

INSTANTIATE_TEST_SUITE_P(
    Sizes, BadTopologySpec,
    testing::Values(
        BadSpec{"torus:4x0", "dims: each size must be a number >= 1, got '0'"},
        BadSpec{"torus:4x", "dims: each size must be a number >= 1, got ''"},
        BadSpec{"torus:4x-4", "got '-4'"}, BadSpec{"torus:4x1e30", "got '1e30'"},
        BadSpec{"torus:4x4 ", "got '4 '"}, BadSpec{"torus", "expected at least 1 size"},
        BadSpec{"torus:99999999999", "at most 1048576"},
        BadSpec{"torus:99999999999999999999999", "at most 1048576"},
        BadSpec{"torus:1024x1024x2", "at most 1048576"}, BadSpec{"ring:0", "got '0'"},
        BadSpec{"ring:4x4", "expected 1 size"}, BadSpec{"full:5000", "at most 16777216 links"},
        BadSpec{"hypercube:21", "at most 20 dimensions"}, BadSpec{"star:0", "got '0'"},
        BadSpec{"bigraph:4x7", "number of switches must be even, got 7"},
        BadSpec{"bigraph:4", "expected 2 size"}, BadSpec{"dgx2:1", "dgx2 has none"},
        BadSpec{"dgx-a100:0", "got '0'"}, BadSpec{"dgx-h100:1000000", "at most 1048576 ranks"},
        BadSpec{"dragonfly:4x2", "expected 3 size(s) as in dragonfly:AxHxP, got 2"},
        BadSpec{"dragonfly:512x512x1", "at most 1048576 ranks"},
        BadSpec{"dragonfly:4x1x1?groups=6", "groups: expected a number from 1 to 5, got '6'"},
        BadSpec{"fattree:4", "expected 2 to 3 size"}, BadSpec{"fattree3:3", "must be even, got 3"},
        BadSpec{"fattree3:1000", "at most 1048576 ranks"},
        BadSpec{"fattree:4x4?oversubscription=3", "3 must divide the 4 links"},
        BadSpec{"fattree:4x4?spines=0", "spines: expected a number from 1"},
        BadSpec{"fattree:4x4x2?spines=2", "give the spines once"},
        BadSpec{"fattree:4x4?spines=2&oversubscription=2", "give the spines once"}));

INSTANTIATE_TEST_SUITE_P(
    Values, BadTopologySpec,
    testing::Values(BadSpec{"ring:4?bw=16", "bw: expected a bandwidth such as 16GB/s"},
                    BadSpec{"ring:4?bw=0GB/s", "it must be > 0"},
                    BadSpec{"ring:4?bw=-1GB/s", "must not be negative"},
                    BadSpec{"ring:4?bw=1e30GB/s", "unknown unit 'e30GB/s'"},
                    BadSpec{"ring:4?lat=5", "lat: expected a time such as 150ns"},
                    BadSpec{"ring:4?lat=2s", "latency must be from 0s to 1s, got 2s"},
                    BadSpec{"torus:4x4?bw=1GB/s,2GB/s,3GB/s", "bw: expected 1 value or 2"},
                    BadSpec{"torus:4x4?bw=1GB/s,", "empty item"},
                    BadSpec{"ring:4?bw=1GB/s,2GB/s", "bw: expected 1 value or 1"},
                    BadSpec{"star:4?bw=1GB/s,2GB/s", "bw: "},
                    BadSpec{"dgx-a100:2?nic=fast", "nic: expected a bandwidth"},
                    BadSpec{"bigraph:2x4?uplink-lat=4", "uplink-lat: expected a time"}));

INSTANTIATE_TEST_SUITE_P(
    Without, BadTopologySpec,
    testing::Values(BadSpec{"ring:4?without=0", "expected A-B or A>B, got '0'"},
                    BadSpec{"ring:4?without=0-2", "without: there is no link 0-2"},
                    BadSpec{"ring:4?without=0-4", "'4' is neither a rank below 4 nor"},
                    BadSpec{"ring:4?without=0-sw", "'sw' is neither"},
                    BadSpec{"ring:4?without=0-1,", "empty item"},
                    BadSpec{"ring:4?without=-", "'' is neither"},
                    BadSpec{"ring:4?without=0-1,1-2", "without: rank 0 (n0) cannot reach rank 1"},
                    BadSpec{"star:4?without=0>sw0", "without: rank 0 (n0) cannot reach rank 1"},
                    BadSpec{"star:4?without=sw0>2", "without: rank 0 (n0) cannot reach rank 2"},
                    BadSpec{"ring:4?without=0-1:2", "0-1: expected 1 to 1 links, got 2"},
                    BadSpec{"ring:4?without=0-1:0", "0-1: expected 1 to 1 links, got 0"}));

INSTANTIATE_TEST_SUITE_P(
    Changes, BadTopologySpec,
    testing::Values(
        BadSpec{"ring:4?dead=4", "dead: '4' is neither a rank below 4 nor the name of a node"},
        BadSpec{"ring:4?dead=0-4", "dead: expected ranks below 4, got 4"},
        BadSpec{"ring:4?dead=0-3", "dead: the topology has no rank"},
        BadSpec{"ring:6?dead=0,3", "dead: rank 0 (n1) cannot reach rank 2 (n4)"},
        BadSpec{"star:4?dead=sw0", "dead: rank 0 (n0) cannot reach rank 1 (n1)"},
        BadSpec{"ring:4?slow=1", "slow: expected NODE:FRACTION or A-B:FRACTION"},
        BadSpec{"ring:4?slow=1:", "slow: expected NODE:FRACTION or A-B:FRACTION"},
        BadSpec{"ring:4?slow=9:0.5", "slow: '9' is neither"},
        BadSpec{"ring:4?slow=1:0", "slow: expected a fraction above 0"},
        BadSpec{"ring:4?slow=1:1.5", "slow: expected a fraction above 0"},
        BadSpec{"ring:4?slow=1:-0.5", "slow: expected a fraction above 0"},
        BadSpec{"ring:4?slow=1:.5", "slow: expected a fraction above 0"},
        BadSpec{"ring:4?slow=1:0.", "slow: expected a fraction above 0"},
        BadSpec{"ring:4?slow=1:0.0000000001", "slow: expected a fraction above 0"},
        BadSpec{"ring:4?slow=1:0GB/s", "slow: expected a bandwidth"},
        BadSpec{"ring:4?slow=0-2:0.5", "slow: there is no link 0-2"},
        BadSpec{"ring:4?parallel=0-1", "parallel: expected A-B:COUNT or COUNT"},
        BadSpec{"ring:4?parallel=0-1:0", "parallel: expected A-B:COUNT or COUNT"},
        BadSpec{"ring:4?parallel=0", "parallel: expected A-B:COUNT or COUNT"},
        BadSpec{"ring:4?parallel=16777216", "parallel: at most 16777216 links"},
        BadSpec{"ring:4?parallel=16777216,16777216", "parallel: at most 16777216 links"},
        BadSpec{"ring:4?ranks=4", "ranks: expected ranks below 4, got 4"},
        BadSpec{"ring:4?ranks=1,1", "ranks: expected each rank once, got 1 twice"},
        BadSpec{"ring:4?ranks=0-2&dead=1", "ranks: expected ranks that are not dead, got 1"},
        BadSpec{"ring:4?ranks=0,2&dead=1,3", "dead, ranks: rank 0 (n0) cannot reach rank 1 (n2)"}));

}  // namespace
}  // namespace multitree
