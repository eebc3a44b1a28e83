// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operators of integers, pre-multiplied sums and operators of users, by messages and through the
/// memory of a host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "c_api_support.hpp"

namespace multitree::c_api_test {
namespace {

constexpr int kRanks = 3;
/// A few elements, and more than fit a piece or a message.
constexpr std::size_t kCounts[] = {1, 5, 200'003};

/// By algorithm: messages, or what ranks of one host do.
class Operators : public ::testing::TestWithParam<const char*> {
 protected:
  static mtConfig_t config() {
    mtConfig_t config = loopback();
    config.algorithm = GetParam();
    return config;
  }
  static bool by_messages() { return std::string(GetParam()) != "auto"; }
};
INSTANTIATE_TEST_SUITE_P(Ways, Operators, ::testing::Values("ring", "auto"),
                         [](const auto& test) { return std::string(test.param); });

template <typename T>
std::vector<T> input(int rank, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t hash = (i + 1) * 2654435761U + static_cast<std::size_t>(rank) * 97'003;
    values[i] = static_cast<T>(hash % 3 == 0 ? 0 : hash >> 5);
  }
  return values;
}

std::string words() { return mtGetLastError(nullptr); }

template <typename T, typename F>
void check_all_reduce(mtComm_t comm, int rank, mtDataType_t type, mtRedOp_t op, const F& f) {
  for (const std::size_t count : kCounts) {
    std::vector<T> got(count), want = input<T>(0, count);
    for (int r = 1; r < kRanks; ++r) {
      const std::vector<T> next = input<T>(r, count);
      for (std::size_t i = 0; i < count; ++i) want[i] = f(want[i], next[i]);
    }
    ASSERT_EQ(mtAllReduce(input<T>(rank, count).data(), got.data(), count, type, op, comm, nullptr),
              mtSuccess)
        << words();
    ASSERT_EQ(got, want) << "operator " << op << ", type " << type << ", count " << count;
  }
}

template <typename T>
void check_integers(mtComm_t comm, int rank, mtDataType_t type) {
  const auto check = [&](mtRedOp_t op, auto f) {
    check_all_reduce<T>(comm, rank, type, op, [&](T a, T b) { return static_cast<T>(f(a, b)); });
  };
  check(mtBitAnd, [](T a, T b) { return a & b; });
  check(mtBitOr, [](T a, T b) { return a | b; });
  check(mtBitXor, [](T a, T b) { return a ^ b; });
  check(mtLogicalAnd, [](T a, T b) { return a != 0 && b != 0; });
  check(mtLogicalOr, [](T a, T b) { return a != 0 || b != 0; });
  check(mtLogicalXor, [](T a, T b) { return (a != 0) != (b != 0); });
  check(mtSum, [](T a, T b) { return static_cast<std::uint64_t>(a) + b; });
  check(mtMax, [](T a, T b) { return std::max(a, b); });
  check(mtMin, [](T a, T b) { return std::min(a, b); });
}

TEST_P(Operators, OfIntegersOfAllWidths) {
  const Together all(kRanks, config());
  in_threads(kRanks, [&](int rank) {
    mtComm_t comm = all.comms[rank];
    check_integers<std::int8_t>(comm, rank, mtInt8);
    check_integers<std::uint8_t>(comm, rank, mtUint8);
    check_integers<std::int16_t>(comm, rank, mtInt16);
    check_integers<std::uint16_t>(comm, rank, mtUint16);
    check_integers<std::int32_t>(comm, rank, mtInt32);
    check_integers<std::uint32_t>(comm, rank, mtUint32);
    check_integers<std::int64_t>(comm, rank, mtInt64);
    check_integers<std::uint64_t>(comm, rank, mtUint64);
  });
}

TEST_P(Operators, AreRefusedForOtherTypes) {
  const Together all(kRanks, config());
  float data = 1;
  for (mtComm_t comm : all.comms) {
    EXPECT_EQ(mtAllReduce(&data, &data, 1, mtFloat32, mtLogicalOr, comm, nullptr),
              mtInvalidArgument);
    EXPECT_EQ(words(), "allreduce: logical-or is for integers, found float");
  }
}

/// Every rank has a scalar of its own, and every collective that reduces takes it; also persistent.
TEST_P(Operators, PreMultiplySums) {
  const Together all(kRanks, config());
  in_threads(kRanks, [&](int rank) {
    mtComm_t comm = all.comms[rank];
    for (const mtScalarResidence_t residence : {mtScalarHostImmediate, mtScalarDevice}) {
      std::int32_t scalar = rank + 2;
      mtRedOp_t op = mtSum;
      ASSERT_EQ(mtRedOpCreatePreMulSum(&op, &scalar, mtInt32, residence, comm), mtSuccess);
      if (residence == mtScalarHostImmediate) scalar = 99;  // has been read
      for (const std::size_t count : kCounts) {
        const std::size_t whole = count * kRanks;
        const auto own = input<std::int32_t>(rank, whole);
        std::vector<std::int32_t> want(whole), got(whole);
        for (int r = 0; r < kRanks; ++r) {
          const auto theirs = input<std::int32_t>(r, whole);
          for (std::size_t i = 0; i < whole; ++i) {
            want[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(want[i]) +
                                                static_cast<std::uint32_t>(theirs[i]) * (r + 2));
          }
        }
        ASSERT_EQ(mtAllReduce(own.data(), got.data(), whole, mtInt32, op, comm, nullptr), mtSuccess)
            << words();
        ASSERT_EQ(got, want);
        got = own;
        ASSERT_EQ(mtAllReduce(got.data(), got.data(), whole, mtInt32, op, comm, nullptr),
                  mtSuccess);
        ASSERT_EQ(got, want);
        ASSERT_EQ(mtReduce(own.data(), got.data(), whole, mtInt32, op, 1, comm, nullptr),
                  mtSuccess);
        ASSERT_EQ(got, want);  // elsewhere of the call before
        mtRequest_t request = nullptr;
        ASSERT_EQ(mtReduceScatterInit(own.data(), got.data(), count, mtInt32, op, comm, nullptr,
                                      &request),
                  mtSuccess);
        for (int start = 0; start < 2; ++start) {
          std::fill(got.begin(), got.end(), 0);
          ASSERT_EQ(mtStart(request), mtSuccess);
          ASSERT_EQ(mtRequestWait(request), mtSuccess);
          ASSERT_TRUE(std::equal(got.begin(), got.begin() + count, want.begin() + rank * count));
        }
        ASSERT_EQ(own, input<std::int32_t>(rank, whole));
        ASSERT_EQ(mtRequestFree(&request), mtSuccess);
      }
      EXPECT_EQ(mtRedOpDestroy(op, comm), mtSuccess);
      EXPECT_EQ(mtRedOpDestroy(op, comm), mtInvalidArgument);
    }
  });
}

/// The greatest common divisor with respect to a modulus, which is the state.
void gcd_below(const void* in, void* inout, std::size_t count, mtDataType_t type, void* state) {
  ASSERT_EQ(type, mtUint32);
  const auto modulus = *static_cast<std::uint32_t*>(state);
  const auto* a = static_cast<const std::uint32_t*>(in);
  auto* b = static_cast<std::uint32_t*>(inout);
  for (std::size_t i = 0; i < count; ++i) b[i] = std::gcd(std::gcd(a[i], b[i]), modulus);
}

TEST_P(Operators, OfUsersHaveState) {
  const Together all(kRanks, config());
  in_threads(kRanks, [&](int rank) {
    mtComm_t comm = all.comms[rank];
    std::uint32_t modulus = 2 * 3 * 5 * 7 * 11;
    mtRedOp_t op = mtSum;
    ASSERT_EQ(mtRedOpCreate(&op, &gcd_below, &modulus, 1, comm), mtSuccess);
    check_all_reduce<std::uint32_t>(comm, rank, mtUint32, op, [&](auto a, auto b) {
      return std::gcd(std::gcd(a, b), modulus);
    });
    std::vector<std::uint32_t> data = input<std::uint32_t>(rank, 1000);
    mtRequest_t request = nullptr;
    ASSERT_EQ(mtIAllReduce(data.data(), data.data(), 1000, mtUint32, op, comm, nullptr, &request),
              mtSuccess);
    EXPECT_EQ(mtRedOpDestroy(op, comm), mtSuccess);  // what was started keeps what it needs
    ASSERT_EQ(mtRequestWait(request), mtSuccess);
    EXPECT_EQ(mtRequestFree(&request), mtSuccess);
    EXPECT_EQ(
        data[4],
        std::gcd(std::gcd(input<std::uint32_t>(0, 5)[4],
                          std::gcd(input<std::uint32_t>(1, 5)[4], input<std::uint32_t>(2, 5)[4])),
                 modulus));
  });
}

/// x -> a x + b over pairs of 16 bits: composing them is associative and not commutative.
std::uint32_t compose(std::uint32_t first, std::uint32_t second) {
  const std::uint32_t a = first >> 16, b = first & 0xffff, c = second >> 16, d = second & 0xffff;
  return (a * c & 0xffff) << 16 | ((b * c + d) & 0xffff);
}
void compose_all(const void* in, void* inout, std::size_t count, mtDataType_t, void*) {
  const auto* a = static_cast<const std::uint32_t*>(in);
  auto* b = static_cast<std::uint32_t*>(inout);
  for (std::size_t i = 0; i < count; ++i) b[i] = compose(a[i], b[i]);
}

TEST_P(Operators, ThatDoNotCommuteKeepTheOrderOfRanks) {
  const Together all(kRanks, config());
  in_threads(kRanks, [&](int rank) {
    mtComm_t comm = all.comms[rank];
    mtRedOp_t op = mtSum;
    ASSERT_EQ(mtRedOpCreate(&op, &compose_all, nullptr, 0, comm), mtSuccess);
    if (by_messages()) {
      std::uint32_t data = 0;
      EXPECT_EQ(mtAllReduce(&data, &data, 1, mtUint32, op, comm, nullptr), mtUnsupported);
      EXPECT_THAT(words(), ::testing::HasSubstr("not commutative"));
    } else {
      check_all_reduce<std::uint32_t>(comm, rank, mtUint32, op, &compose);
    }
  });
}

/// A sum that bfloat16 has, and inputs that it has not: rounded where something travels, the same
/// bits at all ranks; also persistent, in a group and at a root.
TEST_P(Operators, TravelAsFewerBytes) {
  const Together all(kRanks, config());
  std::vector<std::vector<float>> sums(kRanks), rounded(kRanks);
  in_threads(kRanks, [&](int rank) {
    mtComm_t comm = all.comms[rank];
    mtRedOp_t op = mtSum, least = mtMin;
    ASSERT_EQ(mtRedOpCreateOnWire(&op, mtSum, mtBfloat16, comm), mtSuccess);
    ASSERT_EQ(mtRedOpCreateOnWire(&least, mtMin, mtFloat16, comm), mtSuccess);
    for (const std::size_t count : kCounts) {
      std::vector<float> whole(count), got(count), other(count);
      for (std::size_t i = 0; i < count; ++i) whole[i] = static_cast<float>(i % 40) - 7;
      ASSERT_EQ(mtAllReduce(whole.data(), got.data(), count, mtFloat32, op, comm, nullptr),
                mtSuccess)
          << words();
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], kRanks * whole[i]);
      ASSERT_EQ(mtReduce(whole.data(), got.data(), count, mtFloat32, least, 1, comm, nullptr),
                mtSuccess);
      if (rank == 1) {
        ASSERT_EQ(got, whole);
      }
      for (float& value : whole) value += 1 / 512.0F;
      ASSERT_EQ(mtGroupStart(), mtSuccess);
      ASSERT_EQ(mtAllReduce(whole.data(), got.data(), count, mtFloat32, op, comm, nullptr),
                mtSuccess);
      ASSERT_EQ(mtAllReduce(whole.data(), other.data(), count, mtFloat32, mtSum, comm, nullptr),
                mtSuccess);
      ASSERT_EQ(mtGroupEnd(), mtSuccess) << words();
      rounded[rank] = got;
      sums[rank] = other;
    }
    double wide = 1;
    EXPECT_EQ(mtAllReduce(&wide, &wide, 1, mtFloat64, op, comm, nullptr), mtInvalidArgument);
    EXPECT_THAT(words(), ::testing::HasSubstr("was made for float, the call is of double"));
    EXPECT_EQ(mtRedOpDestroy(op, comm), mtSuccess);
  });
  EXPECT_EQ(sums[0][9], 3 * (2 + 1 / 512.0F));
  EXPECT_EQ(rounded[0][9], by_messages() ? 6 : sums[0][9]);
  for (int rank = 1; rank < kRanks; ++rank) EXPECT_EQ(rounded[rank], rounded[0]);
}

