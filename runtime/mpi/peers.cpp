// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A multitree communicator beside each MPI communicator: made through PMPI, kept as an attribute.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/mpi/interpose_internal.hpp"

namespace multitree::mpi {
namespace {

constexpr std::chrono::microseconds kPeriod{100};

std::mutex mutex;          // guards what follows, but for `live`
std::vector<Peer*> peers;  // of communicators that are there; with those that could not be made
int keyval = MPI_KEYVAL_INVALID;
bool ended = false;
std::atomic<int> live = 0;  // communicators of multitree that are not closed yet

/// Ends the peer's communicator of multitree without waiting for anybody: another rank may still be
/// in a collective on it, or at work elsewhere. It is closed once all its ranks have left it, on a
/// thread of its own, as they may leave several in different orders. That thread calls nothing of
/// MPI.
void leave(Peer& peer, const char* why) {
  if (peer.comm == nullptr) return;
  try {
    std::thread([comm = peer.comm] {
      mtCommDestroy(comm);
      --live;
    }).detach();
  } catch (const std::system_error&) {  // no thread to be had: nobody is waited for
    mtCommAbort(peer.comm);
    --live;
  }
  peer.comm = nullptr;
  peer.why_not = why;
}

/// \pre locked
void end(Peer* peer) {
  leave(*peer, "communicator was freed");
  std::erase(peers, peer);
  delete peer;
}

/// Called by MPI when a communicator goes, whichever language freed it, and at the very end.
int on_delete(MPI_Comm, int, void* value, void*) {
  const std::scoped_lock lock(mutex);
  auto* const peer = static_cast<Peer*>(value);
  peer->freed = true;
  if (peer->persistent == 0) end(peer);
  return MPI_SUCCESS;
}

void end_all_peers() {
  {
    const std::scoped_lock lock(mutex);
    ended = true;
    for (Peer* const peer : peers) leave(*peer, "MPI is finalized");
  }
  // Other ranks may wait for messages of this one before they come here.
  MpiProgress mpi;
  while (live > 0) {
    mpi.advance();
    std::this_thread::sleep_for(kPeriod);
  }
}

/// Called by MPI_Finalize before anything else, as MPI demands of attributes of MPI_COMM_SELF.
int on_end(MPI_Comm, int, void*, void*) {
  finish_pending();
  end_persistent();
  end_all_peers();
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  print_log(rank);
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

/// What ranks say before they connect: combined bit by bit, all get the id and the tag of rank 0,
/// the only one that has them, and whether any cannot go on.
struct Greeting {
  mtUniqueId id{};
  std::int32_t tag = 0;
  unsigned char refused = 0;
  /// Some have no communicator of MPI_COMM_WORLD to share connections with.
  unsigned char apart = 0;
};

/// Waits asleep: ranks that share processors would keep those away that they wait for.
bool greet(Greeting& greeting, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  int code =
      PMPI_Iallreduce(MPI_IN_PLACE, &greeting, sizeof greeting, MPI_BYTE, MPI_BOR, comm, &request);
  for (int done = 0; code == MPI_SUCCESS && done == 0;) {
    code = PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(kPeriod);
  }
  return code == MPI_SUCCESS;
}

/// Whether all ranks have made theirs, by a sum on it: whoever has not ends that of all.
bool all_have(mtComm_t comm, int ranks) {
  const std::int32_t one = 1;
  std::int32_t all = 0;
  return mtAllReduce(&one, &all, 1, mtInt32, mtSum, comm, nullptr) == mtSuccess && all == ranks;
}

/// A communicator and the ranks of a part of it, if it is good for that.
struct Whole {
  mtComm_t comm = nullptr;
  std::vector<int> ranks = {};
};
/// Empty if some are of another MPI_COMM_WORLD.
std::vector<int> ranks_in_world(MPI_Comm comm, int size) {
  MPI_Group part = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  std::vector<int> own(size), ranks(size);
  std::iota(own.begin(), own.end(), 0);
  PMPI_Comm_group(comm, &part);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_translate_ranks(part, size, own.data(), world, ranks.data());
  PMPI_Group_free(&part);
  PMPI_Group_free(&world);
  if (std::ranges::find(ranks, MPI_UNDEFINED) != ranks.end()) return {};
  return ranks;
}

Whole whole_of(MPI_Comm comm, int size) {
  if (comm == MPI_COMM_WORLD) return {};
  const Peer* const peer = known_peer_of(MPI_COMM_WORLD);
  mtResult_t state = mtInternalError;
  if (peer == nullptr || peer->comm == nullptr) return {};
  if (mtCommGetAsyncError(peer->comm, &state) != mtSuccess || state != mtSuccess) return {};
  return {peer->comm, ranks_in_world(comm, size)};
}

/// As a part of the communicator of MPI_COMM_WORLD where all ranks have that, else by an id.
mtResult_t make_communicator(Peer& peer, MPI_Comm comm, const Whole& whole, Greeting& greeting) {
  const mtConfig_t config = config_for(comm);
  if (greeting.apart == 0) {
    return mtCommCreateGroup(whole.comm, whole.ranks.data(), peer.size, greeting.tag, &peer.comm,
                             &config);
  }
  if (comm != MPI_COMM_WORLD) {
    greeting = {};
    if (peer.rank == 0) static_cast<void>(mtGetUniqueId(&greeting.id));  // else no id, for all
    if (!greet(greeting, comm)) return mtRemoteError;
  }
  return mtCommInitRankConfig(&peer.comm, peer.size, greeting.id, peer.rank, &config);
}

/// Collective, and the same outcome at all ranks. One call of MPI for the first communicator: the
/// more, the longer MPI_Init takes where ranks share processors.
void connect(Peer& peer, MPI_Comm comm) {
  static std::atomic<std::int32_t> next_tag = 0;
  Greeting greeting;
  const Whole whole = whole_of(comm, peer.size);
  {
    const std::scoped_lock lock(mutex);
    if (live >= settings().max_communicators) peer.why_not = "more than MULTITREE_MPI_MAX_COMMS";
    if (ended) peer.why_not = "MPI is finalized";
  }
  const bool first = comm == MPI_COMM_WORLD;
  if (first && peer.rank == 0 && peer.why_not.empty() && mtGetUniqueId(&greeting.id) != mtSuccess) {
    peer.why_not = mtGetLastError(nullptr);
  }
  if (peer.rank == 0) greeting.tag = next_tag++;
  greeting.apart = whole.ranks.empty() ? 1 : 0;
  greeting.refused = peer.why_not.empty() ? 0 : 1;
  // Also a barrier: from here on nobody waits for a message of a rank that is here.
  if (!greet(greeting, comm) || greeting.refused != 0) {
    if (peer.why_not.empty()) peer.why_not = "another rank could not";
    return;
  }
  if (make_communicator(peer, comm, whole, greeting) != mtSuccess) {
    peer.why_not = mtGetLastError(nullptr);
  } else if (!all_have(peer.comm, peer.size)) {
    peer.why_not = std::string("another rank could not: ") + mtGetLastError(nullptr);
  } else {
    ++live;
    return;
  }
  if (peer.comm != nullptr) mtCommAbort(peer.comm);
  peer.comm = nullptr;
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

void hold(Peer& peer) {
  const std::scoped_lock lock(mutex);
  ++peer.persistent;
}

void let_go(Peer& peer) {
  const std::scoped_lock lock(mutex);
  if (--peer.persistent == 0 && peer.freed) end(&peer);
}

void watch_end() {
  static std::once_flag once;
  std::call_once(once, [] {
    int end = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &on_end, &end, nullptr);
    PMPI_Comm_set_attr(MPI_COMM_SELF, end, nullptr);
  });
}

}  // namespace multitree::mpi
