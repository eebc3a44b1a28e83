// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The C API by one caller: arguments, handles, requests, configurations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "c_api_support.hpp"
#include "tests/paths.hpp"

namespace multitree::c_api_test {
namespace {

using ::testing::HasSubstr;

TEST(CApi, SaysItsVersionAndWords) {
  int version = 0;
  EXPECT_EQ(mtGetVersion(&version), mtSuccess);
  EXPECT_EQ(version, MT_VERSION_CODE);
  EXPECT_EQ(mtGetVersion(nullptr), mtInvalidArgument);
  EXPECT_STREQ(mtGetLastError(nullptr), "version is NULL");
  std::vector<std::string> words;
  for (int r = 0; r < mtNumResults; ++r) {
    words.emplace_back(mtGetErrorString(static_cast<mtResult_t>(r)));
  }
  EXPECT_THAT(words, ::testing::Each(::testing::Not("")));
  EXPECT_EQ(words[mtSuccess], "success");
  EXPECT_STREQ(mtGetErrorString(mtNumResults), "unknown result");
}

TEST(CApi, OneRankCopies) {
  const Alone alone;
  const float in[3] = {1, 2, 3};
  float out[3] = {};
  EXPECT_EQ(mtAllReduce(in, out, 3, mtFloat32, mtAvg, alone.comm, nullptr), mtSuccess);
  EXPECT_THAT(out, ::testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(mtBroadcast(in, out, 2, mtFloat32, 0, alone.comm, nullptr), mtSuccess);
}

TEST(CApi, WrongArgumentsChangeNothing) {
  const Alone alone;
  float data[4] = {1, 2, 3, 4};
  const auto words = [](mtResult_t result, mtResult_t expected) {
    EXPECT_EQ(result, expected);
    return std::string(mtGetLastError(nullptr));
  };
  const auto type = static_cast<mtDataType_t>(10);
  const auto op = static_cast<mtRedOp_t>(7);
  EXPECT_EQ(words(mtAllReduce(data, data, 4, type, mtSum, alone.comm, nullptr), mtInvalidArgument),
            "type: expected an mtDataType_t, found 10");
  EXPECT_EQ(words(mtAllReduce(data, data, 4, mtFloat, op, alone.comm, nullptr), mtInvalidArgument),
            "op: expected an mtRedOp_t, found 7");
  EXPECT_EQ(
      words(mtReduce(data, data, 4, mtFloat, mtSum, 1, alone.comm, nullptr), mtInvalidArgument),
      "root: expected a rank below 1, found 1");
  EXPECT_EQ(
      words(mtAllReduce(nullptr, data, 4, mtFloat, mtSum, alone.comm, nullptr), mtInvalidArgument),
      "allreduce: send is null");
  EXPECT_EQ(
      words(mtAllReduce(data, data + 1, 3, mtFloat, mtSum, alone.comm, nullptr), mtInvalidArgument),
      "allreduce: send and recv overlap without being in place");
  EXPECT_EQ(words(mtAllReduce(data, data, 4, mtFloat, mtSum, alone.comm, data), mtInvalidUsage),
            "stream: expected NULL, as the communicator has no device");
  EXPECT_EQ(words(mtIAllReduce(data, data, 4, mtFloat, mtSum, alone.comm, nullptr, nullptr),
                  mtInvalidArgument),
            "request is NULL");
  EXPECT_EQ(words(mtAllReduce(data, data, std::numeric_limits<std::size_t>::max(), mtFloat, mtSum,
                              alone.comm, nullptr),
                  mtInvalidArgument),
            "allreduce: 18446744073709551615 elements do not fit the address space");
  mtResult_t state = mtInternalError;
  EXPECT_EQ(mtCommGetAsyncError(alone.comm, &state), mtSuccess);
  EXPECT_EQ(state, mtSuccess);
  EXPECT_EQ(mtAllReduce(data, data, 4, mtFloat, mtSum, alone.comm, nullptr), mtSuccess);
}

TEST(CApi, KnowsItsHandles) {
  mtComm_t comm = nullptr;
  ASSERT_EQ(mtCommInitRank(&comm, 1, new_id(), 0), mtSuccess);
  const mtComm_t stale = comm;
  EXPECT_EQ(mtCommDestroy(comm), mtSuccess);
  EXPECT_EQ(mtCommDestroy(stale), mtInvalidArgument);
  EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("found a handle that is none or was destroyed"));
  EXPECT_EQ(mtBarrier(nullptr), mtInvalidArgument);
  ASSERT_EQ(mtCommInitRank(&comm, 1, new_id(), 0), mtSuccess);
  EXPECT_EQ(mtCommAbort(comm), mtSuccess);
  EXPECT_EQ(mtBarrier(comm), mtAborted);
  EXPECT_EQ(mtCommAbort(comm), mtAborted);
}

TEST(CApi, RefusesWrongJobs) {
  mtComm_t comm = nullptr;
  EXPECT_EQ(mtCommInitRank(&comm, 0, new_id(), 0), mtInvalidArgument);
  EXPECT_EQ(mtCommInitRank(&comm, 2, new_id(), 2), mtInvalidArgument);
  EXPECT_STREQ(mtGetLastError(nullptr),
               "expected 1 rank or more and a rank below that, found rank 2 of 2");
  EXPECT_EQ(mtCommInitRank(nullptr, 1, new_id(), 0), mtInvalidArgument);
  const mtUniqueId nonsense = {};
  EXPECT_EQ(mtCommInitRank(&comm, 2, nonsense, 0), mtInvalidArgument);
  EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("unique id: expected the bytes"));
  EXPECT_EQ(comm, nullptr);
}

TEST(CApi, ChecksConfigurations) {
  mtComm_t comm = nullptr;
  const auto words = [&](mtConfig_t config, mtResult_t expected) {
    EXPECT_EQ(mtCommInitRankConfig(&comm, 1, new_id(), 0, &config), expected);
    return std::string(mtGetLastError(nullptr));
  };
  mtConfig_t config = loopback();
  config.magic = 1;
  EXPECT_THAT(words(config, mtInvalidArgument), HasSubstr("from MT_CONFIG_INITIALIZER"));
  config = loopback();
  config.size -= 1;
  EXPECT_THAT(words(config, mtInvalidArgument), HasSubstr("from MT_CONFIG_INITIALIZER"));
  config = loopback();
  config.devices = 2;
  EXPECT_EQ(words(config, mtInvalidArgument), "config.devices: expected 0 to 1, found 2");
  config = loopback();
  config.refine = 2;
  EXPECT_EQ(words(config, mtInvalidArgument), "config.refine: expected 0 to 1, found 2");
  config = loopback();
  config.encrypt = 2;
  EXPECT_EQ(words(config, mtInvalidArgument), "config.encrypt: expected 0 to 1, found 2");
  config.devices = config.refine = 2;
  config.tuning = "/does/not/exist";
  // Of programs that were compiled before the last fields were there.
  for (const std::size_t size : {offsetof(mtConfig_t, devices), offsetof(mtConfig_t, tuning)}) {
    config.size = size;
    EXPECT_EQ(mtCommInitRankConfig(&comm, 1, new_id(), 0, &config), mtSuccess);
    EXPECT_EQ(mtCommDestroy(comm), mtSuccess);
    config.devices = 1;
  }
  config = loopback();
  config.encrypt = 2;
  config.size = offsetof(mtConfig_t, encrypt);
  EXPECT_EQ(mtCommInitRankConfig(&comm, 1, new_id(), 0, &config), mtSuccess);
  EXPECT_EQ(mtCommDestroy(comm), mtSuccess);
  comm = nullptr;
  config = loopback();
  config.deadlineMs = 0;
  EXPECT_EQ(words(config, mtInvalidArgument),
            "config.deadlineMs: expected 1 to 2147483647, found 0");
  config = loopback();
  config.topology = "torus:2x2";
  EXPECT_EQ(words(config, mtInvalidArgument),
            "torus:2x2: expected a network of 1 ranks, as the communicator, found 4");
  config = loopback();
  config.planFile = "/does/not/exist";
  EXPECT_THAT(words(config, mtSystemError), HasSubstr("/does/not/exist"));
  config.topology = "full:1";
  EXPECT_THAT(words(config, mtInvalidArgument), HasSubstr("found both"));
}

TEST(CApi, NamesTheRanksThatDoNotCome) {
  mtConfig_t config = loopback();
  config.initDeadlineMs = 300;
  mtComm_t comm = nullptr;
  EXPECT_EQ(mtCommInitRankConfig(&comm, 3, new_id(), 1, &config), mtTimeout);
  EXPECT_THAT(
      mtGetLastError(nullptr),
      ::testing::MatchesRegex("rank 1: waited [0-9]+ ms in vain for rank 0, 2; ranks 0, 2 have not "
                              "joined, while rank 1 waits for them at a barrier"));
  EXPECT_EQ(comm, nullptr);
}

TEST(CApi, RefusesRanksThatAreNoneOfTheJob) {
  const mtConfig_t config = loopback();
  const mtUniqueId id = new_id();
  std::atomic<int> joined{0};
  std::atomic<bool> refused{false};
  in_threads(3, [&](int rank) {
    // Rank 0 says that they are two, rank 2 comes as one of three.
    mtComm_t comm = nullptr;
    while (rank == 2 && joined < 2) std::this_thread::yield();
    const mtResult_t result = mtCommInitRankConfig(&comm, rank == 2 ? 3 : 2, id, rank, &config);
    EXPECT_EQ(result, rank == 2 ? mtInvalidArgument : mtSuccess) << mtGetLastError(nullptr);
    if (rank == 2) {
      EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("this job has 2 ranks, found rank 2 of 3"));
      refused = true;
    } else {
      ++joined;
      while (!refused) std::this_thread::yield();
      EXPECT_EQ(mtCommDestroy(comm), mtSuccess);
    }
  });
}

