// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The ranks of a job tell each other what they know of the larger one.
#include "runtime/job/growth.hpp"

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

constexpr std::uint32_t kMagic = 0x776f7267;  // "grow"

/// A rank's knowledge, as bytes.
struct Told {
  std::uint32_t magic = kMagic;
  std::uint32_t size = 0;
  std::uint32_t seat = 0;
  std::uint32_t has_id = 0;
  UniqueId id{};
};

Told told(const Growth& growth) {
  Told told;
  told.size = growth.size;
  told.seat = index(growth.seat);
  told.has_id = growth.id ? 1 : 0;
  if (growth.id) told.id = *growth.id;
  return told;
}

std::vector<Told> read_all(const Gathered& blobs) {
  std::vector<Told> all(blobs.size());
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    if (blobs[i].size() == sizeof(Told)) std::memcpy(&all[i], blobs[i].data(), sizeof(Told));
    if (blobs[i].size() == sizeof(Told) && all[i].magic == kMagic) continue;
    throw Error(ErrorCode::Transport,  // out of step from here on
                fmt::format("rank {} calls something else, while this rank grows the job", i));
  }
  return all;
}

/// \throws Error(InvalidArgument)
void check_seats(const std::vector<Told>& all) {
  constexpr std::size_t kNobody = SIZE_MAX;
  const std::uint32_t size = all.front().size;
  std::vector<std::size_t> taken(size, kNobody);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].size != size) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("expected one number of ranks to grow to, found {} at rank 0 and {} "
                              "at rank {}",
                              size, all[i].size, i));
    }
    if (all[i].seat >= size) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("expected a rank below the {} of the grown job, found {} at rank {}",
                              size, all[i].seat, i));
    }
    std::size_t& owner = taken[all[i].seat];
    if (owner != kNobody) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("expected a rank of its own in the grown job for each, found {} at "
                              "ranks {} and {}",
                              all[i].seat, owner, i));
    }
    owner = i;
  }
}

}  // namespace

UniqueId agree_on_growth(const Growth& growth, Bootstrap& job, Deadline deadline) {
  const Told own = told(growth);
  const std::string blob(reinterpret_cast<const char*>(&own), sizeof own);
  const std::vector<Told> all = read_all(job.all_gather(blob, deadline));
  check_seats(all);
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].has_id == 0) continue;
    if (!first) first = i;
    if (all[i].id != all[*first].id) {
      throw Error(
          ErrorCode::InvalidArgument,
          fmt::format("expected one id to grow by, found two, at ranks {} and {}", *first, i));
    }
  }
  if (first) return all[*first].id;
  throw Error(ErrorCode::InvalidArgument,
              "expected an id at one rank of the job that grows or more, found none");
}

}  // namespace multitree::runtime
