// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exact sums: the definition, by another arithmetic; every instruction set; every way of summing
/// gives the same bits.
#include "runtime/kernels/exact.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "runtime/communicator.hpp"
#include "runtime/kernels/float16_internal.hpp"
#include "runtime/kernels/kernels_internal.hpp"
#include "support.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime::test {
namespace {

constexpr DataType kFloats[] = {DataType::Float16, DataType::BFloat16, DataType::Float32,
                                DataType::Float64};
constexpr Summing kExact[] = {Summing::Elements, Summing::Blocks};
constexpr std::size_t kBlock = 32;

/// A bit more than a float, and as wide: 64 bits and 15 of exponent.
static_assert(std::numeric_limits<long double>::digits >= 64);

/// Reads and writes elements of the floating types.
class Format {
 public:
  explicit Format(DataType type) : type_(type) {}

  [[nodiscard]] long double get(const std::byte* at) const {
    switch (type_) {
      case DataType::Float16:
        return load<Half>(at).to_float();
      case DataType::BFloat16:
        return load<Bfloat>(at).to_float();
      case DataType::Float32:
        return load<float>(at);
      default:
        return load<double>(at);
    }
  }
  /// Rounded as exact.hpp says.
  void put(std::byte* at, long double value) const {
    const auto single = static_cast<float>(value);
    switch (type_) {
      case DataType::Float16:
        return store(at, Half::from_float(single));
      case DataType::BFloat16:
        return store(at, Bfloat::from_float(single));
      case DataType::Float32:
        return store(at, single);
      default:
        return store(at, static_cast<double>(value));
    }
  }
  /// The power of two that is the last place of numbers like `value`, as they are computed with.
  [[nodiscard]] int unit(long double value) const {
    const bool wide = type_ == DataType::Float64;
    const int digits = wide ? 53 : 24, least = wide ? -1074 : -149;
    return value == 0 ? least : std::max(least, std::ilogb(value) - digits + 1);
  }

 private:
  template <typename T>
  static T load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  template <typename T>
  static void store(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof value);
  }
  DataType type_;
};

using Bytes = std::vector<std::byte>;

/// What the inputs of all ranks add up to, from the definition. \pre all are finite
Bytes sum_by_definition(const std::vector<Bytes>& inputs, DataType type, Summing summing) {
  const Format format(type);
  const std::size_t width = size_of(type), count = inputs[0].size() / width;
  const std::size_t block = summing == Summing::Blocks ? kBlock : 1;
  Bytes sums(inputs[0].size());
  for (std::size_t first = 0; first < count; first += block) {
    const std::size_t end = std::min(count, first + block);
    long double most = 0;
    for (const Bytes& input : inputs) {
      for (std::size_t i = first; i < end; ++i) {
        most = std::max(most, std::fabs(format.get(input.data() + i * width)));
      }
    }
    const int unit = format.unit(most);
    for (std::size_t i = first; i < end; ++i) {
      std::int64_t sum = 0;
      for (const Bytes& input : inputs) {
        sum += std::llrint(std::ldexp(format.get(input.data() + i * width), -unit));
      }
      format.put(sums.data() + i * width, std::ldexp(static_cast<long double>(sum), unit));
    }
  }
  return sums;
}

/// Numbers of many sizes, some of them 0 or subnormal.
Bytes input_of(std::uint32_t rank, DataType type, std::size_t count, int spread) {
  std::mt19937_64 random(rank * 1000 + count + static_cast<std::size_t>(type));
  const Format format(type);
  Bytes bytes(count * size_of(type));
  for (std::size_t i = 0; i < count; ++i) {
    const auto mantissa = static_cast<long double>(static_cast<std::int64_t>(random()));
    const int power = static_cast<int>(random() % static_cast<std::uint64_t>(spread)) - spread / 2;
    long double value = std::ldexp(mantissa, power - 63);
    if (random() % 16 == 0) value = std::ldexp(value, type == DataType::Float64 ? -1060 : -140);
    if (random() % 16 == 0) value = -0.0L;
    format.put(bytes.data() + i * size_of(type), value);
  }
  return bytes;
}

