// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// MPI_Allgatherv: shares that differ, of any type, where each rank says where they go.
#include <climits>
#include <memory>
#include <vector>

#include "runtime/mpi/bytes_internal.hpp"
#include "runtime/mpi/served_internal.hpp"

namespace multitree::mpi {
namespace {

/// Shares of all ranks in a buffer, by MPI's counts and displacements.
struct Shares {
  void* buffer;
  const int* counts;
  const int* places;
  MPI_Datatype type;
};

/// The same as bytes: where they lie, or packed one after the other.
class StagedShares {
 public:
  StagedShares(const Shares& shares, int ranks, MPI_Comm comm)
      : buffer_(shares.buffer),
        counts_(shares.counts, shares.counts + ranks),
        places_(shares.places, shares.places + ranks),
        elements_(shares.type, comm) {
    std::size_t end = 0;
    for (std::size_t r = 0; r < counts_.size(); ++r) {
      bytes.push_back(static_cast<std::size_t>(counts_[r]) * elements_.size());
      packed_at.push_back(end);
      end += bytes.back();
    }
    packed.resize(end);
  }

  /// Codes of MPI.
  int pack(std::size_t rank) {
    return elements_.pack(share(rank), counts_[rank], packed.data() + packed_at[rank]);
  }
  int unpack() {
    int code = MPI_SUCCESS;
    for (std::size_t r = 0; code == MPI_SUCCESS && r < counts_.size(); ++r) {
      if (bytes[r] == 0) continue;
      code = elements_.unpack(share(r), counts_[r], packed.data() + packed_at[r]);
    }
    return code;
  }

  std::vector<std::size_t> bytes, packed_at;  ///< by rank
  std::vector<char> packed;

 private:
  [[nodiscard]] void* share(std::size_t rank) const {
    return elements_.at(buffer_, static_cast<std::size_t>(places_[rank]));
  }

  void* buffer_;
  std::vector<int> counts_, places_;
  Bytes elements_;
};

/// Decided by the mean share, which all ranks know.
Plan all_gather_v(const void* send, int send_count, MPI_Datatype send_type, const Shares& recv,
                  MPI_Comm comm) {
  const bool in_place = send == MPI_IN_PLACE;
  const CountsOfRanks all = counts_of_ranks(recv.counts, comm);
  Reason reason = all.wrong.empty() ? wrong(comm, recv.type, 0) : all.wrong;
  if (reason.empty() && !in_place) reason = wrong(comm, send_type, send_count);
  if (recv.places == nullptr) reason = "no displacements";
  int size = 0;
  if (reason.empty()) PMPI_Type_size(recv.type, &size);
  const std::int64_t bytes = all.sum * size;
  if (bytes < 0 || bytes > INT_MAX) reason = "2 GiB or more in all";
  Plan plan = decide(kAllgatherv, comm, {reason},
                     reason.empty() ? static_cast<std::size_t>(bytes / all.ranks) : 0);
  if (!plan.served()) return plan;
  const auto to = std::make_shared<StagedShares>(recv, all.ranks, comm);
  const auto own = static_cast<std::size_t>(plan.peer->rank);
  if (in_place) {
    plan.failed = to->bytes[own] == 0 ? MPI_SUCCESS : to->pack(own);
  } else {
    const Bytes elements(send_type, comm);
    if (elements.size() * static_cast<std::size_t>(send_count) != to->bytes[own]) {
      plan.failed = raise(plan.function->call, comm,
                          "a rank sends another number of bytes than it receives", MPI_ERR_COUNT);
    } else if (to->bytes[own] != 0) {
      plan.failed = elements.pack(const_cast<void*>(send), send_count,
                                  to->packed.data() + to->packed_at[own]);
    }
  }
  plan.start = [to, own, on = plan.peer->comm](mtRequest_t* request) {
    return mtIAllGatherv(to->packed.data() + to->packed_at[own], to->bytes[own], to->packed.data(),
                         to->bytes.data(), nullptr, mtUint8, on, nullptr, request);
  };
  plan.finish = [to] { return to->unpack(); };
  return plan;
}

}  // namespace
}  // namespace multitree::mpi

using namespace multitree::mpi;

MULTITREE_EXPORT int MPI_Allgatherv(const void* send, int send_count, MPI_Datatype send_type,
                                    void* recv, const int counts[], const int places[],
                                    MPI_Datatype recv_type, MPI_Comm comm) {
  const Plan plan =
      all_gather_v(send, send_count, send_type, {recv, counts, places, recv_type}, comm);
  return plan.served()
             ? plan.run()
             : PMPI_Allgatherv(send, send_count, send_type, recv, counts, places, recv_type, comm);
}