TEST(CApi, RequestsKeepTheirRules) {
  const Alone alone;
  float data = 1;
  mtRequest_t persistent = nullptr, once = nullptr;
  ASSERT_EQ(mtAllReduceInit(&data, &data, 1, mtFloat, mtSum, alone.comm, nullptr, &persistent),
            mtSuccess);
  int done = 0;
  EXPECT_EQ(mtRequestTest(persistent, &done), mtSuccess);
  EXPECT_EQ(done, 1) << "not started is complete";
  ASSERT_EQ(mtIAllReduce(&data, &data, 1, mtFloat, mtSum, alone.comm, nullptr, &once), mtSuccess);
  EXPECT_EQ(mtStart(once), mtInvalidUsage);
  EXPECT_EQ(mtRequestWait(once), mtSuccess);
  EXPECT_EQ(mtStart(persistent), mtSuccess);
  EXPECT_EQ(mtStart(persistent), mtInvalidUsage);
  EXPECT_EQ(mtRequestFree(&persistent), mtSuccess);
  EXPECT_EQ(mtRequestFree(&persistent), mtSuccess) << "NULL by now";
  EXPECT_EQ(mtRequestFree(&once), mtSuccess);
  EXPECT_EQ(mtRequestWait(nullptr), mtInvalidArgument);
}

