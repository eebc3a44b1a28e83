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

/** Says that collectives of `comm` will use `size` bytes from `buffer` again and again. Not
 * collective; ranks may register as they please, the same memory more than once, and any memory may
 * be used without. Of host memory whole huge pages (2 MiB) are made where the kernel has them, as
 * ranks of a host read large vectors where they lie; no byte changes. Memory of a device is
 * accepted, and needs no preparation. *handle is for mtCommDeregister().
 * Errors: mtInvalidArgument (NULL; size 0; not memory of this process from end to end), the failure
 * of the communicator. */
MT_API mtResult_t mtCommRegister(mtComm_t comm, void* buffer, size_t size, void** handle);
/** Forgets a buffer, which may then be freed; also of a communicator that has failed.
 * mtCommDestroy() and mtCommAbort() forget what is left. Errors: mtInvalidArgument (not a handle of
 * this communicator, or given back already). */
MT_API mtResult_t mtCommDeregister(mtComm_t comm, void* handle);

#ifdef __cplusplus
}
#endif

#endif /* MULTITREE_MEMORY_H_ */
