// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages and exchanges that cannot be: ranks that disagree, wrong arguments, ranks that leave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "c_api_paths.hpp"

namespace multitree::c_api_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

class WrongExchanges : public OnEveryPath {};

TEST_P(WrongExchanges, TheReceiverNamesBothCounts) {
  struct Lengths {
    std::size_t sent, awaited;
  };
  for (const auto& [sent, awaited] : {Lengths{10, 20},
                                      {20, 10},
                                      {10, 0},
                                      {0, 10},
                                      {5000, 10},
                                      {10, 5000},
                                      {5000, 6000},
                                      {1000, 1001}}) {
    run(2, [&](int rank, mtComm_t comm) {
      Numbers data(6000, rank == 0 ? 7 : -1);
      if (rank == 0) {
        mtSend(data.data(), sent, mtInt32, 1, comm, nullptr);
        EXPECT_EQ(mtRecv(data.data(), 1, mtInt32, 1, comm, nullptr), mtRemoteError);
        EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("rank 1"));
        return;
      }
      EXPECT_EQ(mtRecv(data.data(), awaited, mtInt32, 0, comm, nullptr), mtInvalidArgument);
      EXPECT_THAT(mtGetLastError(nullptr),
                  AllOf(HasSubstr("rank 1 expects " + std::to_string(awaited) + " int32"),
                        HasSubstr("from rank 0, which sends "),
                        HasSubstr(std::to_string(4 * sent) + " bytes")));
      EXPECT_THAT(data, Each(-1));
    });
  }
}

TEST_P(WrongExchanges, TypesDisagree) {
  run(2, [&](int rank, mtComm_t comm) {
    Numbers data(4, rank == 0 ? 7 : -1);
    if (rank == 0) {
      mtSend(data.data(), 4, mtFloat32, 1, comm, nullptr);
      EXPECT_EQ(mtRecv(data.data(), 1, mtInt32, 1, comm, nullptr), mtRemoteError);
      return;
    }
    EXPECT_EQ(mtRecv(data.data(), 4, mtInt32, 0, comm, nullptr), mtInvalidArgument);
    EXPECT_THAT(mtGetLastError(nullptr), AllOf(HasSubstr("4 int32"), HasSubstr("4 float (")));
    EXPECT_THAT(data, Each(-1));
  });
}

TEST_P(WrongExchanges, RanksCallDifferentThings) {
  run(2, [&](int rank, mtComm_t comm) {
    Numbers in(20, -1), out(20, rank);
    const mtResult_t result =
        rank == 0 ? mtAllToAll(out.data(), in.data(), 10, mtInt32, comm, nullptr)
                  : mtAllReduce(out.data(), in.data(), 20, mtInt32, mtSum, comm, nullptr);
    EXPECT_THAT(result, ::testing::AnyOf(mtInvalidArgument, mtRemoteError));
    EXPECT_THAT(mtGetLastError(nullptr), AllOf(HasSubstr("rank 0 calls alltoall of 10 int32"),
                                               HasSubstr("rank 1 calls allreduce of 20 int32")));
  });
}

TEST_P(WrongExchanges, SharesDisagree) {
  run(2, [&](int rank, mtComm_t comm) {
    Numbers in(30, -1), out(30, rank);
    const Counts counts = rank == 0 ? Counts{10, 20} : Counts{20, 10};
    const mtResult_t result = mtAllGatherv(out.data(), counts[rank], in.data(), counts.data(),
                                           nullptr, mtInt32, comm, nullptr);
    EXPECT_THAT(result, ::testing::AnyOf(mtInvalidArgument, mtRemoteError));
    EXPECT_THAT(mtGetLastError(nullptr),
                AllOf(HasSubstr("expects"), HasSubstr("which sends 10 int32")));
  });
}

