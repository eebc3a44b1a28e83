/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * The part of multitree.h, which includes it, that makes operators at run time.
 */
#ifndef MULTITREE_OPERATORS_H_
#define MULTITREE_OPERATORS_H_

#include "multitree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of one communicator, for host memory: with device memory they are mtUnsupported. Ranks make each
 * for themselves; that they use the same for a collective is theirs to see to. A call that was
 * started keeps what it needs of its operator. */

/** inout[i] = in[i] op inout[i] for `count` elements of `type`; in[i] is of lower ranks. Called by
 * any thread that is in a call on the communicator, for parts of a vector of any length. It must
 * not call this library. */
typedef void (*mtRedOpFunction_t)(const void* in, void* inout, size_t count, mtDataType_t type,
                                  void* state);
/** Thread-safe. An associative operator for every type: *op is its number. `state` is passed on,
 * and must be good until the last collective with the operator is complete. Where commutative is 0,
 * elements are combined in the order of ranks; that is served where the ranks go without messages,
 * or there is one, and is mtUnsupported elsewhere. Errors: mtInvalidArgument. */
MT_API mtResult_t mtRedOpCreate(mtRedOp_t* op, mtRedOpFunction_t function, void* state,
                                int commutative, mtComm_t comm);

/** Where a scalar lies, as in NCCL. */
typedef enum {
  mtScalarDevice = 0,        /**< where a collective finds it when it starts: in host memory here */
  mtScalarHostImmediate = 1, /**< in host memory, and is read when the operator is made */
  mtMaxScalarResidence = INT_MAX /**< none, but any number is a value of the type in C++ as well */
} mtScalarResidence_t;
/** Thread-safe. A sum of what each rank's input is when multiplied by `scalar`, one element of
 * `type`, which may differ between ranks; products are rounded to the type. For calls with that
 * type. Errors: mtInvalidArgument (NULL, type, residence). */
MT_API mtResult_t mtRedOpCreatePreMulSum(mtRedOp_t* op, void* scalar, mtDataType_t type,
                                         mtScalarResidence_t residence, mtComm_t comm);
/** Thread-safe. `base` (mtSum, mtProd, mtMax, mtMin or mtAvg) of floats that travel between ranks
 * as `wire`: mtFloat16, mtBfloat16, or mtInt8 in blocks of 64 with a power of two in common. Sums
 * stay floats, which are rounded where they are sent on and once at their root, so that all ranks
 * get the same bits. For calls with mtFloat32 on host memory; all ranks name the same `wire`
 * (otherwise the usual error names two of them). Schedules in which ranks sum the same chunk twice
 * are mtUnsupported, such as "recursive-doubling"; where the ranks go without messages nothing
 * travels and nothing is rounded. Errors: mtInvalidArgument (NULL, base, wire). */
MT_API mtResult_t mtRedOpCreateOnWire(mtRedOp_t* op, mtRedOp_t base, mtDataType_t wire,
                                      mtComm_t comm);
/** What the unit of an exact sum follows from: the largest contribution to each element, or to each
 * block of 32 elements, which takes a tenth of the time and rounds small elements beside large ones
 * as those. */
typedef enum {
  mtExactElements = 0,
  mtExactBlocks = 1,
  mtMaxExact = INT_MAX /**< none, as mtMaxScalarResidence */
} mtExact_t;
/** Thread-safe. `base` (mtSum or mtAvg) of floats that are added as whole numbers of a unit which
 * all contributions have in common, so that any schedule, order of ranks and network gives the same
 * bits. With R ranks a sum is off by at most R/2 last places of its largest contribution and one
 * rounding. Takes an all-reduce of exponents first, which also a call that does not wait waits for.
 * For calls with half, bfloat16, float (up to 2^20 ranks) and double (up to 1,024) on host memory;
 * sums of integers are as ever. Errors: mtInvalidArgument (NULL, base, unit). */
MT_API mtResult_t mtRedOpCreateExact(mtRedOp_t* op, mtRedOp_t base, mtExact_t unit, mtComm_t comm);
/** Thread-safe. Frees one of the four above; what was started with it goes on, persistent requests
 * included. Errors: mtInvalidArgument (built in, freed, or of another communicator). */
MT_API mtResult_t mtRedOpDestroy(mtRedOp_t op, mtComm_t comm);

#ifdef __cplusplus
}
#endif

#endif /* MULTITREE_OPERATORS_H_ */