/// One digest of bits by messages and without, by every kind of call; several ranks of one thread
/// in a group, where each start waits for the others'.
TEST(CApiOperators, ExactSumsAreTheSameBitsEverywhere) {
  std::vector<std::vector<float>> sums;
  for (const char* algorithm : {"ring", "recursive-doubling", "auto"}) {
    mtConfig_t config = loopback();
    config.algorithm = algorithm;
    const Together all(kRanks, config);
    constexpr std::size_t kCount = 5003;
    std::vector<std::vector<float>> in(kRanks, std::vector<float>(kCount)), out = in, means = in;
    std::vector<mtRedOp_t> ops(kRanks), averages(kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      for (std::size_t i = 0; i < kCount; ++i) {
        in[rank][i] = static_cast<float>((i * 7919 + 1) % 1009) / static_cast<float>(rank + 3);
      }
      ASSERT_EQ(mtRedOpCreateExact(&ops[rank], mtSum, mtExactElements, all.comms[rank]), mtSuccess);
      ASSERT_EQ(mtRedOpCreateExact(&averages[rank], mtAvg, mtExactBlocks, all.comms[rank]),
                mtSuccess);
    }
    ASSERT_EQ(mtGroupStart(), mtSuccess);
    for (int rank = 0; rank < kRanks; ++rank) {
      ASSERT_EQ(mtAllReduce(in[rank].data(), out[rank].data(), kCount, mtFloat32, ops[rank],
                            all.comms[rank], nullptr),
                mtSuccess);
    }
    ASSERT_EQ(mtGroupEnd(), mtSuccess) << words();
    in_threads(kRanks, [&](int rank) {
      mtRequest_t request = nullptr;
      ASSERT_EQ(mtIAllReduce(in[rank].data(), means[rank].data(), kCount, mtFloat32, averages[rank],
                             all.comms[rank], nullptr, &request),
                mtSuccess);
      ASSERT_EQ(mtRequestWait(request), mtSuccess);
      ASSERT_EQ(mtRequestFree(&request), mtSuccess);
      std::int32_t whole = rank;  // integers are as ever
      ASSERT_EQ(mtAllReduce(&whole, &whole, 1, mtInt32, ops[rank], all.comms[rank], nullptr),
                mtSuccess);
      ASSERT_EQ(whole, 3);
    });
    for (int rank = 1; rank < kRanks; ++rank) {
      EXPECT_EQ(out[rank], out[0]);
      EXPECT_EQ(means[rank], means[0]);
    }
    out[0].insert(out[0].end(), means[0].begin(), means[0].end());
    sums.push_back(out[0]);
  }
  EXPECT_EQ(sums[1], sums[0]);
  EXPECT_EQ(sums[2], sums[0]);
  EXPECT_FLOAT_EQ(sums[0][0], 1 / 3.0F + 1 / 4.0F + 1 / 5.0F);
}

