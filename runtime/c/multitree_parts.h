/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * The part of multitree.h, which includes it, that makes communicators of some ranks of another, or
 * of more than another has.
 */
#ifndef MULTITREE_PARTS_H_
#define MULTITREE_PARTS_H_

#include "multitree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A part has the control connections of what it was made from, so that a process may have hundreds;
 * they may be destroyed in any order. Each fails, is aborted and shrinks by itself: a rank that
 * dies ends those that it is in. */

/** Color of a rank that is in no part. */
#define MT_SPLIT_NOCOLOR (-1)
/** Collective, blocking: a communicator of the ranks that give the same color (0 or more), in the
 * order of their keys, and of their ranks where these are equal. With MT_SPLIT_NOCOLOR *newcomm is
 * NULL; such a rank waits for the others all the same. `comm` stays as it is, with what is
 * outstanding on it finished first. config: NULL for that of `comm` without its topology and plan
 * file, which are of all its ranks. Where config->blocking is
 * 0 the ranks agree before the call returns, and connect in the background. In a group:
 * mtGroupEnd() waits. Errors: mtInvalidArgument (color), those of mtCommInitRank(); those of a
 * collective, and a rank that calls something else, end `comm` as well. */
MT_API mtResult_t mtCommSplit(mtComm_t comm, int color, int key, mtComm_t* newcomm,
                              const mtConfig_t* config);
/** The same for the `count` ranks of `comm` in `ranks`, in this order: collective over these alone,
 * which all give the same list and the same `tag`, 0 or more. Groups that are made at the same time
 * by several threads and share a rank differ in their tags. `comm` is not waited for. Errors:
 * mtInvalidArgument (list, tag; this rank is not in it), those of mtCommInitRank(). */
MT_API mtResult_t mtCommCreateGroup(mtComm_t comm, const int* ranks, int count, int tag,
                                    mtComm_t* newcomm, const mtConfig_t* config);

/** Thread-safe. An id by which `comm` is to grow: as mtGetUniqueId(), by one of its ranks, or by
 * one of the newcomers, who must also call mtCommGrow() with it. Errors: those of mtGetUniqueId();
 * those of a collective. */
MT_API mtResult_t mtCommGetUniqueId(mtComm_t comm, mtUniqueId* id);
/** Collective over the ranks of `comm` and newcomers, `nranks` in all, blocking: a communicator of
 * them all. A newcomer has `comm` NULL, the id, and its rank. A rank of `comm` keeps its number
 * with `rank` -1, or says which it takes (so that a spare can come in the place of a rank that is
 * lost, rank 0 too); it has the id or NULL, but one at least has it. `comm` stays as it is, with
 * what is outstanding on it finished first; where newcomers do not come, it goes on. config: NULL
 * for that of `comm` without its topology and plan file, and for the defaults at newcomers; all
 * ranks must agree. Where config->blocking is 0 the ranks of `comm` agree before the call returns,
 * and connect in the background. In a group: mtGroupEnd() waits. Errors: mtInvalidArgument (nranks
 * below those of `comm`; ranks, sizes or ids that do not fit each other: at all ranks, and `comm`
 * is as before), those of mtCommInitRank(); those of a collective, and a rank that calls something
 * else, end `comm` as well. */
MT_API mtResult_t mtCommGrow(mtComm_t comm, int nranks, const mtUniqueId* id, int rank,
                             mtComm_t* newcomm, const mtConfig_t* config);

#ifdef __cplusplus
}
#endif

#endif /* MULTITREE_PARTS_H_ */
