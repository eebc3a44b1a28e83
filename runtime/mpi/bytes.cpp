// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi/bytes_internal.hpp"

#include <algorithm>
#include <climits>
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
  if (combiner == MPI_COMBINER_NAMED) return;  // nobody frees those
  auto copy = std::make_unique<MPI_Datatype>(MPI_DATATYPE_NULL);
  if (PMPI_Type_dup(type, copy.get()) != MPI_SUCCESS) return;
  type_ = *copy;
  kept_ = std::shared_ptr<MPI_Datatype>(copy.release(), [](MPI_Datatype* of) {
    PMPI_Type_free(of);
    delete of;
  });
}

void* Bytes::at(void* buffer, std::ptrdiff_t index) const {
  // In whole numbers, as MPI_BOTTOM is a null pointer.
  const auto offset = static_cast<std::uintptr_t>(static_cast<MPI_Aint>(index) * extent_);
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(buffer) + offset);
}

/// MPI packs less than 2 GiB at a time.
template <typename Use>
int Bytes::in_parts(void* buffer, int count, char* bytes, const Use& use) const {
  const auto most = static_cast<int>(INT_MAX / std::max<std::size_t>(size_, 1));
  int code = MPI_SUCCESS;
  for (int done = 0; code == MPI_SUCCESS && done < count;) {
    const int some = std::min(most, count - done);
    const std::size_t before = size_ * static_cast<std::size_t>(done);
    const auto length = static_cast<int>(size_ * static_cast<std::size_t>(some));
    code = with_address(at(buffer, done), some, type_,
                        [&](void* where, int elements, MPI_Datatype type) {
                          return use(where, elements, type, bytes + before, length);
                        });
    done += some;
  }
  return code;
}

int Bytes::pack(void* buffer, int count, char* bytes) const {
  const auto use = [&](void* from, int elements, MPI_Datatype type, char* to, int room) {
    int position = 0;
    return PMPI_Pack(from, elements, type, to, room, &position, comm_);
  };
  return in_parts(buffer, count, bytes, use);
}

int Bytes::unpack(void* buffer, int count, char* bytes) const {
  const auto use = [&](void* to, int elements, MPI_Datatype type, char* from, int there) {
    int position = 0;
    return PMPI_Unpack(from, there, &position, to, elements, type, comm_);
  };
  return in_parts(buffer, count, bytes, use);
}

}  // namespace multitree::mpi