TEST(CApi, RequestsOutliveTheirCommunicator) {
  mtComm_t comm = nullptr;
  ASSERT_EQ(mtCommInitRank(&comm, 1, new_id(), 0), mtSuccess);
  float data = 1;
  mtRequest_t finished = nullptr, persistent = nullptr;
  ASSERT_EQ(mtIAllReduce(&data, &data, 1, mtFloat, mtSum, comm, nullptr, &finished), mtSuccess);
  ASSERT_EQ(mtAllReduceInit(&data, &data, 1, mtFloat, mtSum, comm, nullptr, &persistent),
            mtSuccess);
  EXPECT_EQ(mtCommDestroy(comm), mtSuccess);
  EXPECT_EQ(mtRequestWait(finished), mtSuccess);
  EXPECT_EQ(mtStart(persistent), mtInvalidUsage);
  EXPECT_EQ(mtRequestFree(&finished), mtSuccess);
  EXPECT_EQ(mtRequestFree(&persistent), mtSuccess);
}

TEST(CApi, TopologyAlgorithmAndPlanAreUsed) {
  const std::string data = test::source_path("tests/data/c/");
  mtConfig_t config = loopback();
  config.topology = "torus:2x2";
  config.algorithm = "multitree";
  config.segmentBytes = 64;
  { const Together all(4, config); }
  config.algorithm = "no-such";
  const mtUniqueId id = new_id();
  in_threads(4, [&](int rank) {
    mtComm_t comm = nullptr;
    EXPECT_EQ(mtCommInitRankConfig(&comm, 4, id, rank, &config), mtInvalidArgument);
    EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("no-such"));
  });
  config = loopback();
  const std::string plan = data + "ring-3.json";
  config.planFile = plan.c_str();
  const Together all(3, config);
  std::int64_t values[3] = {1, 2, 4};
  ASSERT_EQ(mtGroupStart(), mtSuccess);
  for (int r = 0; r < 3; ++r) {
    EXPECT_EQ(mtAllReduce(&values[r], &values[r], 1, mtInt64, mtSum, all.comms[r], nullptr),
              mtSuccess);
  }
  ASSERT_EQ(mtGroupEnd(), mtSuccess);
  EXPECT_THAT(values, ::testing::Each(7));
}

