// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What goes from rank to rank: messages of pairs, and collectives with a count for each rank.
#include <fmt/format.h>

#include <functional>

#include "runtime/c/calls_internal.hpp"
#include "runtime/c/operators_internal.hpp"

namespace multitree::runtime::c {
namespace {

Rank rank_of(const char* name, int rank) {
  if (rank >= 0) return Rank{static_cast<std::uint32_t>(rank)};
  throw Failure(mtInvalidArgument, fmt::format("{}: expected a rank, found {}", name, rank));
}

/// Of each rank; `begins` may be NULL.
Shares read_shares(const char* name, const size_t* counts, const size_t* begins, const Comm& comm) {
  require(counts, name);
  const std::uint32_t ranks = comm.size();
  Shares shares{{counts, counts + ranks}, {}};
  if (begins != nullptr) shares.begins.assign(begins, begins + ranks);
  return shares;
}

mtResult_t exchange(mtComm_t comm, mtStream_t stream, Mode mode, mtRequest_t* request,
                    mtDataType_t type, const std::function<ExchangeCall(const Comm&)>& read) {
  const auto make_spec = [&](const std::shared_ptr<Comm>& found) {
    if (stream != nullptr) {
      found->check_has_device();
      throw Failure(mtUnsupported, "stream: expected NULL, as messages take host memory only");
    }
    CallSpec spec;
    spec.exchange = read(*found);
    spec.exchange->type = type_of(type);
    return spec;
  };
  return submit(comm, mode, request, std::cref(make_spec));
}

bool is_root(const Comm& comm, int root) { return comm.rank() == rank_of("root", root); }

}  // namespace
}  // namespace multitree::runtime::c

using namespace multitree::runtime::c;
using multitree::runtime::Exchange;
using multitree::runtime::ExchangeCall;
using multitree::runtime::Shares;

/// The two functions of an exchange: its own parameters, then how they are read into a call.
#define MULTITREE_EXCHANGE(name, parameters, ...)                                      \
  mtResult_t mt##name(MULTITREE_UNPACK parameters, mtComm_t comm, mtStream_t stream) { \
    const auto read = [&](const Comm& found) -> ExchangeCall { __VA_ARGS__ };          \
    return exchange(comm, stream, Mode::Blocking, nullptr, type, std::cref(read));     \
  }                                                                                    \
  mtResult_t mtI##name(MULTITREE_UNPACK parameters, mtComm_t comm, mtStream_t stream,  \
                       mtRequest_t* request) {                                         \
    const auto read = [&](const Comm& found) -> ExchangeCall { __VA_ARGS__ };          \
    return exchange(comm, stream, Mode::NonBlocking, request, type, std::cref(read));  \
  }
#define MULTITREE_UNPACK(...) __VA_ARGS__

MULTITREE_EXCHANGE(Send, (const void* send, size_t count, mtDataType_t type, int peer), {
  static_cast<void>(found);
  return {.exchange = Exchange::Send, .send = send, .peer = rank_of("peer", peer), .count = count};
})

MULTITREE_EXCHANGE(Recv, (void* recv, size_t count, mtDataType_t type, int peer), {
  static_cast<void>(found);
  return {
      .exchange = Exchange::Receive, .recv = recv, .peer = rank_of("peer", peer), .count = count};
})

MULTITREE_EXCHANGE(AllToAll, (const void* send, void* recv, size_t count, mtDataType_t type), {
  const Shares shares = Shares::equal(count, found.size());
  return {.exchange = Exchange::AllToAll,
          .send = send,
          .recv = recv,
          .sent = shares,
          .received = shares};
})

MULTITREE_EXCHANGE(AllToAllv,
                   (const void* send, const size_t* sendCounts, const size_t* sendDispls,
                    void* recv, const size_t* recvCounts, const size_t* recvDispls,
                    mtDataType_t type),
                   {
                     return {.exchange = Exchange::AllToAllv,
                             .send = send,
                             .recv = recv,
                             .sent = read_shares("sendCounts", sendCounts, sendDispls, found),
                             .received = read_shares("recvCounts", recvCounts, recvDispls, found)};
                   })

MULTITREE_EXCHANGE(AllGatherv,
                   (const void* send, size_t sendCount, void* recv, const size_t* recvCounts,
                    const size_t* recvDispls, mtDataType_t type),
                   {
                     return {.exchange = Exchange::AllGatherv,
                             .send = send,
                             .recv = recv,
                             .sent = Shares::one(sendCount),
                             .received = read_shares("recvCounts", recvCounts, recvDispls, found)};
                   })

MULTITREE_EXCHANGE(ReduceScatterv,
                   (const void* send, void* recv, const size_t* counts, mtDataType_t type,
                    mtRedOp_t op),
                   {
                     const Shares sent = read_shares("counts", counts, nullptr, found);
                     return {.exchange = Exchange::ReduceScatterv,
                             .send = send,
                             .recv = recv,
                             .op = built_in_operator(op),
                             .sent = sent,
                             .received = Shares::one(sent.counts[index(found.rank())])};
                   })

MULTITREE_EXCHANGE(Gatherv,
                   (const void* send, size_t sendCount, void* recv, const size_t* recvCounts,
                    const size_t* recvDispls, mtDataType_t type, int root),
                   {
                     const bool all = is_root(found, root);
                     return {
                         .exchange = Exchange::Gatherv,
                         .send = send,
                         .recv = recv,
                         .peer = rank_of("root", root),
                         .sent = Shares::one(sendCount),
                         .received = all ? read_shares("recvCounts", recvCounts, recvDispls, found)
                                         : Shares{}};
                   })

MULTITREE_EXCHANGE(Scatterv,
                   (const void* send, const size_t* sendCounts, const size_t* sendDispls,
                    void* recv, size_t recvCount, mtDataType_t type, int root),
                   {
                     const bool all = is_root(found, root);
                     return {.exchange = Exchange::Scatterv,
                             .send = send,
                             .recv = recv,
                             .peer = rank_of("root", root),
                             .sent = all ? read_shares("sendCounts", sendCounts, sendDispls, found)
                                         : Shares{},
                             .received = Shares::one(recvCount)};
                   })
