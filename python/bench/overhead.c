/* SPDX-License-Identifier: BSD-3-Clause */
/* What a call takes from C, for overhead.py: mean nanoseconds of an in-place all-reduce of 8 bytes
 * by one rank. */
#include <multitree.h>
#include <time.h>

double nanoseconds_of_a_call(long calls) {
  double value = 1;
  long i;
  struct timespec begin, end;
  mtComm_t comm;
  mtUniqueId id;
  if (mtGetUniqueId(&id) != mtSuccess || mtCommInitRank(&comm, 1, id, 0) != mtSuccess) return -1;
  for (i = 0; i < calls / 10; ++i) mtAllReduce(&value, &value, 1, mtFloat64, mtSum, comm, NULL);
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (i = 0; i < calls; ++i) mtAllReduce(&value, &value, 1, mtFloat64, mtSum, comm, NULL);
  clock_gettime(CLOCK_MONOTONIC, &end);
  mtCommDestroy(comm);
  return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
         (double)calls;
}