/// All that a sum goes through at a rank, for the contributions of as many.
Bytes sum_by_kernels(const std::vector<Bytes>& inputs, ExactForm form) {
  form.count = inputs[0].size() / size_of(form.type);
  const std::size_t length = size_of(form.whole_type());
  Bytes most(form.exponents() * size_of(form.exponent_type()));
  for (const Bytes& input : inputs) {
    Bytes own(most.size());
    exponents_of(form, own.data(), input.data());
    const std::size_t step = size_of(form.exponent_type());
    for (std::size_t at = 0; at < most.size(); at += step) {
      std::uint16_t a = 0, b = 0;
      std::memcpy(&a, most.data() + at, step);
      std::memcpy(&b, own.data() + at, step);
      a = std::max(a, b);
      std::memcpy(most.data() + at, &a, step);
    }
  }
  std::vector<std::int64_t> sums(form.count);
  Bytes wholes(form.count * length);
  const auto read = [&](std::size_t i) {
    if (length == 8) {
      std::int64_t value = 0;
      std::memcpy(&value, wholes.data() + i * 8, 8);
      return value;
    }
    std::int32_t value = 0;
    std::memcpy(&value, wholes.data() + i * 4, 4);
    return std::int64_t{value};
  };
  for (const Bytes& input : inputs) {
    to_whole(form, wholes.data(), input.data(), most.data());
    for (std::size_t i = 0; i < form.count; ++i) sums[i] += read(i);
  }
  for (std::size_t i = 0; i < form.count; ++i) {
    if (length == 4) {
      EXPECT_EQ(sums[i], static_cast<std::int32_t>(sums[i])) << "does not fit";
    }
    std::memcpy(wholes.data() + i * length, &sums[i], length);
  }
  Bytes result(inputs[0].size());
  from_whole(form, result.data(), wholes.data(), most.data());
  return result;
}

TEST(Exact, IsAsDefined) {
  for (const DataType type : kFloats) {
    for (const Summing summing : kExact) {
      for (const std::uint32_t ranks : {1U, 2U, 7U, 128U, 129U, 1000U}) {
        const int spread = type == DataType::Float16 ? 20 : 40;
        std::vector<Bytes> inputs;
        for (std::uint32_t r = 0; r < ranks; ++r) inputs.push_back(input_of(r, type, 197, spread));
        ASSERT_EQ(sum_by_kernels(inputs, exact_form(type, summing, ranks)),
                  sum_by_definition(inputs, type, summing))
            << to_string(type) << " " << to_string(summing) << " " << ranks;
      }
    }
  }
}

/// The largest numbers that there are, all of one sign, as many as fit.
TEST(Exact, HasRoomForAsManyAsItSays) {
  const std::pair<DataType, std::uint32_t> cases[] = {
      {DataType::Float32, 128}, {DataType::Float32, 129}, {DataType::Float64, 1024}};
  for (const auto& [type, ranks] : cases) {
    const Format format(type);
    Bytes one(size_of(type));
    const long double most = type == DataType::Float64 ? 0x1.fffffffffffffp+900L : 0x1.fffffep+100L;
    format.put(one.data(), -most);
    const Bytes sum =
        sum_by_kernels(std::vector(ranks, one), exact_form(type, Summing::Elements, ranks));
    Bytes want(one.size());
    format.put(want.data(), -most * ranks);
    EXPECT_EQ(sum, want);
    format.put(one.data(), type == DataType::Float64 ? 0x1.fffffffffffffp+1023L : 0x1.fffffep+127L);
    const Bytes over =
        sum_by_kernels(std::vector(ranks, one), exact_form(type, Summing::Elements, ranks));
    EXPECT_EQ(format.get(over.data()), std::numeric_limits<long double>::infinity());
  }
  EXPECT_THROW(exact_form(DataType::Float64, Summing::Blocks, 1025), Error);
  EXPECT_THROW(exact_form(DataType::Float32, Summing::Blocks, (1U << 20) + 1), Error);
}

