// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives of a group of ranks, as NCCL's transport for CollNet makes them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/kernels/data_type.hpp"
#include "runtime/kernels/reduce.hpp"
#include "tests/nccl/processes.hpp"
#include "tests/nccl/tables.hpp"

namespace multitree::nccl {

/// ncclDataType_t, with the type that the runtime would use; operators have the runtime's order
/// below.
struct TypeRow {
  int type;
  runtime::DataType same;
};
inline constexpr std::array<TypeRow, 10> kTypeRows{{{0, runtime::DataType::Int8},
                                                    {1, runtime::DataType::Uint8},
                                                    {2, runtime::DataType::Int32},
                                                    {3, runtime::DataType::Uint32},
                                                    {4, runtime::DataType::Int64},
                                                    {5, runtime::DataType::Uint64},
                                                    {6, runtime::DataType::Float16},
                                                    {7, runtime::DataType::Float32},
                                                    {8, runtime::DataType::Float64},
                                                    {9, runtime::DataType::BFloat16}}};
/// By ncclRedOp_t.
inline constexpr std::array<runtime::ReduceOp, 4> kOps{
    runtime::ReduceOp::Sum, runtime::ReduceOp::Prod, runtime::ReduceOp::Max,
    runtime::ReduceOp::Min};

template <int kVersion>
class CollectivesTest {
 public:
  CollectivesTest(const Tables<kVersion>& tables, Shared& shared, int ranks, int rank)
      : tables_(tables), shared_(shared), ranks_(ranks), rank_(rank) {}

