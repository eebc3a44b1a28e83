// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives that cannot be: ranks that disagree, and communicators used where they must not be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <functional>
#include <string>

#include "c_api_paths.hpp"

namespace multitree::c_api_test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;

class WrongCollectives : public OnEveryPath {
 protected:
  struct Buffers {
    Numbers in, out;
  };
  using Caller = std::function<mtResult_t(Buffers&, mtComm_t)>;

  /// Ranks 0 and 1 call these; both hear of both, and nothing is written.
  static void disagree(const Caller& zero, const Caller& one, const char* words_of_zero,
                       const char* words_of_one) {
    run(2, [&](int rank, mtComm_t comm) {
      Buffers buffers{Numbers(64, 5 + rank), Numbers(64, -1)};
      EXPECT_THAT((rank == 0 ? zero : one)(buffers, comm), AnyOf(mtInvalidArgument, mtRemoteError));
      EXPECT_THAT(mtGetLastError(nullptr),
                  AllOf(HasSubstr("rank 0 calls " + std::string(words_of_zero)),
                        HasSubstr("rank 1 calls " + std::string(words_of_one))));
      // Nothing of the other's: an all-gather may have begun with its own.
      EXPECT_THAT(buffers.out, Each(AnyOf(-1, 5 + rank)));
    });
  }

  /// Who awaits nothing of the others, as it only sends or has nothing, hears of it when it does.
  static mtResult_t then_wait(mtResult_t result, mtComm_t comm) {
    return result == mtSuccess ? mtBarrier(comm) : result;
  }

  static Caller all_reduce(std::size_t count, mtDataType_t type, mtRedOp_t op) {
    return [=](Buffers& b, mtComm_t comm) {
      return then_wait(mtAllReduce(b.in.data(), b.out.data(), count, type, op, comm, nullptr),
                       comm);
    };
  }
  static Caller reduce(int root) {
    return [=](Buffers& b, mtComm_t comm) {
      return then_wait(mtReduce(b.in.data(), b.out.data(), 8, mtInt32, mtSum, root, comm, nullptr),
                       comm);
    };
  }
};

TEST_P(WrongCollectives, Counts) {
  disagree(all_reduce(8, mtInt32, mtSum), all_reduce(9, mtInt32, mtSum), "allreduce of 8 int32",
           "allreduce of 9 int32");
}

TEST_P(WrongCollectives, NothingAndSomething) {
  disagree(all_reduce(0, mtInt32, mtSum), all_reduce(9, mtInt32, mtSum), "allreduce of 0 int32",
           "allreduce of 9 int32");
}

TEST_P(WrongCollectives, Types) {
  disagree(all_reduce(8, mtInt32, mtSum), all_reduce(8, mtFloat32, mtSum), "allreduce of 8 int32",
           "allreduce of 8 float");
}

TEST_P(WrongCollectives, Operators) {
  disagree(all_reduce(8, mtInt32, mtSum), all_reduce(8, mtInt32, mtMax),
           "allreduce of 8 int32, sum", "allreduce of 8 int32, max");
}

TEST_P(WrongCollectives, Roots) {
  disagree(reduce(0), reduce(1), "reduce of 8 int32, sum, root 0",
           "reduce of 8 int32, sum, root 1");
}

TEST_P(WrongCollectives, Order) {
  const Caller gather = [](Buffers& b, mtComm_t comm) {
    return mtAllGather(b.in.data(), b.out.data(), 8, mtInt32, comm, nullptr);
  };
  disagree(all_reduce(8, mtInt32, mtSum), gather, "allreduce of 8 int32", "allgather of 8 int32");
}

TEST_P(WrongCollectives, CountsBeyond32BitsAreTold) {
  run(2, [&](int rank, mtComm_t comm) {
    constexpr std::size_t kMany = (std::size_t{1} << 31) + 5;
    void* const memory = ::mmap(nullptr, kMany, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    EXPECT_THAT(mtAllReduce(memory, memory, rank == 0 ? kMany : 5, mtInt8, mtSum, comm, nullptr),
                AnyOf(mtInvalidArgument, mtRemoteError));
    EXPECT_THAT(mtGetLastError(nullptr),
                AllOf(HasSubstr("rank 0 calls allreduce of 2147483653 int8"),
                      HasSubstr("rank 1 calls allreduce of 5 int8")));
    ::munmap(memory, kMany);
  });
}

TEST_P(WrongCollectives, NothingAtAllIsACollective) {
  run(3, [&](int, mtComm_t comm) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(mtAllReduce(nullptr, nullptr, 0, mtInt32, mtSum, comm, nullptr), mtSuccess);
      EXPECT_EQ(mtReduceScatter(nullptr, nullptr, 0, mtInt32, mtSum, comm, nullptr), mtSuccess);
      EXPECT_EQ(mtAllGather(nullptr, nullptr, 0, mtInt32, comm, nullptr), mtSuccess);
      EXPECT_EQ(mtBroadcast(nullptr, nullptr, 0, mtInt32, 2, comm, nullptr), mtSuccess);
      EXPECT_EQ(mtReduce(nullptr, nullptr, 0, mtInt32, mtSum, 1, comm, nullptr), mtSuccess);
      EXPECT_EQ(mtGather(nullptr, nullptr, 0, mtInt32, 2, comm, nullptr), mtSuccess);
      EXPECT_EQ(mtScatter(nullptr, nullptr, 0, mtInt32, 0, comm, nullptr), mtSuccess);
    }
  });
}

TEST_P(WrongCollectives, OverlapsAreRefused) {
  run(2, [&](int, mtComm_t comm) {
    Numbers data(32, 3);
    int* const at = data.data();
    const auto refused = [](mtResult_t result) {
      EXPECT_EQ(result, mtInvalidArgument);
      EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("overlap"));
    };
    refused(mtAllReduce(at, at + 1, 8, mtInt32, mtSum, comm, nullptr));
    refused(mtReduceScatter(at, at + 3, 8, mtInt32, mtSum, comm, nullptr));
    refused(mtAllGather(at + 3, at, 8, mtInt32, comm, nullptr));
    EXPECT_THAT(data, Each(3));
    EXPECT_EQ(mtAllReduce(at, at, 8, mtInt32, mtSum, comm, nullptr), mtSuccess);
  });
}

TEST_P(WrongCollectives, ThreadsMayBlockOnOneCommunicator) {
  run(2, [&](int, mtComm_t comm) {
    // Calls that are all alike may meet in any order.
    in_threads(3, [&](int) {
      for (int i = 0; i < 30; ++i) {
        Numbers data(50, 1);
        EXPECT_EQ(mtAllReduce(data.data(), data.data(), 50, mtInt32, mtSum, comm, nullptr),
                  mtSuccess);
        EXPECT_THAT(data, Each(2));
      }
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Paths, WrongCollectives, all_paths(), name_of_path);

}  // namespace
}  // namespace multitree::c_api_test
