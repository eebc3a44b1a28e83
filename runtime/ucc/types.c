/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * UCC's element types, operators and status codes in the C API's terms.
 */
#include "core/ucc_dt.h"
#include "runtime/ucc/component_internal.h"

/** What an element may be reduced with. */
enum { kInteger = 1, kReal = 2, kComplex = 4, kNumber = kInteger | kReal };

typedef struct {
  ucc_datatype_t theirs;
  mtDataType_t ours;
  size_t parts;
  int kind;
} type_row_t;
static const type_row_t kTypes[] = {
    {UCC_DT_INT8, mtInt8, 1, kInteger},
    {UCC_DT_INT16, mtInt16, 1, kInteger},
    {UCC_DT_INT32, mtInt32, 1, kInteger},
    {UCC_DT_INT64, mtInt64, 1, kInteger},
    {UCC_DT_UINT8, mtUint8, 1, kInteger},
    {UCC_DT_UINT16, mtUint16, 1, kInteger},
    {UCC_DT_UINT32, mtUint32, 1, kInteger},
    {UCC_DT_UINT64, mtUint64, 1, kInteger},
    {UCC_DT_FLOAT16, mtFloat16, 1, kReal},
    {UCC_DT_FLOAT32, mtFloat32, 1, kReal},
    {UCC_DT_FLOAT64, mtFloat64, 1, kReal},
    {UCC_DT_BFLOAT16, mtBfloat16, 1, kReal},
    {UCC_DT_FLOAT32_COMPLEX, mtFloat32, 2, kComplex},
    {UCC_DT_FLOAT64_COMPLEX, mtFloat64, 2, kComplex},
};

typedef struct {
  ucc_reduction_op_t theirs;
  mtRedOp_t ours;
  int kinds; /**< that it is served for */
} operator_row_t;
/** The numbers of a complex one are summed each by itself. */
static const operator_row_t kOperators[] = {
    {UCC_OP_SUM, mtSum, kNumber | kComplex},
    {UCC_OP_AVG, mtAvg, kNumber | kComplex},
    {UCC_OP_PROD, mtProd, kNumber},
    {UCC_OP_MAX, mtMax, kNumber},
    {UCC_OP_MIN, mtMin, kNumber},
    {UCC_OP_LAND, mtLogicalAnd, kInteger},
    {UCC_OP_LOR, mtLogicalOr, kInteger},
    {UCC_OP_LXOR, mtLogicalXor, kInteger},
    {UCC_OP_BAND, mtBitAnd, kInteger},
    {UCC_OP_BOR, mtBitOr, kInteger},
    {UCC_OP_BXOR, mtBitXor, kInteger},
};

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static const type_row_t* type_of(ucc_datatype_t datatype) {
  size_t i;
  for (i = 0; i < ROWS(kTypes); ++i) {
    if (kTypes[i].theirs == datatype) return &kTypes[i];
  }
  return NULL;
}

ucc_status_t multitree_reduction(ucc_datatype_t datatype, ucc_reduction_op_t op, mtDataType_t* type,
                                 mtRedOp_t* ours, size_t* parts) {
  const type_row_t* const row = type_of(datatype);
  size_t i;
  for (i = 0; row != NULL && i < ROWS(kOperators); ++i) {
    if (kOperators[i].theirs != op || (kOperators[i].kinds & row->kind) == 0) continue;
    *type = row->ours;
    *ours = kOperators[i].ours;
    *parts = row->parts;
    return UCC_OK;
  }
  return UCC_ERR_NOT_SUPPORTED;
}

ucc_status_t multitree_element(ucc_datatype_t datatype, size_t* bytes) {
  if (!UCC_DT_IS_PREDEFINED(datatype) && !UCC_DT_IS_CONTIG(datatype)) return UCC_ERR_NOT_SUPPORTED;
  *bytes = ucc_dt_size(datatype);
  return UCC_OK;
}

ucc_status_t multitree_status(mtResult_t result) {
  static const ucc_status_t kStatus[mtNumResults] = {
      [mtSuccess] = UCC_OK,
      [mtCudaError] = UCC_ERR_NO_MESSAGE,
      [mtSystemError] = UCC_ERR_NO_RESOURCE,
      [mtInternalError] = UCC_ERR_NO_MESSAGE,
      [mtInvalidArgument] = UCC_ERR_INVALID_PARAM,
      [mtInvalidUsage] = UCC_ERR_INVALID_PARAM,
      [mtRemoteError] = UCC_ERR_NO_MESSAGE,
      [mtInProgress] = UCC_INPROGRESS,
      [mtTimeout] = UCC_ERR_TIMED_OUT,
      [mtAborted] = UCC_ERR_NO_MESSAGE,
      [mtUnsupported] = UCC_ERR_NOT_SUPPORTED,
  };
  return kStatus[result];
}
