// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Our layouts against those of NCCL's own headers. Compiled by tests/nccl/abi, never run.
#include <cstddef>
#include <cstdint>

// The types that NCCL's tables use, as its example for plugins has them (those of NCCL proper
// need CUDA); each needs what comes before it.
#include "err.h"

#include "net_device.h"

#include "common.h"

#include "types.h"
using ncclRedOp_t = int;  // an enumeration of nccl.h

#include "net_v12.h"

#include "net_v11.h"

#include "net_v10.h"

#include "net_v9.h"

#include "net_v8.h"
#include "runtime/nccl/abi_internal.hpp"

namespace ours = multitree::nccl;

#define SAME_SIZE(mine, theirs) static_assert(sizeof(mine) == sizeof(theirs))
#define SAME_PLACE(mine, my_member, theirs, their_member)                      \
  static_assert(offsetof(mine, my_member) == offsetof(theirs, their_member) && \
                sizeof(mine::my_member) == sizeof(theirs::their_member))

SAME_SIZE(ours::Properties8, ncclNetProperties_v8_t);
SAME_PLACE(ours::Properties8, pointers, ncclNetProperties_v8_t, ptrSupport);
SAME_PLACE(ours::Properties8, speed, ncclNetProperties_v8_t, speed);
SAME_PLACE(ours::Properties8, most_receives, ncclNetProperties_v8_t, maxRecvs);
#define CHECK_PROPERTIES(mine, theirs)                        \
  SAME_SIZE(mine, theirs);                                    \
  SAME_PLACE(mine, pointers, theirs, ptrSupport);             \
  SAME_PLACE(mine, forces_flush, theirs, forceFlush);         \
  SAME_PLACE(mine, speed, theirs, speed);                     \
  SAME_PLACE(mine, latency, theirs, latency);                 \
  SAME_PLACE(mine, most_communicators, theirs, maxComms);     \
  SAME_PLACE(mine, most_receives, theirs, maxRecvs);          \
  SAME_PLACE(mine, device_version, theirs, netDeviceVersion); \
  SAME_PLACE(mine, made_of, theirs, vProps);                  \
  SAME_PLACE(mine, most_message_bytes, theirs, maxP2pBytes);  \
  SAME_PLACE(mine, most_collective_bytes, theirs, maxCollBytes)
CHECK_PROPERTIES(ours::Properties9, ncclNetProperties_v9_t);
CHECK_PROPERTIES(ours::Properties9, ncclNetProperties_v10_t);
SAME_SIZE(ours::Properties11, ncclNetProperties_v11_t);
SAME_PLACE(ours::Properties11, common.most_message_bytes, ncclNetProperties_v11_t, maxP2pBytes);
SAME_PLACE(ours::Properties11, most_requests_together, ncclNetProperties_v11_t,
           maxMultiRequestSize);
SAME_SIZE(ours::Properties12, ncclNetProperties_v12_t);
SAME_PLACE(ours::Properties12, common.made_of, ncclNetProperties_v12_t, vProps);
SAME_PLACE(ours::Properties12, common.most_message_bytes, ncclNetProperties_v12_t, maxP2pBytes);
SAME_PLACE(ours::Properties12, most_requests_together, ncclNetProperties_v12_t,
           maxMultiRequestSize);
SAME_PLACE(ours::Properties12, plane, ncclNetProperties_v12_t, planeId);

#define CHECK_NET(mine, beginning, theirs)                             \
  SAME_SIZE(mine, theirs);                                             \
  SAME_PLACE(mine, beginning init, theirs, init);                      \
  SAME_PLACE(mine, beginning devices, theirs, devices);                \
  SAME_PLACE(mine, beginning properties, theirs, getProperties);       \
  SAME_PLACE(mine, beginning listen, theirs, listen);                  \
  SAME_PLACE(mine, connect, theirs, connect);                          \
  SAME_PLACE(mine, accept, theirs, accept);                            \
  SAME_PLACE(mine, messages.register_memory, theirs, regMr);           \
  SAME_PLACE(mine, messages.register_dma_buf, theirs, regMrDmaBuf);    \
  SAME_PLACE(mine, messages.deregister, theirs, deregMr);              \
  SAME_PLACE(mine, messages.send, theirs, isend);                      \
  SAME_PLACE(mine, messages.receive, theirs, irecv);                   \
  SAME_PLACE(mine, messages.flush, theirs, iflush);                    \
  SAME_PLACE(mine, messages.test, theirs, test);                       \
  SAME_PLACE(mine, messages.close_send, theirs, closeSend);            \
  SAME_PLACE(mine, messages.close_receive, theirs, closeRecv);         \
  SAME_PLACE(mine, messages.close_listen, theirs, closeListen);        \
  SAME_PLACE(mine, messages.device_registration, theirs, getDeviceMr); \
  SAME_PLACE(mine, messages.receive_consumed, theirs, irecvConsumed)
