// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Deciding who serves a call, and running those that are served; MPI's beginning.
///
/// Whether a call is served is decided by what is equal at all ranks (element type, operator,
/// bytes, counts, root, communicator), so that all decide alike.
#include "runtime/mpi/served_internal.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace multitree::mpi {
namespace {

constexpr int kWrongLibrary = 2;  // exit code: a wrong use, as of the command line

const char* const kRefused = "an argument that MPI refuses";

/// The first of `reasons` that is one.
Reason first_of(std::initializer_list<Reason> reasons) {
  const auto* const found =
      std::ranges::find_if(reasons, [](const Reason& reason) { return !reason.empty(); });
  return found == reasons.end() ? "" : *found;
}

Reason turned_off(const Function& function) {
  return settings().disabled.contains(function.name) ? "in MULTITREE_MPI_DISABLE" : "";
}

Reason too_small(const Function& function, std::size_t bytes) {
  return bytes < settings().min_bytes.value_or(function.least)
             ? "fewer than MULTITREE_MPI_MIN_BYTES"
             : "";
}

/// The first call with a root makes connections, and waits for the others. MPI's messages do not
/// move meanwhile, so all must have come first; a non-blocking call must not wait at all.
Reason use_root(const Function& function, MPI_Comm comm, Peer& peer, int root) {
  if (root < 0 || root >= peer.size) return kRefused;
  if (peer.roots.contains(root)) return "";
  if (function.manner == Manner::NonBlocking) return "no blocking collective with this root before";
  PMPI_Barrier(comm);
  peer.roots.insert(root);
  return "";
}

Reason find_peer(const Function& function, MPI_Comm comm, int root, Peer*& peer) {
  // Making a communicator waits for other ranks, too.
  const bool waits = function.manner != Manner::NonBlocking;
  peer = waits ? peer_of(comm) : known_peer_of(comm);
  if (peer == nullptr) return "no blocking collective on this communicator before";
  if (!peer->why_not.empty() || root == kNoRoot) return peer->why_not;
  return use_root(function, comm, *peer, root);
}

/// Libraries of one family share a binary interface: Open MPI, or MPICH and its relatives.
struct Family {
  const char* name;
  const char* library;
};
constexpr Family kOpenMpi{"Open MPI", "libmultitree_mpi_openmpi.so"};
constexpr Family kMpich{"MPICH", "libmultitree_mpi_mpich.so"};
#ifdef OPEN_MPI
constexpr const Family& kBuiltFor = kOpenMpi;
#else
constexpr const Family& kBuiltFor = kMpich;
#endif

/// Handles of the other family would be misread by every call, so the program ends here.
void require_family() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  PMPI_Get_library_version(text.data(), &length);
  const std::string_view version(text.data());
  const Family& found = version.starts_with(kOpenMpi.name) ? kOpenMpi : kMpich;
  if (&found == &kBuiltFor) return;
  std::fprintf(stderr,
               "multitree: %s is preloaded, but the MPI of this program is \"%.*s\": preload %s\n",
               kBuiltFor.library, static_cast<int>(version.find_first_of(",\n")), text.data(),
               found.library);
  std::_Exit(kWrongLibrary);
}

void begin_mpi() {
  watch_end();
  // So that non-blocking calls, which must not wait for others, find it.
  if (settings().at_init) static_cast<void>(peer_of(MPI_COMM_WORLD));
}

}  // namespace

Reason wrong(MPI_Comm comm, MPI_Datatype type, int count) {
  const bool known = comm != MPI_COMM_NULL && type != MPI_DATATYPE_NULL && count >= 0;
  return known ? "" : kRefused;
}

CountsOfRanks counts_of_ranks(const int counts[], MPI_Comm comm) {
  CountsOfRanks of;
  if (comm == MPI_COMM_NULL || counts == nullptr) {
    of.wrong = kRefused;
    return of;
  }
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_size(comm, &of.ranks);
  if (inter != 0) of.wrong = "intercommunicator";  // the counts are of the other group's ranks
  for (int rank = 0; of.wrong.empty() && rank < of.ranks; ++rank) {
    if (counts[rank] < 0) of.wrong = kRefused;
    of.sum += counts[rank];
    of.equal = of.equal && counts[rank] == counts[0];
  }
  return of;
}

Plan decide(const Function& function, MPI_Comm comm, std::initializer_list<Reason> why_not,
            std::size_t bytes, int root) {
  watch_end();
  Plan plan;
  plan.function = &function;
  plan.comm = comm;
  plan.reason = first_of({turned_off(function), first_of(why_not), too_small(function, bytes)});
  if (plan.served()) plan.reason = find_peer(function, comm, root, plan.peer);
  count(function.call, plan.reason);
  return plan;
}

void* find_own(const char* name) {
  for (const char* const prefix : {"PMPI_", "PMPIX_"}) {
    void* const found = ::dlsym(RTLD_DEFAULT, (std::string(prefix) + name).c_str());
    if (found != nullptr) return found;
  }
  return nullptr;
}

int lacks(const char* call, MPI_Comm comm) {
  return raise(call, comm, "this MPI has no such function", MPI_ERR_UNSUPPORTED_OPERATION);
}

int raise_last(const Plan& plan, mtResult_t result) {
  return raise(plan.function->call, plan.comm, mtGetLastError(nullptr),
               result == mtInvalidArgument ? MPI_ERR_BUFFER : MPI_ERR_OTHER);
}

int Plan::launch(mtRequest_t* request) const {
  if (failed != MPI_SUCCESS) return failed;
  const bool packs = pack && function->manner != Manner::Persistent;
  const int code = packs ? pack() : MPI_SUCCESS;
  if (code != MPI_SUCCESS) return code;
  const mtResult_t result = start(request);
  return result == mtSuccess ? MPI_SUCCESS : raise_last(*this, result);
}

int Plan::run() const {
  mtRequest_t request = nullptr;
  int code = launch(&request);
  if (code != MPI_SUCCESS) return code;
  if (rest) code = rest();
  const mtResult_t result = multitree::mpi::finish(request);
  if (result != mtSuccess) return raise_last(*this, result);
  if (code != MPI_SUCCESS) return code;
  return finish ? finish() : MPI_SUCCESS;
}

int Plan::begin(MPI_Request* request) const {
  mtRequest_t started = nullptr;
  const int code = launch(&started);
  if (code != MPI_SUCCESS) return code;
  return function->manner == Manner::Persistent
             ? make_persistent(*this, started, request)
             : make_request(function->call, comm, started, finish, request);
}

int raise(const char* call, MPI_Comm comm, const char* words, int code) {
  std::fprintf(stderr, "multitree: %s: %s\n", call, words);
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

}  // namespace multitree::mpi

using namespace multitree::mpi;

MULTITREE_EXPORT int MPI_Init(int* argc, char*** argv) {
  require_family();
  const int code = PMPI_Init(argc, argv);
  if (code == MPI_SUCCESS) begin_mpi();
  return code;
}

MULTITREE_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  require_family();
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) begin_mpi();
  return code;
}