/// Against the sum without any rounding.
TEST(Exact, IsOffByLessThanItSays) {
  const Format format(DataType::Float32);
  constexpr std::uint32_t kRanks = 24;
  std::vector<Bytes> inputs;
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    inputs.push_back(input_of(r, DataType::Float32, 4000, 30));
  }
  const Bytes sums =
      sum_by_kernels(inputs, exact_form(DataType::Float32, Summing::Elements, kRanks));
  long double worst = 0;
  for (std::size_t at = 0; at < sums.size(); at += sizeof(float)) {
    __int128 exact = 0;  // in units of 2^-60
    long double most = 0;
    for (const Bytes& input : inputs) {
      const long double value = format.get(input.data() + at);
      most = std::max(most, std::fabs(value));
      // What is below, subnormals, is far below the last place of anything else.
      exact += static_cast<__int128>(std::ldexp(value, 60));
    }
    const long double got = format.get(sums.data() + at);
    const long double error = std::fabs(got - std::ldexp(static_cast<long double>(exact), -60));
    const long double last = std::ldexp(1.0L, format.unit(most));
    const long double rounding = std::ldexp(0.5L, format.unit(got));
    ASSERT_LE(error, kRanks / 2.0L * last + rounding);
    worst = std::max(worst, error / last);
  }
  EXPECT_GT(worst, 0.5);  // the data can tell
}

TEST(Exact, TreatsWhatIsNotFiniteAsSumsDo) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  struct Special {
    float a, b, sum;
  };
  const Special cases[] = {{kInf, 1, kInf},  {-kInf, 3e38F, -kInf}, {kInf, -kInf, kNan},
                           {kNan, 1, kNan},  {-kNan, kInf, kNan},   {kInf, kInf, kInf},
                           {0, -0.0F, 0.0F}, {-0.0F, -0.0F, 0.0F},  {3e38F, 3e38F, kInf},
                           {1, 2, 3}};
  for (const std::uint32_t ranks : {2U, 200U}) {  // short and wide whole numbers
    for (const Special& one : cases) {
      std::vector<Bytes> inputs(ranks, Bytes(sizeof(float)));
      std::memcpy(inputs[0].data(), &one.a, sizeof one.a);
      std::memcpy(inputs[ranks - 1].data(), &one.b, sizeof one.b);
      const Bytes bytes =
          sum_by_kernels(inputs, exact_form(DataType::Float32, Summing::Elements, ranks));
      std::uint32_t bits = 0;
      std::memcpy(&bits, bytes.data(), sizeof bits);
      const auto want = std::bit_cast<std::uint32_t>(std::isnan(one.sum) ? kNan : one.sum);
      EXPECT_EQ(bits, want) << one.a << " + " << one.b;
    }
  }
  // The neighbours in its block cannot be told.
  std::vector<Bytes> inputs(2, Bytes(64 * sizeof(float)));
  std::memcpy(inputs[1].data() + 5 * sizeof(float), &kInf, sizeof kInf);
  const Bytes bytes = sum_by_kernels(inputs, exact_form(DataType::Float32, Summing::Blocks, 2));
  for (std::size_t i = 0; i < 64; ++i) {
    float value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    if (i == 5) {
      EXPECT_EQ(value, kInf);
    } else {
      EXPECT_EQ(std::isnan(value), i < kBlock) << i;
    }
  }
}

TEST(Exact, EverySetHasThePortableBits) {
  std::mt19937_64 random(5);
  for (std::size_t type = 0; type < 4; ++type) {
    for (std::size_t wide = 0; wide < 2; ++wide) {
      for (std::size_t blocks = 0; blocks < 2; ++blocks) {
        const kernels::ExactCodec& portable = kernels::kPortable.exact[type][wide][blocks];
        for (int round = 0; round < 20; ++round) {
          const std::size_t count = random() % 300, offset = random() % 8;
          Bytes input(count * 8 + 16);
          for (std::byte& byte : input) byte = static_cast<std::byte>(random());
          const auto run = [&](const kernels::ExactCodec& codec) {
            Bytes exponents(count * 2 + 2), whole(count * 8 + 16), back(count * 8 + 16);
            codec.exponents(exponents.data(), input.data() + offset, count);
            codec.encode(whole.data() + offset, input.data() + offset, exponents.data(), count);
            codec.decode(back.data(), whole.data() + offset, exponents.data(), count);
            return std::tuple(exponents, whole, back);
          };
          for (const kernels::Set* const set : kernels::usable()) {
            ASSERT_EQ(run(set->exact[type][wide][blocks]), run(portable)) << set->name;
          }
        }
      }
    }
  }
}

