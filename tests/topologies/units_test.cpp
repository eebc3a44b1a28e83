// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Parsing and printing of quantities.
#include "topologies/units.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/topologies/error_matcher.hpp"

namespace multitree {
namespace {

using testing::HasSubstr;

TEST(Bytes, ParsesBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_bytes("0"), 0U);
  EXPECT_EQ(parse_bytes("100"), 100U);
  EXPECT_EQ(parse_bytes("100B"), 100U);
  EXPECT_EQ(parse_bytes("64M"), 64U << 20);
  EXPECT_EQ(parse_bytes("64MiB"), 64U << 20);
  EXPECT_EQ(parse_bytes("64 MiB"), 64U << 20);
  EXPECT_EQ(parse_bytes("64MB"), 64'000'000U);
  EXPECT_EQ(parse_bytes("1.5GiB"), 3ULL << 29);
  EXPECT_EQ(parse_bytes("2T"), 2ULL << 40);
  EXPECT_EQ(parse_bytes("9223372036854775807"), 9223372036854775807ULL);
  EXPECT_EQ(parse_bytes("0000000000000000000000000007"), 7U);
}

TEST(Bandwidth, ParsesBytesAndBits) {
  EXPECT_EQ(parse_bandwidth("16GB/s").bytes_per_second, 16'000'000'000U);
  EXPECT_EQ(parse_bandwidth("1GiB/s").bytes_per_second, 1U << 30);
  for (const char* text : {"400Gb/s", "400Gbps", "400Gbit/s", "50GB/s", "0.05TB/s"}) {
    EXPECT_EQ(parse_bandwidth(text).bytes_per_second, 50'000'000'000U) << text;
  }
}

TEST(Time, ParsesAllUnits) {
  EXPECT_EQ(parse_time("0s").picoseconds, 0);
  EXPECT_EQ(parse_time("150ns").picoseconds, 150'000);
  EXPECT_EQ(parse_time("1.5us").picoseconds, 1'500'000);
  EXPECT_EQ(parse_time("2ms").picoseconds, 2'000'000'000);
  EXPECT_EQ(parse_time("7ps").picoseconds, 7);
  EXPECT_DOUBLE_EQ(parse_time("3s").seconds(), 3.0);
}

struct BadText {
  const char* text;
};

void PrintTo(const BadText& bad, std::ostream* out) { *out << slug(bad.text); }

class BadQuantity : public testing::TestWithParam<BadText> {};

TEST_P(BadQuantity, IsRefusedWithTheTextInTheMessage) {
  const std::string text = GetParam().text;
  for (const auto& message :
       {error_of(ErrorCode::InvalidArgument, [&] { (void)parse_bytes(text); }),
        error_of(ErrorCode::InvalidArgument, [&] { (void)parse_bandwidth(text); }),
        error_of(ErrorCode::InvalidArgument, [&] { (void)parse_time(text); })}) {
    EXPECT_THAT(message, HasSubstr("'" + text + "'"));
    EXPECT_THAT(message, HasSubstr("expected a "));
  }
}

INSTANTIATE_TEST_SUITE_P(Texts, BadQuantity,
                         testing::Values(BadText{""}, BadText{"  "}, BadText{"x"}, BadText{"..."},
                                         BadText{"-1"}, BadText{"-5ns"}, BadText{"1e30"},
                                         BadText{"nan"}, BadText{"inf"}, BadText{"1.2.3"},
                                         BadText{"99999999999999999999999"}, BadText{"5 GBs"},
                                         BadText{"5gb/s"}, BadText{"+12"}, BadText{"1,5"},
                                         BadText{"0x10"}, BadText{"9223372036854775808TB/s"}));

TEST(Quantities, NeedTheirUnit) {
  EXPECT_THAT(error_of(ErrorCode::InvalidArgument, [] { (void)parse_bandwidth("16"); }),
              HasSubstr("unit is missing"));
  EXPECT_THAT(error_of(ErrorCode::InvalidArgument, [] { (void)parse_time("16"); }),
              HasSubstr("unit is missing"));
  EXPECT_THAT(error_of(ErrorCode::InvalidArgument, [] { (void)parse_time("16GB/s"); }),
              HasSubstr("unknown unit 'GB/s'"));
  EXPECT_THAT(error_of(ErrorCode::InvalidArgument, [] { (void)parse_bandwidth("0GB/s"); }),
              HasSubstr("> 0"));
}

TEST(Quantities, PrintShortest) {
  EXPECT_EQ(format_bytes(0), "0B");
  EXPECT_EQ(format_bytes(100), "100B");
  EXPECT_EQ(format_bytes(64 << 20), "64MiB");
  EXPECT_EQ(format_bytes(1000), "1KB");
  EXPECT_EQ(format_bytes(1025), "1025B");
  EXPECT_EQ(to_string(Bandwidth{16'000'000'000}), "16GB/s");
  EXPECT_EQ(to_string(Bandwidth{300'000'000'000}), "300GB/s");
  EXPECT_EQ(to_string(Bandwidth{12'500'000'000}), "12.5GB/s");
  EXPECT_EQ(to_string(Bandwidth{}), "0B/s");
  EXPECT_EQ(to_string(Time{150'000}), "150ns");
  EXPECT_EQ(to_string(Time{500'000}), "500ns");
  EXPECT_EQ(to_string(Time{-150'000}), "-150ns");
}

TEST(Quantities, PrintedTextParsesBack) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    // All magnitudes, and round values as well as ragged ones.
    std::uint64_t value = (random() >> (1 + random() % 62)) + 1;
    if (i % 2 == 0) value -= value % std::max<std::uint64_t>(value / 100, 1);
    const auto time = static_cast<std::int64_t>(value);
    EXPECT_EQ(parse_bytes(format_bytes(value)), value);
    EXPECT_EQ(parse_bandwidth(to_string(Bandwidth{value})).bytes_per_second, value);
    EXPECT_EQ(parse_time(to_string(Time{time})).picoseconds, time);
  }
}

}  // namespace
}  // namespace multitree
