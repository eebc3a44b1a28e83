// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A rank that calls the C API as bytes say, with arguments that are right, wrong, or of another
/// rank's mind. What a caller alone can see to is kept: buffers are as long as the counts that name
/// them, or counts are such that no memory could be.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "fuzz.hpp"
#include "runtime/c/multitree.h"

namespace multitree::fuzz {

class Caller {
 public:
  Caller(Bytes bytes, int rank, int ranks) : bytes_(bytes), rank_(rank), ranks_(ranks) {}

  /// Joins, makes all the calls, and leaves nothing behind.
  void play(const mtUniqueId& id);

 private:
  static constexpr std::size_t kMostCount = 64, kMostRanks = 4, kRequests = 4;
  static constexpr std::size_t kBufferBytes = kMostCount * kMostRanks * sizeof(double);
  /// What calls are made with, each with those that it takes.
  struct Arguments {
    std::uint8_t kind = 0;  ///< which of the calls that are alike
    mtComm_t comm = nullptr;
    char* send = nullptr;
    char* recv = nullptr;
    std::size_t count = 0;
    mtDataType_t type = mtInt8;
    mtRedOp_t op = mtSum;
    int peer = 0;
    const std::size_t* counts = nullptr;
    mtRequest_t* request = nullptr;
    bool wrong = false;  ///< NULL where something is to be written
  };
  using Call = mtResult_t (Caller::*)(const Arguments& a);
  static const std::vector<Call> kCalls;

  mtComm_t comm();
  char* buffer();
  std::size_t count();
  const std::size_t* counts();
  mtDataType_t type() { return static_cast<mtDataType_t>(bytes_.below(64)); }
  mtRedOp_t op();
  int peer() { return static_cast<int>(bytes_.below(kMostRanks + 2)) - 1; }
  static mtRequest_t* made_by(const Arguments& a);

  mtResult_t all_reduce(const Arguments& a);
  mtResult_t reduce_scatter(const Arguments& a);
  mtResult_t all_gather(const Arguments& a);
  mtResult_t rooted(const Arguments& a);
  mtResult_t started(const Arguments& a);
  mtResult_t persistent(const Arguments& a);
  mtResult_t messages(const Arguments& a);
  mtResult_t all_to_all(const Arguments& a);
  mtResult_t with_counts(const Arguments& a);
  mtResult_t requests(const Arguments& a);
  mtResult_t groups(const Arguments& a);
  mtResult_t operators(const Arguments& a);
  mtResult_t memory(const Arguments& a);
  mtResult_t parts(const Arguments& a);
  mtResult_t looks(const Arguments& a);
  mtResult_t ends(const Arguments& a);

  Bytes bytes_;
  int rank_, ranks_;
  bool deviates_ = false;  ///< this rank makes another call than the others
  mtComm_t comm_ = nullptr;
  std::deque<mtComm_t> made_;
  struct Given {
    void* what = nullptr;
    mtComm_t by = nullptr;
  };
  std::deque<Given> given_;
  std::array<std::array<char, kBufferBytes>, 4> buffers_{};
  std::array<std::size_t, kMostRanks> counts_{};
  std::array<mtRequest_t, kRequests> requests_{};
  std::array<mtRedOp_t, 2> ops_{mtSum, mtMax};
};

}  // namespace multitree::fuzz