  void run() {
    connect();
    what_is_reduced();
    for (const TypeRow& row : kTypeRows) {
      for (int op = 0; op < 4; ++op) {
        for (const std::size_t count : {1UL, 3UL, 1000UL, 70'001UL}) all_reduce(row, op, count);
      }
    }
    many_at_once();
    windows(4096);
    windows(24);
    wrong_parts();
    void* request = this;
    expect(calls().flush(group_, this, 8, nullptr, &request), kSuccess, "iflush");
    expect(request == nullptr ? 1 : 0, 1, "nothing to flush");
    expect(calls().close(group_), kSuccess, "closeColl");
  }

  void survive_a_death() {
    connect();
    all_reduce(kTypeRows[7], 0, 1000);
    shared_.barrier(ranks_);
    if (rank_ == ranks_ - 1) ::_exit(3);
    std::vector<float> data(1 << 20, 1);
    void* request = nullptr;
    int result = tables_.all_reduce(group_, data.data(), data.data(), data.size(), 7, 0, &request);
    wait_until("the news of a death", [&] {
      int done = 0;
      if (result == kSuccess) result = calls().test(request, &done, nullptr);
      expect(done, 0, "an all-reduce without all of its ranks");
      return result != kSuccess;
    });
    expect(result, kRemoteError, "a collective with a dead rank");
    expect(calls().close(group_), kSuccess, "closeColl");
  }

 private:
  using Bytes = std::vector<char>;

  [[nodiscard]] const auto& calls() const { return tables_.collectives(); }

  void connect() {
    void* listener = nullptr;
    auto& handles = shared_.handles;
    expect(tables_.listen_collective(handles[static_cast<std::size_t>(rank_)].data(), &listener),
           kSuccess, "listen");
    expect(listener != nullptr ? 1 : 0, 1, "a listener");
    shared_.barrier(ranks_);
    std::vector<void*> pointers;
    for (int r = 0; r < ranks_; ++r)
      pointers.push_back(handles[static_cast<std::size_t>(r)].data());
    expect(calls().connect(pointers.data(), ranks_, rank_, listener, &group_), kSuccess, "connect");
    expect(calls().close_listen(listener), kSuccess, "closeListen");
    void* registration = nullptr;
    expect(calls().register_memory(group_, this, 1, kHostMemory, &registration), kSuccess, "regMr");
    expect(calls().deregister(group_, registration), kSuccess, "deregMr");
  }

  void what_is_reduced() {
    // Types from -1 to 11 (the two of 8-bit floats are the last), operators to ncclAvg and beyond.
    for (int type = -1; type <= 11; ++type) {
      for (int op = -1; op <= 5; ++op) {
        const bool expected = type >= 0 && type <= 9 && op >= 0 && op <= 3;
        int supported = -1;
        expect(calls().reduce_support(type, op, &supported), kSuccess, "reduceSupport");
        expect(supported, expected ? 1 : 0,
               ("type " + std::to_string(type) + ", operator " + std::to_string(op)).c_str());
        if (expected) continue;
        void* request = this;
        char byte = 0;
        expect(tables_.all_reduce(group_, &byte, &byte, 1, type, op, &request), kInvalidArgument,
               "iallreduce");
        expect(request == nullptr ? 1 : 0, 1, "no request");
      }
    }
  }

  /// Numbers from 1 to 3, which all types hold, and whose sums and products of few ranks are exact.
  static Bytes input(const TypeRow& row, int rank, std::size_t count) {
    const std::size_t bytes = runtime::size_of(row.same);
    Bytes data(count * bytes);
    for (std::size_t i = 0; i < count; ++i) {
      store(row.same, data.data() + i * bytes,
            static_cast<int>((i * 5 + i / 7 + static_cast<std::size_t>(rank) * 3) % 3) + 1);
    }
    return data;
  }

  template <typename T>
  static void put(char* to, T value) {
    std::memcpy(to, &value, sizeof value);
  }
  static void store(runtime::DataType type, char* to, int number) {
    // 1, 2 and 3 as 16-bit floats.
    constexpr std::array<std::uint16_t, 4> kHalf{0, 0x3c00, 0x4000, 0x4200},
        kBfloat{0, 0x3f80, 0x4000, 0x4040};
    switch (type) {
      case runtime::DataType::Int8:
        return put(to, static_cast<std::int8_t>(number));
      case runtime::DataType::Uint8:
        return put(to, static_cast<std::uint8_t>(number));
      case runtime::DataType::Int16:
      case runtime::DataType::Uint16:
        return put(to, static_cast<std::int16_t>(number));
      case runtime::DataType::Uint32:
      case runtime::DataType::Int32:
        return put(to, static_cast<std::int32_t>(number));
      case runtime::DataType::Uint64:
      case runtime::DataType::Int64:
        return put(to, static_cast<std::int64_t>(number));
      case runtime::DataType::Float16:
        return put(to, kHalf[static_cast<std::size_t>(number)]);
      case runtime::DataType::BFloat16:
        return put(to, kBfloat[static_cast<std::size_t>(number)]);
      case runtime::DataType::Float32:
        return put(to, static_cast<float>(number));
      case runtime::DataType::Float64:
        return put(to, static_cast<double>(number));
    }
  }

  /// By the runtime's kernels, one rank after the other.
  Bytes expected(const TypeRow& row, int op, std::size_t count) const {
    Bytes sum = input(row, 0, count);
    for (int r = 1; r < ranks_; ++r) {
      const Bytes next = input(row, r, count);
      runtime::reduce(sum.data(), next.data(), count, row.same, kOps[static_cast<std::size_t>(op)]);
    }
    return sum;
  }

  int finish(void* request) {
    int size = -1;
    wait_until("a collective", [&] {
      int done = 0;
      expect(calls().test(request, &done, &size), kSuccess, "test");
      return done != 0;
    });
    return size;
  }

  static void check(const char* found, const Bytes& expected, std::size_t from, std::size_t bytes,
                    const std::string& what) {
    for (std::size_t i = 0; i < bytes; ++i) {
      if (found[i] != expected[from + i])
        expect(found[i], expected[from + i], (what + ": byte " + std::to_string(i)).c_str());
    }
  }

  void all_reduce(const TypeRow& row, int op, std::size_t count) {
    const Bytes mine = input(row, rank_, count), sum = expected(row, op, count);
    const std::string what = "all-reduce of " + std::to_string(count) + " of type " +
                             std::to_string(row.type) + ", operator " + std::to_string(op);
    for (const bool in_place : {false, true}) {
      Bytes send = mine, receive(mine.size(), 0x5a);
      char* const to = in_place ? send.data() : receive.data();
      void* request = nullptr;
      expect(tables_.all_reduce(group_, send.data(), to, count, row.type, op, &request), kSuccess,
             "iallreduce");
      expect(finish(request), static_cast<int>(mine.size()), "bytes");
      check(to, sum, 0, sum.size(), what);
      if (!in_place) check(send.data(), mine, 0, mine.size(), what + ", its input");
    }
  }

  void many_at_once() {
    const TypeRow& row = kTypeRows[7];
    std::vector<Bytes> buffers;
    std::vector<void*> requests;
    for (std::size_t i = 1; i <= 8; ++i) buffers.push_back(input(row, rank_, 10'000 * i));
    for (std::size_t i = 1; i <= 8; ++i) {
      void* request = nullptr;
      char* const data = buffers[i - 1].data();
      expect(tables_.all_reduce(group_, data, data, 10'000 * i, row.type, 0, &request), kSuccess,
             "iallreduce");
      requests.push_back(request);
    }
    for (std::size_t i = 8; i > 0; --i) {
      finish(requests[i - 1]);
      check(buffers[i - 1].data(), expected(row, 0, 10'000 * i), 0, buffers[i - 1].size(),
            "one of many");
    }
  }

  /// Windows over shards of so many bytes: all of them, within one, over parts of two, over all but
  /// the ends.
  void windows(std::size_t shard) {
    const std::size_t all = shard * static_cast<std::size_t>(ranks_);
    const std::array<std::array<std::size_t, 2>, 6> list{{{0, all},
                                                          {0, shard},
                                                          {shard + 8, shard - 8},
                                                          {shard - 8, 16},
                                                          {8, all - 16},
                                                          {all - 8, 8}}};
    for (const auto& [offset, bytes] : list) {
      all_gather(shard, offset, bytes);
      reduce_scatter(shard, offset, bytes);
    }
    all_gather(shard, shard - 3, 5);
  }

  /// The part of the window that is this rank's: first byte of the whole, and bytes.
  [[nodiscard]] std::array<std::size_t, 2> share(std::size_t shard, std::size_t offset,
                                                 std::size_t bytes) const {
    const std::size_t begin = shard * static_cast<std::size_t>(rank_);
    const std::size_t from = std::clamp(offset, begin, begin + shard);
    const std::size_t to = std::clamp(offset + bytes, begin, begin + shard);
    return {from, to - from};
  }

  void all_gather(std::size_t shard, std::size_t offset, std::size_t bytes) {
    const Bytes all = input(kTypeRows[1], 0, shard * static_cast<std::size_t>(ranks_));
    const auto [from, mine] = share(shard, offset, bytes);
    // Nothing but the share may be read.
    Bytes send(all.begin() + static_cast<std::ptrdiff_t>(from),
               all.begin() + static_cast<std::ptrdiff_t>(from + mine));
    Bytes window(bytes + 16, 0x5a);
    Part part{nullptr, window.data() + 8, bytes};
    void* request = nullptr;
    expect(
        calls().all_gather(group_, send.data(), 1, &part, shard, offset, bytes, nullptr, &request),
        kSuccess, "iallgather");
    finish(request);
    const std::string what =
        "all-gather of " + std::to_string(bytes) + " from " + std::to_string(offset);
    check(window.data() + 8, all, offset, bytes, what);
    check(window.data(), Bytes(8, 0x5a), 0, 8, what + ", before it");
    check(window.data() + 8 + bytes, Bytes(8, 0x5a), 0, 8, what + ", behind it");
  }

  void reduce_scatter(std::size_t shard, std::size_t offset, std::size_t bytes) {
    const TypeRow& row = kTypeRows[7];
    const std::size_t count = shard / sizeof(float) * static_cast<std::size_t>(ranks_);
    const Bytes sum = expected(row, 0, count);
    Bytes window = input(row, rank_, count);
    const auto [from, mine] = share(shard, offset, bytes);
    Bytes result(mine + 8, 0x5a);
    Part part{nullptr, window.data() + offset, bytes};
    void* request = nullptr;
    expect(calls().reduce_scatter(group_, 1, &part, result.data(), shard, offset, bytes, row.type,
                                  0, nullptr, &request),
           kSuccess, "ireducescatter");
    finish(request);
    const std::string what =
        "reduce-scatter of " + std::to_string(bytes) + " from " + std::to_string(offset);
    check(result.data(), sum, from, mine, what);
    check(result.data() + mine, Bytes(8, 0x5a), 0, 8, what + ", behind it");
    check(window.data(), input(row, rank_, count), 0, window.size(), what + ", its input");
  }

  void wrong_parts() {
    char bytes[8] = {};
    Part parts[2] = {{nullptr, bytes, 4}, {nullptr, bytes + 4, 4}};
    void* request = this;
    expect(calls().all_gather(group_, bytes, 2, parts, 8, 0, 8, nullptr, &request), kInternalError,
           "two parts");
    expect(calls().all_gather(group_, bytes, 1, parts, 8, 0, 8, nullptr, &request), kInternalError,
           "a short part");
    expect(calls().reduce_scatter(group_, 1, parts, bytes, 8, 0, 8, 7, 0, nullptr, &request),
           kInternalError, "a short part");
    expect(request == nullptr ? 1 : 0, 1, "no request");
  }

  const Tables<kVersion>& tables_;
  Shared& shared_;
  int ranks_, rank_;
  void* group_ = nullptr;
};

}  // namespace multitree::nccl