TEST(CApiOperators, ExactSumsNameWhatIsWrong) {
  const Alone one;
  mtRedOp_t op = mtSum;
  EXPECT_EQ(mtRedOpCreateExact(nullptr, mtSum, mtExactBlocks, one.comm), mtInvalidArgument);
  EXPECT_EQ(mtRedOpCreateExact(&op, mtMax, mtExactBlocks, one.comm), mtInvalidArgument);
  EXPECT_EQ(words(), "base: expected mtSum or mtAvg, found 2");
  const int unknown = std::stoi("3");
  EXPECT_EQ(mtRedOpCreateExact(&op, mtSum, static_cast<mtExact_t>(unknown), one.comm),
            mtInvalidArgument);
  EXPECT_EQ(words(), "unit: expected an mtExact_t, found 3");
}

TEST(CApiOperators, OnTheWireAreRefusedWhereTheyCannotBe) {
  mtConfig_t config = loopback();
  config.algorithm = "recursive-doubling";
  const Together all(4, config);
  in_threads(4, [&](int rank) {
    mtRedOp_t op = mtSum;
    mtComm_t comm = all.comms[rank];
    EXPECT_EQ(mtRedOpCreateOnWire(&op, mtSum, mtFloat64, comm), mtInvalidArgument);
    EXPECT_EQ(words(), "wire: expected mtFloat16, mtBfloat16 or mtInt8, found 8");
    EXPECT_EQ(mtRedOpCreateOnWire(&op, mtBitAnd, mtInt8, comm), mtInvalidArgument);
    EXPECT_EQ(words(), "base: expected mtSum, mtProd, mtMax, mtMin or mtAvg, found 32");
    EXPECT_EQ(mtRedOpCreateOnWire(nullptr, mtSum, mtInt8, comm), mtInvalidArgument);
    ASSERT_EQ(mtRedOpCreateOnWire(&op, mtSum, mtInt8, comm), mtSuccess);
    float value = 1;
    EXPECT_EQ(mtAllReduce(&value, &value, 1, mtFloat32, op, comm, nullptr), mtUnsupported);
    EXPECT_THAT(words(), ::testing::HasSubstr("sums each chunk at one rank"));
    const std::vector<size_t> counts(4, 1);
    std::vector<float> shares(4, 1);
    EXPECT_EQ(mtReduceScatterv(shares.data(), &value, counts.data(), mtFloat32, op, comm, nullptr),
              mtInvalidArgument);
    EXPECT_THAT(words(), ::testing::HasSubstr("expected a built-in mtRedOp_t"));
    EXPECT_EQ(mtAllReduce(&value, &value, 1, mtFloat32, mtSum, comm, nullptr), mtSuccess);
    EXPECT_EQ(value, 4);  // nothing was harmed
  });
}

