/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * The function of the C API for each kind of collective.
 */
#include "runtime/ucc/component_internal.h"

/** start_NAME() calls FUNCTION with these arguments, of which `call` is the call. */
#define STARTS(name, function, ...)                                           \
  static mtResult_t start_##name(const multitree_call_t* call, mtComm_t comm, \
                                 mtRequest_t* request) {                      \
    return function(__VA_ARGS__, comm, NULL, request);                        \
  }

STARTS(allgather, mtIAllGather, call->send, call->recv, call->count, call->type)
STARTS(allgatherv, mtIAllGatherv, call->send, call->count, call->recv, call->recv_counts,
       call->recv_displs, call->type)
STARTS(allreduce, mtIAllReduce, call->send, call->recv, call->count, call->type, call->op)
STARTS(alltoall, mtIAllToAll, call->send, call->recv, call->count, call->type)
STARTS(alltoallv, mtIAllToAllv, call->send, call->send_counts, call->send_displs, call->recv,
       call->recv_counts, call->recv_displs, call->type)
STARTS(bcast, mtIBroadcast, call->send, call->recv, call->count, call->type, call->root)
STARTS(gather, mtIGather, call->send, call->recv, call->count, call->type, call->root)
STARTS(gatherv, mtIGatherv, call->send, call->count, call->recv, call->recv_counts,
       call->recv_displs, call->type, call->root)
STARTS(reduce, mtIReduce, call->send, call->recv, call->count, call->type, call->op, call->root)
STARTS(reduce_shares, mtIReduceScatter, call->send, call->recv, call->count, call->type, call->op)
STARTS(reduce_scatterv, mtIReduceScatterv, call->send, call->recv, call->recv_counts, call->type,
       call->op)
STARTS(scatter, mtIScatter, call->send, call->recv, call->count, call->type, call->root)
STARTS(scatterv, mtIScatterv, call->send, call->send_counts, call->send_displs, call->recv,
       call->count, call->type, call->root)

static mtResult_t start_reduce_scatter(const multitree_call_t* call, mtComm_t comm,
                                       mtRequest_t* request) {
  const int uneven = call->recv_counts != NULL;
  return (uneven ? start_reduce_scatterv : start_reduce_shares)(call, comm, request);
}

mtResult_t multitree_start(ucc_tl_multitree_task_t* task) {
  /* In the order of UCC's bits. mtBarrier() blocks: a barrier is a sum of nothing, fan-in and
   * fan-out are its halves. */
  static mtResult_t (*const kStarts[MULTITREE_KINDS])(const multitree_call_t*, mtComm_t,
                                                      mtRequest_t*) = {
      start_allgather,      start_allgatherv,      start_allreduce, start_alltoall,
      start_alltoallv,      start_allreduce,       start_bcast,     start_reduce,
      start_bcast,          start_gather,          start_gatherv,   start_reduce,
      start_reduce_scatter, start_reduce_scatterv, start_scatter,   start_scatterv};
  return kStarts[multitree_kind(task)](&task->call, multitree_team(task)->comm, &task->request);
}