/// By libmultitree_planning.so: what reads such files, and solves linear programs, is there.
TEST(CApi, NetworkFilesOfOtherProgramsAreRead) {
  struct Case {
    const char* file;
    int ranks;
  };
  for (const Case& one :
       {Case{"astra_ring.yml", 8}, Case{"star.dot", 4}, Case{"petersen_undirected.graphml", 10}}) {
    const std::string file = test::source_path("tests/data/good/") + one.file;
    mtConfig_t config = loopback();
    config.topology = file.c_str();
    config.algorithm = "allreduce-optimal";
    const Together all(one.ranks, config);
    std::vector<std::int64_t> values(one.ranks, 1);
    ASSERT_EQ(mtGroupStart(), mtSuccess);
    for (int r = 0; r < one.ranks; ++r) {
      EXPECT_EQ(mtAllReduce(&values[r], &values[r], 1, mtInt64, mtSum, all.comms[r], nullptr),
                mtSuccess);
    }
    ASSERT_EQ(mtGroupEnd(), mtSuccess) << one.file << ": " << mtGetLastError(nullptr);
    EXPECT_THAT(values, ::testing::Each(one.ranks)) << one.file;
  }
}

TEST(CApi, WrongNetworkFilesAreNamedWithTheirLine) {
  const std::string file = test::source_path("tests/data/good/msccl_swap.xml");
  mtConfig_t config = loopback();
  config.topology = file.c_str();
  config.algorithm = "multitree";
  mtComm_t comm = nullptr;
  EXPECT_EQ(mtCommInitRankConfig(&comm, 1, new_id(), 0, &config), mtInvalidArgument);
  EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("msccl_swap.xml:1: expected the root element"));
}

/// What the kernel calls the memory at an address of this process.
std::string mapping_of(const void* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::size_t dash = 0;
    const std::uintptr_t begin = std::stoull(line, &dash, 16);
    if (begin <= address && address < std::stoull(line.substr(dash + 1), nullptr, 16)) return line;
  }
  return {};
}

