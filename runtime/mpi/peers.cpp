// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A multitree communicator beside each MPI communicator: made through PMPI, kept as an attribute.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "runtime/mpi/interpose_internal.hpp"

namespace multitree::mpi {
namespace {

std::mutex mutex;          // guards what follows
std::vector<Peer*> peers;  // in the order of their making; with those that could not be made
int live = 0;
int keyval = MPI_KEYVAL_INVALID;

/// Called by MPI when a communicator goes without having passed through MPI_Comm_free, and at the
/// very end: only memory is left to be freed.
int on_delete(MPI_Comm, int, void* value, void*) {
  const std::scoped_lock lock(mutex);
  auto* const peer = static_cast<Peer*>(value);
  if (peer->comm != nullptr) {
    mtCommAbort(peer->comm);
    --live;
  }
  std::erase(peers, peer);
  delete peer;
  return MPI_SUCCESS;
}

int our_keyval() {
  const std::scoped_lock lock(mutex);
  if (keyval == MPI_KEYVAL_INVALID) {
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &on_delete, &keyval, nullptr);
  }
  return keyval;
}

mtConfig_t config_for(MPI_Comm comm) {
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  config.devices = 0;  // as ranks may differ in what they have loaded when MPI starts
  config.deadlineMs = settings().deadline_ms;
  const auto text = [](const std::string& value) {
    return value.empty() ? nullptr : value.c_str();
  };
  config.transport = text(settings().transport);
  config.algorithm = text(settings().algorithm);
  int relation = MPI_UNEQUAL;
  PMPI_Comm_compare(comm, MPI_COMM_WORLD, &relation);
  // The network that somebody described is that of all ranks in their order.
  if (relation == MPI_IDENT || relation == MPI_CONGRUENT) {
    config.topology = text(settings().topology);
    config.planFile = text(settings().plan_file);
  }
  return config;
}

bool all_agree(bool mine, MPI_Comm comm) {
  int yes = mine ? 1 : 0, all = 0;
  return PMPI_Allreduce(&yes, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && all == 1;
}

/// Collective, and the same outcome at all ranks.
void connect(Peer& peer, MPI_Comm comm) {
  mtUniqueId id{};
  {
    const std::scoped_lock lock(mutex);
    if (live >= settings().max_communicators) peer.why_not = "more than MULTITREE_MPI_MAX_COMMS";
  }
  if (peer.rank == 0 && peer.why_not.empty() && mtGetUniqueId(&id) != mtSuccess) {
    peer.why_not = mtGetLastError(nullptr);
  }
  // Also a barrier: from here on nobody waits for a message of a rank that is here.
  if (!all_agree(peer.why_not.empty(), comm)) {
    if (peer.why_not.empty()) peer.why_not = "another rank could not";
    return;
  }
  PMPI_Bcast(id.internal, sizeof id.internal, MPI_BYTE, 0, comm);
  const mtConfig_t config = config_for(comm);
  const mtResult_t result = mtCommInitRankConfig(&peer.comm, peer.size, id, peer.rank, &config);
  if (result != mtSuccess) peer.why_not = mtGetLastError(nullptr);
  if (all_agree(result == mtSuccess, comm)) {
    const std::scoped_lock lock(mutex);
    ++live;
    return;
  }
  if (peer.comm != nullptr) mtCommAbort(peer.comm);
  peer.comm = nullptr;
  if (peer.why_not.empty()) peer.why_not = "another rank could not";
  std::fprintf(stderr, "multitree: rank %d of %d goes on without: %s\n", peer.rank, peer.size,
               peer.why_not.c_str());
}

}  // namespace

Peer* known_peer_of(MPI_Comm comm) {
  void* value = nullptr;
  int found = 0;
  if (PMPI_Comm_get_attr(comm, our_keyval(), static_cast<void*>(&value), &found) != MPI_SUCCESS) {
    return nullptr;
  }
  return found != 0 ? static_cast<Peer*>(value) : nullptr;
}

Peer* peer_of(MPI_Comm comm) {
  if (Peer* const known = known_peer_of(comm)) return known;
  auto* const peer = new Peer();
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_rank(comm, &peer->rank);
  PMPI_Comm_size(comm, &peer->size);
  if (inter != 0) {
    peer->why_not = "intercommunicator";
  } else if (peer->size == 1) {
    peer->why_not = "communicator of one rank";
  } else {
    connect(*peer, comm);
  }
  PMPI_Comm_set_attr(comm, our_keyval(), peer);
  const std::scoped_lock lock(mutex);
  peers.push_back(peer);
  return peer;
}

void end_peer(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return;
  Peer* const peer = known_peer_of(comm);
  if (peer == nullptr || peer->comm == nullptr) return;
  // Nobody is left in MPI, waiting for a message of a rank that is here.
  PMPI_Barrier(comm);
  mtCommDestroy(peer->comm);
  const std::scoped_lock lock(mutex);
  peer->comm = nullptr;
  peer->why_not = "communicator was freed";
  --live;
}

void end_all_peers() {
  PMPI_Barrier(MPI_COMM_WORLD);
  std::vector<Peer*> all;
  {
    const std::scoped_lock lock(mutex);
    all = peers;
  }
  // Two ranks that share several communicators have made them in the same order.
  for (Peer* const peer : all) {
    if (peer->comm == nullptr) continue;
    mtCommDestroy(peer->comm);
    peer->comm = nullptr;
    peer->why_not = "MPI is finalized";
    const std::scoped_lock lock(mutex);
    --live;
  }
}

}  // namespace multitree::mpi