/// A way in which ranks may sum: an algorithm's schedules, or without messages.
std::unique_ptr<Communicator> open(const std::string& way, std::shared_ptr<Bootstrap> bootstrap) {
  CommunicatorOptions options;
  options.transport = "loopback";
  const std::uint32_t ranks = bootstrap->size();
  if (way == "host") {
    options.host_path = HostPath::Required;
    return std::make_unique<Communicator>(bootstrap, std::vector<Schedule>{}, options);
  }
  const Topology network = make_topology(fmt::format("full:{}", ranks));
  std::vector<Schedule> schedules;
  for (const Collective collective :
       {Collective::AllReduce, Collective::ReduceScatter, Collective::Reduce}) {
    schedules.push_back(make_schedule(way, network, collective, Rank{0}));
  }
  return std::make_unique<Communicator>(bootstrap, std::move(schedules), options);
}

constexpr std::size_t kShard = 1003;

/// All results of all ranks, by what was called.
using Results = std::map<std::string, Bytes>;

Results results_of(const std::string& way, std::uint32_t ranks) {
  std::vector<Results> by_rank(ranks);
  run_ranks(ranks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto communicator = open(way, bootstrap);
    const std::uint32_t rank = index(communicator->rank());
    Results& results = by_rank[rank];
    for (const DataType type : kFloats) {
      for (const Summing summing : kExact) {
        const std::size_t width = size_of(type);
        const Bytes input = input_of(rank, type, kShard * ranks, 18);
        const auto call = [&](Collective collective, const Bytes& send, Bytes& recv, ReduceOp op) {
          Call made{collective,  send.data(),
                    recv.data(), kShard * (is_sharded(collective) ? 1 : ranks),
                    type,        op};
          made.summing = summing;
          return made;
        };
        const auto name = [&](const std::string& what) {
          return fmt::format("{} {} {}", what, to_string(type), to_string(summing));
        };
        Bytes sum(input.size()), mean = input, shard(kShard * width), root(input.size());
        communicator->run(call(Collective::AllReduce, input, sum, ReduceOp::Sum));
        // In place, and with another call that is started before it ends.
        Request request =
            communicator->start(call(Collective::AllReduce, mean, mean, ReduceOp::Avg));
        communicator->run(call(Collective::ReduceScatter, input, shard, ReduceOp::Sum));
        request.wait();
        Bytes inside = input;
        Call in_place = call(Collective::ReduceScatter, inside, inside, ReduceOp::Sum);
        in_place.recv = inside.data() + rank * shard.size();
        const Prepared prepared = communicator->prepare(in_place);
        communicator->start(prepared).wait();
        EXPECT_TRUE(std::equal(shard.begin(), shard.end(), inside.begin() + rank * shard.size()));
        {
          const Request dropped =
              communicator->start(call(Collective::Reduce, input, root, ReduceOp::Sum));
        }
        EXPECT_EQ(input, input_of(rank, type, kShard * ranks, 18));
        results[name("sum")] = sum;
        results[name("mean")] = mean;
        results[name("shard")] = shard;
        EXPECT_EQ(root, rank == 0 ? sum : Bytes(root.size()));
      }
    }
  });
  Results all = by_rank[0];
  for (std::uint32_t r = 1; r < ranks; ++r) {
    for (const auto& [name, bytes] : by_rank[r]) {
      if (name.starts_with("shard")) {
        all[name].insert(all[name].end(), bytes.begin(), bytes.end());
      } else {
        EXPECT_EQ(bytes, all[name]) << name << " of rank " << r;
      }
    }
  }
  return all;
}

