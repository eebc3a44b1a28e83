// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the interposed MPI functions share. Compiled once for each MPI, whose mpi.h decides the
/// ABI.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "runtime/c/multitree.h"

namespace multitree::mpi {

/// The environment variables MULTITREE_MPI_...; docs/c-api.md says what they mean.
struct Settings {
  bool log = false, log_all = false;
  bool at_init = true;
  std::optional<std::size_t> min_bytes;  ///< instead of each function's own
  std::set<std::string> disabled;        ///< "allreduce", ...
  int max_communicators = 64;
  int deadline_ms = 86'400'000;
  std::string topology, algorithm, plan_file, transport;
};
const Settings& settings();

/// Why a call is passed on; empty: it is served.
using Reason = std::string;

/// Counts a call. `call` as "MPI_Allreduce".
void count(const char* call, const Reason& reason);
/// What was counted, on standard error, if wanted. At rank 0, or at all.
void print_log(int rank);

/// Element type and operator of a reduction; none if multitree has not got them.
struct Reduction {
  mtDataType_t type{};
  std::size_t bytes = 0;  ///< of an element
  std::size_t parts = 1;  ///< elements of multitree in one of MPI
  mtRedOp_t op{};
};
std::optional<Reduction> reduction_of(MPI_Datatype type, MPI_Op op);

/// The multitree communicator of an MPI communicator, or why there is none.
struct Peer {
  mtComm_t comm = nullptr;
  int rank = 0, size = 1;
  Reason why_not;
  std::set<int> roots = {};  ///< that a blocking collective was served with: they are connected
  int persistent = 0;        ///< requests that can still be started
  bool freed = false;        ///< by MPI, while there were such
};
/// Counts a persistent request of a peer, in or out. The peer stays until the last is gone.
void hold(Peer& peer);
void let_go(Peer& peer);
/// Makes it in the first call for `comm`, and keeps it as an attribute of it: collective. It ends
/// when MPI deletes the attribute, which waits for no other rank.
Peer* peer_of(MPI_Comm comm);
/// Only looks; nullptr if none was made.
Peer* known_peer_of(MPI_Comm comm);
/// From now on MPI_Finalize, called from whatever language, first ends all of them and prints the
/// log. Any number of calls, of any thread, after MPI_Init.
void watch_end();

/// Moves MPI's own messages on, for one thread, by testing a request that nobody completes. A probe
/// would not do: MPICH looks at the memory of MPI_COMM_SELF alone, and at nothing else where a
/// message has come already.
class MpiProgress {
 public:
  MpiProgress() = default;
  MpiProgress(const MpiProgress&) = delete;
  MpiProgress& operator=(const MpiProgress&) = delete;
  ~MpiProgress();
  void advance();

 private:
  MPI_Request never_ = MPI_REQUEST_NULL;  // made by the first call: most waits are over before
};
/// Waits for a started collective while MPI goes on as well: peers may wait for messages of this
/// rank before they come here. Frees the request.
mtResult_t finish(mtRequest_t request);
/// Raises an MPI error, `code`, on `comm` and prints `words`. Returns the code.
int raise(const char* call, MPI_Comm comm, const char* words, int code = MPI_ERR_OTHER);

/// A started collective that MPI knows as a request.
class Pending {
 public:
  Pending(const char* call, MPI_Comm comm, mtRequest_t started, std::function<int()> finish)
      : call_(call), comm_(comm), started_(started), finish_(std::move(finish)) {}
  virtual ~Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  /// A look at it, by any thread.
  void test();
  [[nodiscard]] bool done() const { return done_; }
  /// Does what is left to do, and lets MPI know, on a thread that calls MPI. MPI may let go of it.
  void complete();
  /// What MPI_Wait() and its relatives return.
  [[nodiscard]] int outcome() const;

 protected:
  mtRequest_t& started() { return started_; }
  /// That it is over; for another time it is not.
  virtual void tell_mpi() = 0;
  void reset();

 private:
  const char* call_;
  MPI_Comm comm_;
  mtRequest_t started_;
  std::function<int()> finish_;
  bool done_ = false;
  std::string failure_;  ///< its words; empty: none
};

/// Gives an MPI request for a started collective. `finish`: what is to be done at its end on a
/// thread that calls MPI, a code of MPI; may be none.
int make_request(const char* call, MPI_Comm comm, mtRequest_t started, std::function<int()> finish,
                 MPI_Request* request);
/// From here on it is moved, until it is complete.
void add_pending(Pending* pending);
/// Whether any such request is unfinished.
bool any_pending();
/// Moves them on, and completes those that are done.
void advance_pending();
/// Completes all.
void finish_pending();
/// Lets go of all persistent requests, at the end.
void end_persistent();

}  // namespace multitree::mpi
