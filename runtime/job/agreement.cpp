// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A digest of everything that ranks must agree about, compared through the bootstrap.
#include "runtime/job/agreement.hpp"

#include <fmt/format.h>

#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// FNV-1a over whole numbers.
class Digest {
 public:
  void add(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      value_ = (value_ ^ (value >> shift & 0xff)) * 0x100000001b3ULL;
    }
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace

void check_agreement(const std::vector<SizedSchedules>& plans, Bootstrap& bootstrap,
                     Deadline deadline) {
  Digest digest;
  for (const SizedSchedules& plan : plans) {
    for (const auto& [schedule, max_bytes] : plan) {
      digest.add(max_bytes);
      digest.add(static_cast<std::uint64_t>(schedule.collective));
      for (const Transfer& t : schedule.transfers) {
        digest.add(std::uint64_t{t.step} << 32 | static_cast<std::uint64_t>(t.op));
        digest.add(t.chunk);
        digest.add(std::uint64_t{index(t.src)} << 32 | index(t.dst));
      }
    }
  }
  const auto all = bootstrap.all_gather(std::to_string(digest.value()), deadline);
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r] != all[0]) {
      throw Error(
          ErrorCode::InvalidArgument,
          fmt::format("rank {} runs another schedule than rank 0: give all the same flags", r));
    }
  }
}

}  // namespace multitree::runtime
