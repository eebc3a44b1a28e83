// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages between ranks and collectives with a count for each rank, on every path of host memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "c_api_paths.hpp"

namespace multitree::c_api_test {
namespace {

class Exchanges : public OnEveryPath {};

/// What rank `from` has for rank `to`.
Numbers message(int from, int to, std::size_t count) {
  Numbers numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = static_cast<std::int32_t>(1000003 * from + 101 * to + 7 * i + count);
  }
  return numbers;
}

/// From nothing over what travels with its header, and what is offered as a whole, to segments.
constexpr std::size_t kLengths[] = {0, 1, 5, 1000, 1024, 1025, 6000, 700'000, 4'200'000};

TEST_P(Exchanges, AGroupSendsAndReceivesBetweenAll) {
  for (const int ranks : {1, 2, 3, 8}) {
    run(ranks, [&](int rank, mtComm_t comm) {
      for (const std::size_t length : kLengths) {
        if (ranks == 8 && length > 10'000) continue;
        std::vector<Numbers> out, in;
        for (int other = 0; other < ranks; ++other) {
          out.push_back(message(rank, other, length));
          in.emplace_back(length, -1);
        }
        ASSERT_EQ(mtGroupStart(), mtSuccess);
        for (int other = 0; other < ranks; ++other) {
          EXPECT_EQ(mtSend(out[other].data(), length, mtInt32, other, comm, nullptr), mtSuccess);
          EXPECT_EQ(mtRecv(in[other].data(), length, mtInt32, other, comm, nullptr), mtSuccess);
        }
        ASSERT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
        for (int other = 0; other < ranks; ++other) {
          EXPECT_EQ(in[other], message(other, rank, length)) << "from " << other;
        }
      }
    });
  }
}

TEST_P(Exchanges, APairIsMatchedInOrder) {
  run(2, [&](int rank, mtComm_t comm) {
    std::vector<Numbers> in;
    std::vector<mtRequest_t> requests;
    for (const std::size_t length : kLengths) in.emplace_back(length, -1);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Numbers out = message(0, 1, in[i].size());
      if (rank == 0) {
        EXPECT_EQ(mtSend(out.data(), out.size(), mtInt32, 1, comm, nullptr), mtSuccess);
      } else {
        requests.emplace_back();
        EXPECT_EQ(mtIRecv(in[i].data(), in[i].size(), mtInt32, 0, comm, nullptr, &requests.back()),
                  mtSuccess);
      }
    }
    while (!requests.empty()) {  // the last first
      EXPECT_EQ(mtRequestWait(requests.back()), mtSuccess) << mtGetLastError(nullptr);
      EXPECT_EQ(mtRequestFree(&requests.back()), mtSuccess);
      requests.pop_back();
    }
    for (const Numbers& one : in) {
      if (rank == 1) {
        EXPECT_EQ(one, message(0, 1, one.size()));
      }
    }
  });
}

/// More than any ring of the receiver holds, from all ranks at once, taken rank by rank from the
/// last.
TEST_P(Exchanges, ManySendersRunAheadOfOneReceiver) {
  constexpr int kRanks = 12, kMessages = 100;
  const auto length = [](int i) { return static_cast<std::size_t>(i * 37 % 1100); };
  run(kRanks, [&](int rank, mtComm_t comm) {
    if (rank != 0) {
      std::vector<Numbers> out;
      std::vector<mtRequest_t> requests(kMessages);
      for (int i = 0; i < kMessages; ++i) {
        out.push_back(message(rank, i, length(i)));
        EXPECT_EQ(mtISend(out[i].data(), length(i), mtInt32, 0, comm, nullptr, &requests[i]),
                  mtSuccess);
      }
      for (mtRequest_t& request : requests) {
        EXPECT_EQ(mtRequestWait(request), mtSuccess) << mtGetLastError(nullptr);
        EXPECT_EQ(mtRequestFree(&request), mtSuccess);
      }
      return;
    }
    for (int other = kRanks - 1; other > 0; --other) {
      for (int i = 0; i < kMessages; ++i) {
        Numbers in(length(i), -1);
        ASSERT_EQ(mtRecv(in.data(), in.size(), mtInt32, other, comm, nullptr), mtSuccess)
            << mtGetLastError(nullptr);
        ASSERT_EQ(in, message(other, i, length(i))) << "message " << i << " from " << other;
      }
    }
  });
}

TEST_P(Exchanges, RanksSendToThemselves) {
  run(2, [&](int rank, mtComm_t comm) {
    Numbers in(3);
    const Numbers out = message(rank, rank, 3);
    mtRequest_t request = nullptr;
    ASSERT_EQ(mtIRecv(in.data(), 3, mtInt32, rank, comm, nullptr, &request), mtSuccess);
    EXPECT_EQ(mtSend(out.data(), 3, mtInt32, rank, comm, nullptr), mtSuccess);
    EXPECT_EQ(mtRequestFree(&request), mtSuccess);
    EXPECT_EQ(in, out);
  });
}

TEST_P(Exchanges, AllToAllMovesEqualShares) {
  for (const int ranks : {1, 2, 3, 8}) {
    run(ranks, [&](int rank, mtComm_t comm) {
      for (const std::size_t length : {0, 1, 300, 5000}) {
        Numbers out, in(length * ranks, -1), expected;
        for (int other = 0; other < ranks; ++other) {
          const Numbers to = message(rank, other, length), from = message(other, rank, length);
          out.insert(out.end(), to.begin(), to.end());
          expected.insert(expected.end(), from.begin(), from.end());
        }
        EXPECT_EQ(mtAllToAll(out.data(), in.data(), length, mtInt32, comm, nullptr), mtSuccess)
            << mtGetLastError(nullptr);
        EXPECT_EQ(in, expected);
      }
    });
  }
}

/// Of different lengths, some of them nothing.
std::size_t length_between(int from, int to) { return (from * 5 + to * 3) % 4 * 900; }

TEST_P(Exchanges, AllToAllvMovesWhatEachHas) {
  for (const int ranks : {1, 3, 8}) {
    run(ranks, [&](int rank, mtComm_t comm) {
      Counts to(ranks), from(ranks), to_at(ranks), from_at(ranks);
      std::size_t sent = 0, received = 0;
      for (int other = ranks; other-- > 0;) {  // the last lies first, with holes
        to[other] = length_between(rank, other);
        from[other] = length_between(other, rank);
        to_at[other] = sent;
        from_at[other] = received;
        sent += to[other] + 2;
        received += from[other] + 1;
      }
      Numbers out(sent), in(received, -1), expected(received, -1);
      for (int other = 0; other < ranks; ++other) {
        std::ranges::copy(message(rank, other, to[other]), out.begin() + to_at[other]);
        std::ranges::copy(message(other, rank, from[other]), expected.begin() + from_at[other]);
      }
      EXPECT_EQ(mtAllToAllv(out.data(), to.data(), to_at.data(), in.data(), from.data(),
                            from_at.data(), mtInt32, comm, nullptr),
                mtSuccess)
          << mtGetLastError(nullptr);
      EXPECT_EQ(in, expected);
    });
  }
}

Counts uneven(int ranks) {
  Counts counts(ranks);
  for (int r = 0; r < ranks; ++r) counts[r] = r % 3 == 1 ? 0 : 1500 * r + 1;
  return counts;
}

std::size_t sum_of(const Counts& counts, int until) {
  return std::accumulate(counts.begin(), counts.begin() + until, std::size_t{0});
}

TEST_P(Exchanges, GathersSharesOfAnyLength) {
  for (const int ranks : {1, 2, 3, 8}) {
    run(ranks, [&](int rank, mtComm_t comm) {
      const Counts counts = uneven(ranks);
      Numbers expected;
      for (int r = 0; r < ranks; ++r) {
        const Numbers its = message(r, 0, counts[r]);
        expected.insert(expected.end(), its.begin(), its.end());
      }
      const Numbers mine = message(rank, 0, counts[rank]);
      Numbers all(expected.size(), -1), in_place(expected.size(), -1);
      EXPECT_EQ(mtAllGatherv(mine.data(), mine.size(), all.data(), counts.data(), nullptr, mtInt32,
                             comm, nullptr),
                mtSuccess)
          << mtGetLastError(nullptr);
      EXPECT_EQ(all, expected);
      std::int32_t* const own = in_place.data() + sum_of(counts, rank);
      std::ranges::copy(mine, own);
      EXPECT_EQ(mtAllGatherv(own, mine.size(), in_place.data(), counts.data(), nullptr, mtInt32,
                             comm, nullptr),
                mtSuccess);
      EXPECT_EQ(in_place, expected);
      for (int root = 0; root < ranks; ++root) {
        Numbers at_root(expected.size(), -1), back(mine.size(), -1);
        const bool here = rank == root;
        EXPECT_EQ(mtGatherv(mine.data(), mine.size(), here ? at_root.data() : nullptr,
                            here ? counts.data() : nullptr, nullptr, mtInt32, root, comm, nullptr),
                  mtSuccess);
        if (here) {
          EXPECT_EQ(at_root, expected);
        }
        EXPECT_EQ(mtScatterv(here ? at_root.data() : nullptr, here ? counts.data() : nullptr,
                             nullptr, back.data(), back.size(), mtInt32, root, comm, nullptr),
                  mtSuccess)
            << mtGetLastError(nullptr);
        EXPECT_EQ(back, mine);
      }
    });
  }
}

TEST_P(Exchanges, ReducesSharesOfAnyLength) {
  for (const int ranks : {1, 2, 3, 8}) {
    run(ranks, [&](int rank, mtComm_t comm) {
      const Counts counts = uneven(ranks);
      const std::size_t all = sum_of(counts, ranks), begin = sum_of(counts, rank);
      std::vector<double> send(all), recv(counts[rank], -1), in_place(all);
      for (std::size_t i = 0; i < all; ++i)
        send[i] = in_place[i] = static_cast<double>(i * (rank + 1));
      for (const mtRedOp_t op : {mtSum, mtAvg, mtMax}) {
        const int sum = ranks * (ranks + 1) / 2;
        const double factor = op == mtSum ? sum : op == mtAvg ? double(sum) / ranks : ranks;
        EXPECT_EQ(
            mtReduceScatterv(send.data(), recv.data(), counts.data(), mtFloat64, op, comm, nullptr),
            mtSuccess)
            << mtGetLastError(nullptr);
        for (std::size_t i = 0; i < recv.size(); ++i) {
          ASSERT_DOUBLE_EQ(recv[i], static_cast<double>(begin + i) * factor) << i;
        }
      }
      EXPECT_EQ(mtReduceScatterv(in_place.data(), in_place.data() + begin, counts.data(), mtFloat64,
                                 mtMax, comm, nullptr),
                mtSuccess);
      EXPECT_TRUE(std::equal(recv.begin(), recv.end(), in_place.begin() + begin));
    });
  }
}

TEST_P(Exchanges, MuchIsOutstandingAtOnce) {
  constexpr int kRanks = 3;
  constexpr std::size_t kLength = 20'000;
  run(kRanks, [&](int rank, mtComm_t comm) {
    Numbers out(kLength * kRanks), in(kLength * kRanks, -1), sums(kLength), from(kLength);
    for (int other = 0; other < kRanks; ++other) {
      std::ranges::copy(message(rank, other, kLength), out.begin() + other * kLength);
    }
    const int next = (rank + 1) % kRanks, last = (rank + kRanks - 1) % kRanks;
    mtRequest_t requests[5];
    EXPECT_EQ(mtIRecv(from.data(), kLength, mtInt32, last, comm, nullptr, &requests[0]), mtSuccess);
    EXPECT_EQ(
        mtIAllReduce(out.data(), sums.data(), kLength, mtInt32, mtSum, comm, nullptr, &requests[1]),
        mtSuccess);
    EXPECT_EQ(mtIAllToAll(out.data(), in.data(), kLength, mtInt32, comm, nullptr, &requests[2]),
              mtSuccess);
    Numbers again(kLength);
    EXPECT_EQ(mtIAllReduce(out.data(), again.data(), kLength, mtInt32, mtSum, comm, nullptr,
                           &requests[3]),
              mtSuccess);
    EXPECT_EQ(mtISend(out.data(), kLength, mtInt32, next, comm, nullptr, &requests[4]), mtSuccess);
    for (mtRequest_t& request : requests) {
      EXPECT_EQ(mtRequestWait(request), mtSuccess) << mtGetLastError(nullptr);
      EXPECT_EQ(mtRequestFree(&request), mtSuccess);
    }
    EXPECT_EQ(sums, again);
    EXPECT_EQ(from, message(last, 0, kLength));
    for (int other = 0; other < kRanks; ++other) {
      const Numbers its(in.begin() + other * kLength, in.begin() + (other + 1) * kLength);
      EXPECT_EQ(its, message(other, rank, kLength));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Paths, Exchanges, all_paths(), name_of_path);

}  // namespace
}  // namespace multitree::c_api_test
