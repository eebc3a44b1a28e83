/* SPDX-License-Identifier: BSD-3-Clause */
/* What a compiled program knows of the C API besides names: sizes, offsets and values. */
#include <multitree.h>
#include <stdio.h>

#define VALUE(name) printf("value %s %d\n", #name, (int)(name))
#define FIELD(type, name)                                                                 \
  printf("field %s.%s at %u of %u bytes\n", #type, #name, (unsigned)offsetof(type, name), \
         (unsigned)sizeof(((type*)0)->name))
#define SIZE(type) printf("size %s %u\n", #type, (unsigned)sizeof(type))

static void values(void) {
  VALUE(mtSuccess);
  VALUE(mtCudaError);
  VALUE(mtSystemError);
  VALUE(mtInternalError);
  VALUE(mtInvalidArgument);
  VALUE(mtInvalidUsage);
  VALUE(mtRemoteError);
  VALUE(mtInProgress);
  VALUE(mtTimeout);
  VALUE(mtAborted);
  VALUE(mtUnsupported);
  VALUE(mtInt8);
  VALUE(mtUint8);
  VALUE(mtInt32);
  VALUE(mtUint32);
  VALUE(mtInt64);
  VALUE(mtUint64);
  VALUE(mtFloat16);
  VALUE(mtFloat32);
  VALUE(mtFloat64);
  VALUE(mtBfloat16);
  VALUE(mtInt16);
  VALUE(mtUint16);
  VALUE(mtSum);
  VALUE(mtProd);
  VALUE(mtMax);
  VALUE(mtMin);
  VALUE(mtAvg);
  VALUE(mtBitAnd);
  VALUE(mtBitOr);
  VALUE(mtBitXor);
  VALUE(mtLogicalAnd);
  VALUE(mtLogicalOr);
  VALUE(mtLogicalXor);
  VALUE(mtMaxRedOp);
  VALUE(mtScalarDevice);
  VALUE(mtScalarHostImmediate);
  VALUE(mtMaxScalarResidence);
  VALUE(mtExactElements);
  VALUE(mtExactBlocks);
  VALUE(mtMaxExact);
  VALUE(MT_CONFIG_MAGIC);
  VALUE(MT_SHRINK_DEFAULT);
  VALUE(MT_SHRINK_ABORT);
  VALUE(MT_SHRINK_AROUND_LINKS);
  VALUE(MT_SPLIT_NOCOLOR);
  VALUE(MT_ANY_PEER);
}

int main(void) {
  SIZE(mtUniqueId);
  SIZE(mtConfig_t);
  SIZE(mtComm_t);
  SIZE(mtRequest_t);
  SIZE(mtResult_t);
  SIZE(mtDataType_t);
  SIZE(mtRedOp_t);
  SIZE(mtScalarResidence_t);
  FIELD(mtConfig_t, size);
  FIELD(mtConfig_t, magic);
  FIELD(mtConfig_t, version);
  FIELD(mtConfig_t, blocking);
  FIELD(mtConfig_t, deadlineMs);
  FIELD(mtConfig_t, initDeadlineMs);
  FIELD(mtConfig_t, transport);
  FIELD(mtConfig_t, topology);
  FIELD(mtConfig_t, algorithm);
  FIELD(mtConfig_t, planFile);
  FIELD(mtConfig_t, segmentBytes);
  FIELD(mtConfig_t, devices);
  FIELD(mtConfig_t, tuning);
  FIELD(mtConfig_t, progress);
  FIELD(mtConfig_t, refine);
  FIELD(mtConfig_t, linkTimeoutMs);
  FIELD(mtConfig_t, onLinkFailure);
  FIELD(mtConfig_t, encrypt);
  values();
  SIZE(mtFailure_t);
  FIELD(mtFailure_t, size);
  FIELD(mtFailure_t, result);
  FIELD(mtFailure_t, rank);
  FIELD(mtFailure_t, linkLow);
  FIELD(mtFailure_t, linkHigh);
  return 0;
}