TEST(CApi, AutoTakesTheMemoryOfTheHost) {
  for (const char* algorithm : {"auto", "multitree"}) {
    mtConfig_t config = loopback();
    config.topology = "torus:2x2";
    config.algorithm = algorithm;
    const Together all(4, config);
    void* memory[4] = {};
    ASSERT_EQ(mtGroupStart(), mtSuccess);
    for (int r = 0; r < 4; ++r) EXPECT_EQ(mtMemAlloc(&memory[r], 8, all.comms[r]), mtSuccess);
    ASSERT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
    const bool shared = mapping_of(memory[0]).find("memfd:multitree") != std::string::npos;
    EXPECT_EQ(shared, std::string(algorithm) == "auto") << mapping_of(memory[0]);
  }
}

TEST(CApi, LinksAreMeasuredOrReadForAuto) {
  const std::string data = test::source_path("tests/data/");
  const std::string plan = data + "c/ring-3.json", table = data + "good/link_table.json";
  mtConfig_t config = loopback();
  config.planFile = plan.c_str();  // which has an all-reduce; the others are chosen
  config.tuning = "measured";
  {
    const Together all(3, config);
    std::int64_t values[9] = {1, 0, 0, 0, 2, 0, 0, 0, 4};
    ASSERT_EQ(mtGroupStart(), mtSuccess);
    for (int r = 0; r < 3; ++r) {
      EXPECT_EQ(mtAllGather(&values[4 * r], &values[3 * r], 1, mtInt64, all.comms[r], nullptr),
                mtSuccess);
    }
    ASSERT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
    EXPECT_THAT(values, ::testing::ElementsAre(1, 2, 4, 1, 2, 4, 1, 2, 4));
  }
  config = loopback();
  config.topology = "mesh:3x2";
  config.tuning = table.c_str();
  { const Together all(6, config); }
  config.topology = "ring:6";  // which has links that the table lacks; by the environment
  config.tuning = nullptr;
  ASSERT_EQ(::setenv("MULTITREE_TUNING", table.c_str(), 1), 0);
  const mtUniqueId id = new_id();
  in_threads(6, [&](int rank) {
    mtComm_t comm = nullptr;
    EXPECT_NE(mtCommInitRankConfig(&comm, 6, id, rank, &config), mtSuccess);
    EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("expected the link n"));
  });
  ::unsetenv("MULTITREE_TUNING");
}

TEST(CApi, AllTypesAndOperators) {
  constexpr int kRanks = 3;
  const Together all(kRanks);
  struct Case {
    mtDataType_t type;
    std::size_t bytes;
  };
  const Case cases[] = {{mtInt8, 1},    {mtUint8, 1},    {mtInt32, 4},   {mtInt64, 8},
                        {mtFloat16, 2}, {mtBfloat16, 2}, {mtFloat32, 4}, {mtFloat64, 8}};
  for (const Case& one : cases) {
    for (const mtRedOp_t op : {mtSum, mtProd, mtMax, mtMin, mtAvg}) {
      // Zeros are zeros in every type and operator; guards show that no byte too many is written.
      std::vector<unsigned char> in(8 * kRanks, 0), out(16 * kRanks, 0xaa);
      ASSERT_EQ(mtGroupStart(), mtSuccess);
      for (int r = 0; r < kRanks; ++r) {
        EXPECT_EQ(mtAllReduce(&in[8 * r], &out[16 * r], 1, one.type, op, all.comms[r], nullptr),
                  mtSuccess);
      }
      ASSERT_EQ(mtGroupEnd(), mtSuccess);
      for (int r = 0; r < kRanks; ++r) {
        for (std::size_t b = 0; b < 16; ++b) {
          EXPECT_EQ(out[16 * r + b], b < one.bytes ? 0 : 0xaa) << one.type << " " << op;
        }
      }
    }
  }
}

}  // namespace
}  // namespace multitree::c_api_test
