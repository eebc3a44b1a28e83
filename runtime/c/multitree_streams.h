/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * The part of multitree.h, which includes it, that is about the device of a communicator.
 */
#ifndef MULTITREE_STREAMS_H_
#define MULTITREE_STREAMS_H_

#include "multitree.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Thread-safe. CUDA's number of the device whose memory this rank's buffers may be; -1: there is
 * none, and they are host memory. Other ranks may have none. Errors: as mtCommCount(). */
MT_API mtResult_t mtCommCuDevice(mtComm_t comm, int* device);
/** How a call comes to be in the order of a stream (docs/runtime.md, "Streams"). */
typedef enum {
  mtStreamWaits = 0, /**< the host moves messages, and the call returns at the end */
  mtStreamHeld = 1,  /**< the host moves messages, and has the stream wait; returns at once */
  mtStreamKernel = 2 /**< it is one kernel on the stream; returns at once */
} mtStreamOrder_t;
/** Thread-safe. How calls with this stream are ordered. Errors: mtInvalidArgument (communicator,
 * order; a NULL stream), mtInvalidUsage (no device), mtCudaError, and why the communicator cannot
 * be used. */
MT_API mtResult_t mtCommGetStreamOrder(mtComm_t comm, mtStream_t stream, mtStreamOrder_t* order);

#ifdef __cplusplus
}
#endif

#endif /* MULTITREE_STREAMS_H_ */
