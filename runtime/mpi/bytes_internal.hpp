// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Elements of any MPI type as plain bytes.
#pragma once

#include <memory>

#include "runtime/mpi/interpose_internal.hpp"

namespace multitree::mpi {

/// What one element of an MPI type takes, and how elements become bytes. Errors are MPI's codes,
/// after they went to the error handler of the communicator.
class Bytes {
 public:
  /// The program may free the type meanwhile. \pre `type` is not MPI_DATATYPE_NULL
  Bytes(MPI_Datatype type, MPI_Comm comm);

  /// Whether the elements in memory are their bytes, without gaps and from the buffer's start on.
  [[nodiscard]] bool plain() const { return plain_; }
  /// Bytes of an element.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Where element `index` of a buffer begins.
  [[nodiscard]] void* at(void* buffer, std::ptrdiff_t index) const;
  /// `bytes` become those of `count` elements at `buffer`, which may be MPI_BOTTOM: size() * count.
  int pack(void* buffer, int count, char* bytes) const;
  /// The opposite.
  int unpack(void* buffer, int count, char* bytes) const;

 private:
  template <typename Use>
  int in_parts(void* buffer, int count, char* bytes, const Use& use) const;

  MPI_Datatype type_;
  std::shared_ptr<void> kept_;  ///< frees what type_ is, where that is a copy
  MPI_Comm comm_;
  MPI_Aint extent_ = 0;
  std::size_t size_ = 0;
  bool plain_ = false;
};

}  // namespace multitree::mpi