TEST(ExactSums, AreTheSameBitsInEveryOrder) {
  for (const std::uint32_t ranks : {1U, 3U, 4U, 5U}) {
    const Results expected = results_of("ring", ranks);
    for (const DataType type : kFloats) {
      std::vector<Bytes> inputs;
      for (std::uint32_t r = 0; r < ranks; ++r)
        inputs.push_back(input_of(r, type, kShard * ranks, 18));
      for (const Summing summing : kExact) {
        const std::string name = fmt::format("sum {} {}", to_string(type), to_string(summing));
        EXPECT_EQ(expected.at(name), sum_by_definition(inputs, type, summing)) << name;
        if (summing == Summing::Elements) {
          // In blocks a shard has blocks of its own.
          EXPECT_EQ(expected.at("shard" + name.substr(3)), expected.at(name));
        }
      }
    }
    for (const std::string way : {"recursive-doubling", "multitree", "halving-doubling", "host"}) {
      EXPECT_TRUE(results_of(way, ranks) == expected) << way << " " << ranks;
    }
  }
}

/// Ranks that bring nothing change nothing.
TEST(ExactSums, DoNotDependOnTheNumberOfRanks) {
  Bytes sums[2];
  for (const std::uint32_t ranks : {3U, 6U}) {
    run_ranks(ranks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      const auto communicator = open("multitree", bootstrap);
      const std::uint32_t rank = index(communicator->rank());
      const Bytes input =
          rank < 3 ? input_of(rank, DataType::Float32, 999, 40) : Bytes(999 * sizeof(float));
      Bytes sum(input.size());
      Call call{Collective::AllReduce, input.data(), sum.data(), 999, DataType::Float32};
      call.summing = Summing::Blocks;
      communicator->run(call);
      if (rank == 0) sums[ranks / 6] = sum;
    });
  }
  EXPECT_EQ(sums[0], sums[1]);
}

TEST(ExactSums, LeaveIntegersAndOtherOperatorsAsTheyAre) {
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto communicator = open("ring", bootstrap);
    for (const DataType type : {DataType::Int32, DataType::Float32}) {
      check_collective(*communicator, Collective::AllReduce, Rank{0}, 100, type, ReduceOp::Max,
                       false);
    }
    std::int32_t value = 5;
    Call call{Collective::AllReduce, &value, &value, 1, DataType::Int32};
    call.summing = Summing::Elements;
    communicator->run(call);
    EXPECT_EQ(value, 10);
    float empty = 1;
    call = {Collective::AllReduce, &empty, &empty, 0, DataType::Float32};
    call.summing = Summing::Elements;
    communicator->run(call);
    EXPECT_EQ(empty, 1);
  });
}

TEST(ExactSums, RefuseWhatTheyCannotBe) {
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto communicator = open("ring", bootstrap);
    float value = 5;
    Call call{Collective::AllReduce, &value, &value, 1, DataType::Float32};
    call.summing = Summing::Elements;
    call.wire = WireType::Float16;
    try {
      communicator->run(call);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("allreduce with exact sums: expected host "
                                                     "memory and numbers as they are on the wire, "
                                                     "found half"));
    }
    call.wire = WireType::AsIs;
    communicator->run(call);
    EXPECT_EQ(value, 10);
  });
}

/// After an exact sum, what has finished is counted in the user's calls.
TEST(ExactSums, CountAsOneCall) {
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto communicator = open("ring", bootstrap);
    float value = 1;
    Call call{Collective::AllReduce, &value, &value, 1, DataType::Float32};
    call.summing = Summing::Elements;
    for (int i = 0; i < 3; ++i) communicator->run(call);
    const std::uint32_t ranks = bootstrap->size();
    const auto next = communicator->shrink(
        [ranks](std::span<const Seat>) {
          std::vector<SizedSchedules> plans;
          plans.push_back(for_all_sizes(ring_schedule(Collective::AllReduce, ranks)));
          return PlansBySize(std::move(plans));
        },
        Deadline(10'000));
    EXPECT_EQ(next->finished_before(), 3U);
  });
}

}  // namespace
}  // namespace multitree::runtime::test