#define BEGIN begin.
#define NOTHING
CHECK_NET(ours::Net8, BEGIN, ncclNet_v8_t);
CHECK_NET(ours::Net9, BEGIN, ncclNet_v9_t);
CHECK_NET(ours::Net10, BEGIN, ncclNet_v10_t);
CHECK_NET(ours::Net11<ours::Properties11>, NOTHING, ncclNet_v11_t);
CHECK_NET(ours::Net11<ours::Properties12>, NOTHING, ncclNet_v12_t);
SAME_PLACE(ours::Net9, make_virtual_device, ncclNet_v9_t, makeVDevice);
SAME_PLACE(ours::Net10, make_virtual_device, ncclNet_v10_t, makeVDevice);
SAME_PLACE(ours::Net11<ours::Properties12>, make_virtual_device, ncclNet_v12_t, makeVDevice);
SAME_PLACE(ours::Net11<ours::Properties12>, finalize, ncclNet_v12_t, finalize);
SAME_PLACE(ours::Net11<ours::Properties12>, set_attributes, ncclNet_v12_t, setNetAttr);

#define CHECK_COLL_NET(mine, beginning, theirs)                         \
  SAME_SIZE(mine, theirs);                                              \
  SAME_PLACE(mine, beginning init, theirs, init);                       \
  SAME_PLACE(mine, beginning devices, theirs, devices);                 \
  SAME_PLACE(mine, beginning properties, theirs, getProperties);        \
  SAME_PLACE(mine, beginning listen, theirs, listen);                   \
  SAME_PLACE(mine, collectives.connect, theirs, connect);               \
  SAME_PLACE(mine, collectives.reduce_support, theirs, reduceSupport);  \
  SAME_PLACE(mine, collectives.register_memory, theirs, regMr);         \
  SAME_PLACE(mine, collectives.register_dma_buf, theirs, regMrDmaBuf);  \
  SAME_PLACE(mine, collectives.deregister, theirs, deregMr);            \
  SAME_PLACE(mine, collectives.all_reduce, theirs, iallreduce);         \
  SAME_PLACE(mine, collectives.all_gather, theirs, iallgather);         \
  SAME_PLACE(mine, collectives.reduce_scatter, theirs, ireducescatter); \
  SAME_PLACE(mine, collectives.flush, theirs, iflush);                  \
  SAME_PLACE(mine, collectives.test, theirs, test);                     \
  SAME_PLACE(mine, collectives.close, theirs, closeColl);               \
  SAME_PLACE(mine, collectives.close_listen, theirs, closeListen)
CHECK_COLL_NET(ours::CollNet8, BEGIN, ncclCollNet_v8_t);
CHECK_COLL_NET(ours::CollNet9, BEGIN, ncclCollNet_v9_t);
CHECK_COLL_NET(ours::CollNet9, BEGIN, ncclCollNet_v10_t);
CHECK_COLL_NET(ours::CollNet11<ours::Properties11>, NOTHING, ncclCollNet_v11_t);
CHECK_COLL_NET(ours::CollNet11<ours::Properties12>, NOTHING, ncclCollNet_v12_t);
SAME_PLACE(ours::CollNet9, make_virtual_device, ncclCollNet_v9_t, makeVDevice);
SAME_PLACE(ours::CollNet11<ours::Properties12>, finalize, ncclCollNet_v12_t, finalize);

static_assert(ours::kSystemError == static_cast<int>(ncclSystemError));
static_assert(ours::kInternalError == static_cast<int>(ncclInternalError));
static_assert(ours::kInvalidArgument == static_cast<int>(ncclInvalidArgument));
static_assert(ours::kInvalidUsage == static_cast<int>(ncclInvalidUsage));
static_assert(ours::kRemoteError == static_cast<int>(ncclRemoteError));
static_assert(ours::kWarn == static_cast<int>(NCCL_LOG_WARN));
static_assert(ours::kLogNetwork == static_cast<unsigned long>(NCCL_NET));
