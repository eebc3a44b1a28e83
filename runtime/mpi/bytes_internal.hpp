// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Elements of any MPI type as plain bytes.
#pragma once

#include "runtime/mpi/interpose_internal.hpp"

namespace multitree::mpi {

/// What one element of an MPI type takes, and how elements become bytes. Errors are MPI's codes,
/// after they went to the error handler of the communicator.
class Bytes {
 public:
  /// \pre `type` is not MPI_DATATYPE_NULL
  Bytes(MPI_Datatype type, MPI_Comm comm);

  /// Whether the elements in memory are their bytes, without gaps and from the buffer's start on.
  [[nodiscard]] bool plain() const { return plain_; }
  /// Bytes of an element.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Where element `index` of a buffer begins.
  [[nodiscard]] void* at(void* buffer, std::size_t index) const;
  /// `bytes` become those of `count` elements at `buffer`, which may be MPI_BOTTOM: size() * count.
  int pack(void* buffer, int count, char* bytes) const;
  /// The opposite.
  int unpack(void* buffer, int count, char* bytes) const;

 private:
  MPI_Datatype type_;
  MPI_Comm comm_;
  MPI_Aint extent_ = 0;
  std::size_t size_ = 0;
  bool plain_ = false;
};

}  // namespace multitree::mpi
