/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * The part of multitree.h, which includes it, that is about how blocking calls wait.
 */
#ifndef MULTITREE_WAITS_H_
#define MULTITREE_WAITS_H_

#include "multitree.h"

#ifdef __cplusplus
extern "C" {
#endif

/** 0: the wait goes on. Else it ends. Must not call this library. */
typedef int (*mtInterruptFunction_t)(void* state);
/** For the calling thread: has its blocking calls ask `function` about once in a millisecond
 * whether to go on, once they have waited that long for other ranks. A call that is told not to
 * gives its communicator up, as mtCommAbort() does, and returns mtAborted; mtCommDestroy() frees
 * it. For languages whose programs are interrupted by the user. Sleeps in which messages are
 * awaited may delay a question by 10 ms; waits for process managers, as in set-up and in
 * mtBarrier() between hosts, ask nobody. NULL (default): nobody is asked. Never fails. */
MT_API mtResult_t mtSetInterrupt(mtInterruptFunction_t function, void* state);

/** Writes where in the program the calling thread is, "train.py:88", zero-terminated and in at most
 * `size` bytes; 0: not known. Must not call this library. */
typedef int (*mtPlaceFunction_t)(char* words, size_t size, void* state);
/** For the calling thread: who knows the place of a call, which errors of waits in vain name. NULL
 * (default): the stack is looked at, and debugging information where the program has it
 * ("train.c:88", else "train_step in train" or "train+0x1189" for addr2line). For interpreters.
 * Asked only after a wait in vain, here or at another rank. Never fails. */
MT_API mtResult_t mtSetPlace(mtPlaceFunction_t function, void* state);

#ifdef __cplusplus
}
#endif

#endif /* MULTITREE_WAITS_H_ */
