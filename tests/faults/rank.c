/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * A rank of a job that makes a few calls of the C API, and checks what it gets.
 *
 *     rank auto|ALGORITHM
 *
 * Exit code 0; 3 with "multitree: CALL: WORDS" where a call fails, 1 where a result is wrong.
 */
#include <multitree.h>
#include <stdio.h>
#include <string.h>

enum { kCount = 5000 };

static float in[kCount], out[kCount];

static int fail(const char* call, mtResult_t result, mtComm_t comm) {
  const char* words = mtGetLastError(comm);
  if (words == NULL || *words == '\0') words = mtGetLastError(NULL);
  fprintf(stderr, "multitree: %s: %s: %s\n", call, mtGetErrorString(result), words);
  return 3;
}

static int call(mtComm_t comm, int size, size_t count) {
  size_t i;
  mtResult_t result;
  for (i = 0; i < count; ++i) in[i] = (float)(i % 100);
  result = mtAllReduce(in, out, count, mtFloat32, mtSum, comm, NULL);
  if (result != mtSuccess) return fail("mtAllReduce", result, comm);
  for (i = 0; i < count; ++i) {
    if (out[i] != (float)(i % 100) * (float)size) {
      fprintf(stderr, "wrong: element %lu of %lu is %f\n", (unsigned long)i, (unsigned long)count,
              out[i]);
      return 1;
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  static const size_t counts[] = {1, 100, kCount};
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  mtComm_t comm = 0;
  mtResult_t result;
  size_t i;
  int code = 0, size = 0;
  config.deadlineMs = 4000;
  config.initDeadlineMs = 4000;
  if (argc > 1) config.algorithm = argv[1];
  result = mtCommInitFromEnvironment(&comm, &config);
  if (result != mtSuccess) return fail("mtCommInitFromEnvironment", result, 0);
  result = mtCommCount(comm, &size);
  if (result != mtSuccess) code = fail("mtCommCount", result, comm);
  for (i = 0; code == 0 && i < sizeof counts / sizeof *counts; ++i)
    code = call(comm, size, counts[i]);
  result = mtCommDestroy(comm);
  if (result != mtSuccess && code == 0) code = fail("mtCommDestroy", result, 0);
  return code;
}
