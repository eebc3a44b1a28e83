// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi/bytes_internal.hpp"

#include <cstdint>

namespace multitree::mpi {
namespace {

/// Calls `use(buffer, count, type)` for `count` elements at `buffer`. MPICH packs nothing from and
/// to a null pointer, which is MPI_BOTTOM: then the same elements are one element of a type that
/// begins at an address which is not null.
template <typename Use>
int with_address(void* buffer, int count, MPI_Datatype type, const Use& use) {
  if (buffer != nullptr) return use(buffer, count, type);
  static char origin = 0;
  MPI_Aint address = 0;
  PMPI_Get_address(&origin, &address);
  const MPI_Aint back = -address;
  MPI_Datatype moved = MPI_DATATYPE_NULL;
  int code = PMPI_Type_create_hindexed(1, &count, &back, type, &moved);
  if (code != MPI_SUCCESS) return code;
  code = PMPI_Type_commit(&moved);
  if (code == MPI_SUCCESS) code = use(&origin, 1, moved);
  PMPI_Type_free(&moved);
  return code;
}

}  // namespace

Bytes::Bytes(MPI_Datatype type, MPI_Comm comm) : type_(type), comm_(comm) {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED, size = 0;
  MPI_Aint lower = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  PMPI_Type_size(type, &size);
  PMPI_Type_get_extent(type, &lower, &extent_);
  size_ = static_cast<std::size_t>(size);
  plain_ = combiner == MPI_COMBINER_NAMED && lower == 0 && extent_ == size;
}

void* Bytes::at(void* buffer, std::size_t index) const {
  // In whole numbers, as MPI_BOTTOM is a null pointer.
  const auto offset = static_cast<std::uintptr_t>(static_cast<MPI_Aint>(index) * extent_);
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(buffer) + offset);
}

int Bytes::pack(void* buffer, int count, char* bytes) const {
  const auto room = static_cast<int>(size_ * static_cast<std::size_t>(count));
  return with_address(buffer, count, type_, [&](void* from, int elements, MPI_Datatype type) {
    int position = 0;
    return PMPI_Pack(from, elements, type, bytes, room, &position, comm_);
  });
}

int Bytes::unpack(void* buffer, int count, char* bytes) const {
  const auto there = static_cast<int>(size_ * static_cast<std::size_t>(count));
  return with_address(buffer, count, type_, [&](void* to, int elements, MPI_Datatype type) {
    int position = 0;
    return PMPI_Unpack(bytes, there, &position, to, elements, type, comm_);
  });
}

}  // namespace multitree::mpi
