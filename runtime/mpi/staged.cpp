// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi/staged_internal.hpp"

#include <algorithm>

namespace multitree::mpi {

StagedShares::StagedShares(const Shares& shares, int ranks, MPI_Comm comm, const char* other_begin,
                           const char* other_end)
    : shares_(shares),
      counts_(shares.counts, shares.counts + ranks),
      places_(shares.places, shares.places + ranks),
      elements_(shares.type, comm) {
  const std::size_t size = elements_.size();
  std::size_t packed = 0;
  for (const int count : counts_) {
    bytes_.push_back(at(count) * size);
    begins_.push_back(packed);
    packed += bytes_.back();
  }
  const std::vector<std::size_t> side_by_side = begins_;
  bool plain = elements_.plain();
  for (std::size_t r = 0; r < places_.size(); ++r) {
    plain = plain && places_[r] >= 0;
    begins_[r] = at(std::max(places_[r], 0)) * size;
  }
  const char* const begin = static_cast<const char*>(shares.buffer);
  const bool meets = other_begin < begin + end() && begin < other_end;
  if (plain && !meets) return;
  begins_ = side_by_side;
  packed_.emplace(packed);
}

std::size_t StagedShares::end() const {
  std::size_t last = 0;
  for (std::size_t r = 0; r < bytes_.size(); ++r) last = std::max(last, begins_[r] + bytes_[r]);
  return last;
}

int StagedShares::move(Move which, int rank) {
  if (!packed_ || bytes_[at(rank)] == 0) return MPI_SUCCESS;
  void* const share = elements_.at(shares_.buffer, places_[at(rank)]);
  return (elements_.*which)(share, counts_[at(rank)], data_of(rank));
}

int StagedShares::pack() {
  int code = MPI_SUCCESS;
  const int ranks = static_cast<int>(bytes_.size());
  for (int r = 0; code == MPI_SUCCESS && r < ranks; ++r) code = move(&Bytes::pack, r);
  return code;
}

int StagedShares::unpack() {
  int code = MPI_SUCCESS;
  const int ranks = static_cast<int>(bytes_.size());
  for (int r = 0; code == MPI_SUCCESS && r < ranks; ++r) code = move(&Bytes::unpack, r);
  return code;
}

}  // namespace multitree::mpi
