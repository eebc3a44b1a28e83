/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * A device for tests in C: a library in place of libmultitree_cuda.so, which gives the fake device
 * of tests/device to the runtime (MULTITREE_CUDA_LIBRARY names it) and what is here to the test.
 * One device a process. All calls end the process with a message if the device complains.
 */
#ifndef FAKE_GPU_H_
#define FAKE_GPU_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Memory that the host cannot touch. */
void* fake_malloc(size_t bytes);
void fake_free(void* memory);
/** Host memory that the device can read and write. */
void* fake_malloc_pinned(size_t bytes);
void fake_free_pinned(void* memory);
void* fake_stream_create(void);
void fake_stream_destroy(void* stream);
/** Ordered on the stream, as cudaMemcpyAsync(); between memory of the device and pinned memory. */
void fake_copy(void* to, const void* from, size_t bytes, void* stream);
/** The stream does nothing behind this until *flag, in pinned memory, is 1. */
void fake_hold(void* stream, unsigned* flag);
void fake_synchronize(void* stream);

#ifdef __cplusplus
}
#endif

#endif /* FAKE_GPU_H_ */
