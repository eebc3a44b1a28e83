/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums a vector over all ranks: mpirun -n 4 ./sum, srun, torchrun, or alone. */
#include <multitree.h>
#include <stdio.h>
#include <stdlib.h>

static void check(mtResult_t result) {
  if (result == mtSuccess) return;
  fprintf(stderr, "%s: %s\n", mtGetErrorString(result), mtGetLastError(NULL));
  exit(1);
}

int main(void) {
  enum { kCount = 1000 };
  float mine[kCount], sums[kCount];
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  mtComm_t comm;
  mtRequest_t step;
  int rank, ranks, i;

  config.deadlineMs = 10000; /* longest wait without any progress */
  check(mtCommInitFromEnvironment(&comm, &config));
  check(mtCommUserRank(comm, &rank));
  check(mtCommCount(comm, &ranks));
  for (i = 0; i < kCount; ++i) mine[i] = (float)(rank + 1);

  check(mtAllReduce(mine, sums, kCount, mtFloat32, mtSum, comm, NULL));

  /* The same again and again, planned once, with something else done meanwhile. */
  check(mtAllReduceInit(mine, sums, kCount, mtFloat32, mtSum, comm, NULL, &step));
  for (i = 0; i < 3; ++i) {
    check(mtStart(step));
    check(mtRequestWait(step));
  }
  check(mtRequestFree(&step));

  if (rank == 0) printf("%d ranks: %g\n", ranks, sums[kCount - 1]);
  check(mtCommDestroy(comm));
  return 0;
}