TEST_P(WrongExchanges, WrongArgumentsChangeNothing) {
  run(2, [&](int rank, mtComm_t comm) {
    Numbers data(8, 3);
    const auto refused = [&](mtResult_t result, const char* words) {
      EXPECT_EQ(result, mtInvalidArgument) << words;
      EXPECT_THAT(mtGetLastError(nullptr), HasSubstr(words));
    };
    constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max() / 2;
    refused(mtSend(data.data(), 1, mtInt32, 2, comm, nullptr), "expected a rank below 2, found 2");
    refused(mtRecv(data.data(), 1, mtInt32, -1, comm, nullptr), "peer: expected a rank, found -1");
    refused(mtSend(nullptr, 1, mtInt32, 0, comm, nullptr), "send is null");
    refused(mtRecv(nullptr, 1, mtInt32, 0, comm, nullptr), "recv is null");
    refused(mtSend(data.data(), kHuge, mtInt32, 0, comm, nullptr), "do not fit the address space");
    refused(mtSend(data.data(), 1, static_cast<mtDataType_t>(12), 0, comm, nullptr), "found 12");
    refused(mtAllToAll(data.data(), data.data(), 4, mtInt32, comm, nullptr), "overlap");
    refused(mtAllToAll(data.data(), data.data() + 4, kHuge, mtInt8, comm, nullptr), "do not fit");
    const Counts counts{2, 2}, same{0, 1};
    refused(mtAllGatherv(data.data(), 2, data.data() + 4, counts.data(), same.data(), mtInt32, comm,
                         nullptr),
            "the shares of rank 0 and rank 1 overlap");
    refused(mtAllGatherv(data.data(), 1, data.data() + 4, counts.data(), nullptr, mtInt32, comm,
                         nullptr),
            "has 1 elements for itself, and takes 2");
    refused(mtAllToAllv(data.data(), nullptr, nullptr, data.data(), counts.data(), nullptr, mtInt32,
                        comm, nullptr),
            "sendCounts");
    refused(mtGatherv(data.data(), 1, nullptr, nullptr, nullptr, mtInt32, 5, comm, nullptr),
            "root: expected a rank below 2, found 5");
    mtRequest_t request = nullptr;
    refused(mtISend(data.data(), 1, mtInt32, 7, comm, nullptr, &request), "found 7");
    EXPECT_EQ(request, nullptr);
    EXPECT_EQ(mtSend(data.data(), 1, mtInt32, 0, comm, &data), mtInvalidUsage);  // a stream
    EXPECT_THAT(data, Each(3));
    // And both still agree about what comes next.
    Numbers in(2, -1);
    EXPECT_EQ(mtAllToAll(data.data(), in.data(), 1, mtInt32, comm, nullptr), mtSuccess);
    EXPECT_THAT(in, Each(3)) << rank;
  });
}

TEST_P(WrongExchanges, AnAbortEndsAWait) {
  run(3, [&](int rank, mtComm_t comm) {
    Numbers data(50'000);
    if (rank == 1) {
      EXPECT_EQ(mtRecv(data.data(), 1, mtInt32, 0, comm, nullptr), mtSuccess);
      EXPECT_EQ(mtCommAbort(comm), mtSuccess);
      EXPECT_EQ(mtSend(data.data(), 1, mtInt32, 0, comm, nullptr), mtAborted);
      return;
    }
    if (rank == 0) {
      EXPECT_EQ(mtSend(data.data(), 1, mtInt32, 1, comm, nullptr), mtSuccess);
    }
    // One waits to be asked for what it sends, one for what it receives.
    const mtResult_t result = rank == 0
                                  ? mtSend(data.data(), data.size(), mtInt32, 1, comm, nullptr)
                                  : mtRecv(data.data(), data.size(), mtInt32, 1, comm, nullptr);
    EXPECT_EQ(result, mtRemoteError);
    EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("rank 1"));
  });
}

TEST_P(WrongExchanges, DestroyedHandlesAreRefused) {
  mtComm_t kept = nullptr;
  run(1, [&](int, mtComm_t comm) { kept = comm; });
  int data = 0;
  EXPECT_EQ(mtSend(&data, 1, mtInt32, 0, kept, nullptr), mtInvalidArgument);
  EXPECT_EQ(mtAllToAll(&data, &data, 1, mtInt32, kept, nullptr), mtInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Paths, WrongExchanges, all_paths(), name_of_path);

}  // namespace
}  // namespace multitree::c_api_test
