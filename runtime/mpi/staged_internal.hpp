// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Buffers of any MPI type as bytes that multitree can take: where they lie, or packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/mpi/bytes_internal.hpp"

namespace multitree::mpi {

/// A buffer as MPI is told of it: of one rank's data, or of all ranks' one after the other.
struct Side {
  void* buffer;
  int count;
  MPI_Datatype type;
  int parts = 1;

  [[nodiscard]] bool in_place() const { return buffer == MPI_IN_PLACE; }
  /// Of a part. \pre the type is known
  [[nodiscard]] std::int64_t bytes() const {
    int element = 0;
    PMPI_Type_size(type, &element);
    return std::int64_t{count} * element;
  }
  [[nodiscard]] Side part(int number, MPI_Comm comm) const {
    const auto before = std::ptrdiff_t{number} * count;
    return {Bytes(type, comm).at(buffer, before), count, type};
  }
};

/// MPI declares what it only reads as const.
inline void* mutable_of(const void* buffer) { return const_cast<void*>(buffer); }

/// A side as bytes.
class Staged {
 public:
  Staged(const Side& side, MPI_Comm comm) : side_(side), elements_(side.type, comm) {
    if (!elements_.plain()) packed_.resize(each() * static_cast<std::size_t>(side.parts));
  }

  /// Bytes of a part.
  [[nodiscard]] std::size_t each() const {
    return elements_.size() * static_cast<std::size_t>(side_.count);
  }
  [[nodiscard]] char* bytes() {
    return elements_.plain() ? static_cast<char*>(side_.buffer) : packed_.data();
  }
  /// A code of MPI.
  int pack() { return for_each(&Bytes::pack); }
  int unpack() { return for_each(&Bytes::unpack); }

 private:
  template <typename Move>
  int for_each(Move move) {
    int code = MPI_SUCCESS;
    const int parts = elements_.plain() || each() == 0 ? 0 : side_.parts;
    for (int i = 0; code == MPI_SUCCESS && i < parts; ++i) {
      char* const packed = packed_.data() + static_cast<std::size_t>(i) * each();
      code = (elements_.*move)(elements_.at(side_.buffer, std::ptrdiff_t{i} * side_.count),
                               side_.count, packed);
    }
    return code;
  }

  Side side_;
  Bytes elements_;
  std::vector<char> packed_;
};

/// Shares of all ranks in a buffer, by MPI's counts and displacements.
struct Shares {
  void* buffer;
  const int* counts;
  const int* places;
  MPI_Datatype type;
};

/// Shares as bytes.
class StagedShares {
 public:
  /// `other`: of the same call; what lies between these shares is packed, as multitree wants whole
  /// ranges that do not overlap.
  StagedShares(const Shares& shares, int ranks, MPI_Comm comm, const char* other_begin = nullptr,
               const char* other_end = nullptr);

  /// By rank.
  [[nodiscard]] const std::vector<std::size_t>& bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<std::size_t>& begins() const { return begins_; }
  [[nodiscard]] char* data() {
    return packed_ ? packed_->data() : static_cast<char*>(shares_.buffer);
  }
  [[nodiscard]] char* data_of(int rank) { return data() + begins_[at(rank)]; }
  /// The end of the last share.
  [[nodiscard]] std::size_t end() const;
  /// From here on it is empty.
  void drop(int rank) { bytes_[at(rank)] = 0; }
  /// Codes of MPI.
  int pack(int rank) { return move(&Bytes::pack, rank); }
  int pack();
  int unpack();

 private:
  using Move = int (Bytes::*)(void*, int, char*) const;
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  int move(Move which, int rank);

  Shares shares_;
  std::vector<int> counts_, places_;  ///< by rank
  Bytes elements_;
  std::vector<std::size_t> bytes_, begins_;
  std::optional<std::vector<char>> packed_;  ///< side by side; none: they lie in the buffer
};

}  // namespace multitree::mpi
