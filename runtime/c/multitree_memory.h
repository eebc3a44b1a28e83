/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * The part of multitree.h, which includes it, that is about memory which ranks share.
 */
#ifndef MULTITREE_MEMORY_H_
#define MULTITREE_MEMORY_H_

#include "multitree.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Collective, blocking: `bytes` of zeroed host memory, aligned to 4096 bytes. Where the ranks of
 * the communicator go without messages (all on one host, nothing asked for that needs them) all of
 * them map it, and their collectives without a root read and write it in place: the fastest buffers
 * there are. Any memory may be used for buffers. 0 bytes give NULL. In a group *pointer is set by
 * mtGroupEnd(). With a NULL communicator: not collective, plain memory.
 * Errors: mtInvalidArgument, mtSystemError (no memory; at all ranks if one has none), those of a
 * collective. */
MT_API mtResult_t mtMemAlloc(void** pointer, size_t bytes, mtComm_t comm);
/** Waits for what the communicator has outstanding, and frees it; every rank does. mtCommDestroy()
 * and mtCommAbort() free what is left; mtCommFinalize() and failures free nothing. NULL is nothing
 * to do. Errors: mtInvalidArgument (not from mtMemAlloc() of this communicator), those of the wait.
 */
MT_API mtResult_t mtMemFree(void* pointer, mtComm_t comm);

#ifdef __cplusplus
}
#endif

#endif /* MULTITREE_MEMORY_H_ */
