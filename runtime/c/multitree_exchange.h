/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * The part of multitree.h, which includes it, that is about data from rank to rank: messages of
 * pairs, all-to-all, and collectives with a count for each rank.
 */
#ifndef MULTITREE_EXCHANGE_H_
#define MULTITREE_EXCHANGE_H_

#include "multitree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As collectives in all that follows: groups, results, `count` in elements, requests of the I
 * forms. Host memory only, with a NULL stream. Data goes straight between the ranks that it
 * concerns; they connect when they first do. Counts may be 0, and a message of 0 elements is one.
 * Both ends of a message name the same count and type: the receiver gets mtInvalidArgument
 * otherwise, in words that name both, and nothing is written; the sender mtRemoteError.
 */

/** Not collective, blocking: `count` elements to rank `peer`, which calls mtRecv() with this rank.
 * Of a pair of ranks the first send meets the first receive, and so on. Returns when `send` may be
 * written again: small messages may not have been awaited by then. In a group sends and receives go
 * together, in whatever order they were called; a message to this rank itself needs a group, or
 * mtISend(). A wait for a peer that is doing something else ends as any other, after the deadline.
 */
MT_API mtResult_t mtSend(const void* send, size_t count, mtDataType_t type, int peer, mtComm_t comm,
                         mtStream_t stream);
MT_API mtResult_t mtRecv(void* recv, size_t count, mtDataType_t type, int peer, mtComm_t comm,
                         mtStream_t stream);
/** For `peer`: any rank, this one included. */
#define MT_ANY_PEER (-1)
/** Not collective, blocking: until a message from rank `peer`, or MT_ANY_PEER, can be received, and
 * no receive of it was called; *sender is the rank that it is of. The message stays where it is:
 * the next mtRecv() from that rank takes it, unless another thread's call was first. Who asks for
 * any rank again and again is told of all senders in turn. Ends as any other wait, after the
 * deadline; mtInvalidUsage in a group, whose messages go when it ends. */
MT_API mtResult_t mtProbe(int peer, mtComm_t comm, int* sender);
/** The same at once, with *sender -1 where there is none; also in a group. A message is seen once
 * its first bytes are here, so what a rank has just sent may take some calls. Threads that ask
 * again and again sleep in mtCommSleep(). */
MT_API mtResult_t mtIProbe(int peer, mtComm_t comm, int* sender);
/** Collective, as the rest. send: count * ranks; recv: count * ranks. Share r of send goes to rank
 * r, and share r of recv is of rank r. Not in place. */
MT_API mtResult_t mtAllToAll(const void* send, void* recv, size_t count, mtDataType_t type,
                             mtComm_t comm, mtStream_t stream);
/** The same with counts and displacements by rank, in elements; displacements NULL: side by side.
 * What a rank has for another is as long as the other says. Shares of recv do not overlap, nor
 * send and recv from their first share to their last. Arrays are read before the call returns. */
MT_API mtResult_t mtAllToAllv(const void* send, const size_t* sendCounts, const size_t* sendDispls,
                              void* recv, const size_t* recvCounts, const size_t* recvDispls,
                              mtDataType_t type, mtComm_t comm, mtStream_t stream);
/** mtAllGather() of shares that differ: recvCounts are the same at all ranks, and sendCount is this
 * rank's of them; displacements may differ. In place: send is this rank's share in recv. */
MT_API mtResult_t mtAllGatherv(const void* send, size_t sendCount, void* recv,
                               const size_t* recvCounts, const size_t* recvDispls,
                               mtDataType_t type, mtComm_t comm, mtStream_t stream);
/** mtReduceScatter() of shares that differ, side by side in send; counts are the same at all ranks.
 * In place: recv is this rank's share in send. */
MT_API mtResult_t mtReduceScatterv(const void* send, void* recv, const size_t* counts,
                                   mtDataType_t type, mtRedOp_t op, mtComm_t comm,
                                   mtStream_t stream);
/** mtGather() of shares that differ. recv, recvCounts and recvDispls are read at the root only. In
 * place: there send is its share in recv. */
MT_API mtResult_t mtGatherv(const void* send, size_t sendCount, void* recv,
                            const size_t* recvCounts, const size_t* recvDispls, mtDataType_t type,
                            int root, mtComm_t comm, mtStream_t stream);
/** mtScatter() of shares that differ. send, sendCounts and sendDispls are read at the root only. In
 * place: there recv is its share in send. */
MT_API mtResult_t mtScatterv(const void* send, const size_t* sendCounts, const size_t* sendDispls,
                             void* recv, size_t recvCount, mtDataType_t type, int root,
                             mtComm_t comm, mtStream_t stream);

MT_API mtResult_t mtISend(const void* send, size_t count, mtDataType_t type, int peer,
                          mtComm_t comm, mtStream_t stream, mtRequest_t* request);
MT_API mtResult_t mtIRecv(void* recv, size_t count, mtDataType_t type, int peer, mtComm_t comm,
                          mtStream_t stream, mtRequest_t* request);
MT_API mtResult_t mtIAllToAll(const void* send, void* recv, size_t count, mtDataType_t type,
                              mtComm_t comm, mtStream_t stream, mtRequest_t* request);
MT_API mtResult_t mtIAllToAllv(const void* send, const size_t* sendCounts, const size_t* sendDispls,
                               void* recv, const size_t* recvCounts, const size_t* recvDispls,
                               mtDataType_t type, mtComm_t comm, mtStream_t stream,
                               mtRequest_t* request);
MT_API mtResult_t mtIAllGatherv(const void* send, size_t sendCount, void* recv,
                                const size_t* recvCounts, const size_t* recvDispls,
                                mtDataType_t type, mtComm_t comm, mtStream_t stream,
                                mtRequest_t* request);
MT_API mtResult_t mtIReduceScatterv(const void* send, void* recv, const size_t* counts,
                                    mtDataType_t type, mtRedOp_t op, mtComm_t comm,
                                    mtStream_t stream, mtRequest_t* request);
MT_API mtResult_t mtIGatherv(const void* send, size_t sendCount, void* recv,
                             const size_t* recvCounts, const size_t* recvDispls, mtDataType_t type,
                             int root, mtComm_t comm, mtStream_t stream, mtRequest_t* request);
MT_API mtResult_t mtIScatterv(const void* send, const size_t* sendCounts, const size_t* sendDispls,
                              void* recv, size_t recvCount, mtDataType_t type, int root,
                              mtComm_t comm, mtStream_t stream, mtRequest_t* request);

#ifdef __cplusplus
}
#endif

#endif /* MULTITREE_EXCHANGE_H_ */
