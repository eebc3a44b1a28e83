/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL's names for multitree.h: nccl-tests compiles with this and cuda_runtime.h beside it, and
 * runs on host memory. What is put on a stream becomes a non-blocking call. */
#ifndef MULTITREE_NCCL_TESTS_NCCL_H
#define MULTITREE_NCCL_TESTS_NCCL_H

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <multitree.h>

/* Before 2.19 these programs allocate nothing; later ones have windows and kernels of their own. */
#define NCCL_MAJOR 2
#define NCCL_MINOR 19
#define NCCL_VERSION(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define NCCL_VERSION_CODE NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, 0)

#define ncclComm_t mtComm_t
#define ncclConfig_t mtConfig_t
#define NCCL_CONFIG_INITIALIZER config_of_environment()
#define ncclUniqueId mtUniqueId
#define ncclResult_t mtResult_t
#define ncclSuccess mtSuccess
#define ncclInvalidArgument mtInvalidArgument
#define ncclInProgress mtInProgress
#define ncclDataType_t mtDataType_t
#define ncclInt8 mtInt8
#define ncclChar mtChar
#define ncclUint8 mtUint8
#define ncclInt32 mtInt32
#define ncclInt mtInt
#define ncclUint32 mtUint32
#define ncclInt64 mtInt64
#define ncclUint64 mtUint64
#define ncclFloat16 mtFloat16
#define ncclHalf mtHalf
#define ncclFloat32 mtFloat32
#define ncclFloat mtFloat
#define ncclFloat64 mtFloat64
#define ncclDouble mtDouble
#define ncclBfloat16 mtBfloat16
#define ncclNumTypes 10
#define ncclRedOp_t mtRedOp_t
#define ncclSum mtSum
#define ncclProd mtProd
#define ncclMax mtMax
#define ncclMin mtMin
#define ncclAvg mtAvg
#define ncclNumOps ((mtRedOp_t)5)
#define ncclScalarHostImmediate mtScalarHostImmediate

#define ncclGetUniqueId mtGetUniqueId
#define ncclCommInitRank mtCommInitRank
#define ncclCommInitRankConfig mtCommInitRankConfig
#define ncclCommFinalize mtCommFinalize
#define ncclCommAbort mtCommAbort
#define ncclCommDestroy mtCommDestroy
#define ncclCommRegister mtCommRegister
#define ncclCommDeregister mtCommDeregister
#define ncclCommCount mtCommCount
#define ncclCommUserRank mtCommUserRank
#define ncclCommGetAsyncError mtCommGetAsyncError
#define ncclGetErrorString mtGetErrorString
#define ncclRedOpCreatePreMulSum mtRedOpCreatePreMulSum
#define ncclRedOpDestroy mtRedOpDestroy

/* MULTITREE_ALGORITHM: any but "auto" sends messages. */
inline mtConfig_t config_of_environment() {
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  config.algorithm = std::getenv("MULTITREE_ALGORITHM");
  return config;
}

inline mtResult_t ncclGetVersion(int* version) { return *version = NCCL_VERSION_CODE, mtSuccess; }

inline mtResult_t ncclMemAlloc(void** memory, size_t bytes) {
  return mtMemAlloc(memory, bytes, nullptr);
}
inline mtResult_t ncclMemFree(void* memory) { return mtMemFree(memory, nullptr); }

inline mtResult_t ncclGroupStart() {
  const mtResult_t result = mtGroupStart();
  if (result == mtSuccess) ++host_memory::depth;
  return result;
}
inline mtResult_t ncclGroupEnd() {
  const mtResult_t result = mtGroupEnd();
  if (--host_memory::depth == 0) ++host_memory::group;
  return result;
}

#define NCCL_ON_STREAM(call) host_memory::put(stream, [&](mtRequest_t* request) { return call; })
inline mtResult_t ncclAllReduce(const void* send, void* recv, size_t count, mtDataType_t type,
                                mtRedOp_t op, mtComm_t comm, cudaStream_t stream) {
  return NCCL_ON_STREAM(mtIAllReduce(send, recv, count, type, op, comm, nullptr, request));
}
inline mtResult_t ncclReduceScatter(const void* send, void* recv, size_t count, mtDataType_t type,
                                    mtRedOp_t op, mtComm_t comm, cudaStream_t stream) {
  return NCCL_ON_STREAM(mtIReduceScatter(send, recv, count, type, op, comm, nullptr, request));
}
inline mtResult_t ncclAllGather(const void* send, void* recv, size_t count, mtDataType_t type,
                                mtComm_t comm, cudaStream_t stream) {
  return NCCL_ON_STREAM(mtIAllGather(send, recv, count, type, comm, nullptr, request));
}
inline mtResult_t ncclBroadcast(const void* send, void* recv, size_t count, mtDataType_t type,
                                int root, mtComm_t comm, cudaStream_t stream) {
  return NCCL_ON_STREAM(mtIBroadcast(send, recv, count, type, root, comm, nullptr, request));
}
inline mtResult_t ncclBcast(void* buffer, size_t count, mtDataType_t type, int root, mtComm_t comm,
                            cudaStream_t stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}
inline mtResult_t ncclReduce(const void* send, void* recv, size_t count, mtDataType_t type,
                             mtRedOp_t op, int root, mtComm_t comm, cudaStream_t stream) {
  return NCCL_ON_STREAM(mtIReduce(send, recv, count, type, op, root, comm, nullptr, request));
}
inline mtResult_t ncclSend(const void* send, size_t count, mtDataType_t type, int peer,
                           mtComm_t comm, cudaStream_t stream) {
  return NCCL_ON_STREAM(mtISend(send, count, type, peer, comm, nullptr, request));
}
inline mtResult_t ncclRecv(void* recv, size_t count, mtDataType_t type, int peer, mtComm_t comm,
                           cudaStream_t stream) {
  return NCCL_ON_STREAM(mtIRecv(recv, count, type, peer, comm, nullptr, request));
}
#undef NCCL_ON_STREAM

#endif