TEST(CApiOperators, WrongArgumentsAreNamed) {
  const Alone one, other;
  mtRedOp_t op = mtSum;
  double scalar = 2;
  EXPECT_EQ(mtRedOpCreate(nullptr, &compose_all, nullptr, 1, one.comm), mtInvalidArgument);
  EXPECT_EQ(words(), "op is NULL");
  EXPECT_EQ(mtRedOpCreate(&op, nullptr, nullptr, 1, one.comm), mtInvalidArgument);
  EXPECT_EQ(words(), "function is NULL");
  EXPECT_EQ(mtRedOpCreate(&op, &compose_all, nullptr, 1, nullptr), mtInvalidArgument);
  EXPECT_EQ(mtRedOpCreatePreMulSum(&op, nullptr, mtFloat64, mtScalarDevice, one.comm),
            mtInvalidArgument);
  EXPECT_EQ(words(), "scalar is NULL");
  const auto nowhere = static_cast<mtScalarResidence_t>(std::stoi("2"));
  EXPECT_EQ(mtRedOpCreatePreMulSum(&op, &scalar, mtFloat64, nowhere, one.comm), mtInvalidArgument);
  EXPECT_EQ(words(), "residence: expected an mtScalarResidence_t, found 2");
  EXPECT_EQ(mtRedOpDestroy(mtMax, one.comm), mtInvalidArgument);
  ASSERT_EQ(mtRedOpCreatePreMulSum(&op, &scalar, mtFloat64, mtScalarDevice, one.comm), mtSuccess);
  float data = 3;
  EXPECT_EQ(mtAllReduce(&data, &data, 1, mtFloat32, op, one.comm, nullptr), mtInvalidArgument);
  EXPECT_THAT(words(), ::testing::HasSubstr("was made for double, the call is of float"));
  double value = 3;
  EXPECT_EQ(mtAllReduce(&value, &value, 1, mtFloat64, op, other.comm, nullptr), mtInvalidArgument);
  EXPECT_THAT(words(), ::testing::HasSubstr("was made for another communicator"));
  EXPECT_EQ(mtAllReduce(&value, &value, 1, mtFloat64, op, one.comm, nullptr), mtSuccess);
  EXPECT_EQ(value, 6);
  EXPECT_EQ(mtRedOpDestroy(op, other.comm), mtInvalidArgument);
  EXPECT_EQ(mtRedOpDestroy(op, one.comm), mtSuccess);
  EXPECT_EQ(mtAllReduce(&value, &value, 1, mtFloat64, op, one.comm, nullptr), mtInvalidArgument);
}

}  // namespace
}  // namespace multitree::c_api_test
