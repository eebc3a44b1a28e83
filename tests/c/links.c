/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Going on around a link that dies; a rank of a job that was started from outside.
 *
 *     links LOW HIGH     all-reduces until the link between these two ranks of torus:3x2 dies, and
 *                        some more around it; exits with 0 if it was named and the sums are right
 */
#include <stdint.h>

#include "checks.h"

enum { kCount = 3000 };

static mtResult_t reduce(mtComm_t comm, int64_t want) {
  static int64_t data[kCount];
  mtResult_t result;
  int i;
  for (i = 0; i < kCount; ++i) data[i] = my_rank + 1;
  result = mtAllReduce(data, data, kCount, mtInt64, mtSum, comm, NULL);
  for (i = 0; result == mtSuccess && i < kCount; ++i) CHECK(data[i] == want);
  return result;
}

int main(int argc, char** argv) {
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  mtFailure_t failure = MT_FAILURE_INITIALIZER;
  mtComm_t comm = NULL, next = NULL;
  mtResult_t result = mtSuccess;
  int ranks = 0, links = 0, ends[2] = {-1, -1}, low, high, i;
  int64_t want;
  if (argc != 3) {
    fprintf(stderr, "usage: links LOW HIGH\n");
    return 2;
  }
  low = atoi(argv[1]);
  high = atoi(argv[2]);
  config.topology = "torus:3x2";
  config.algorithm = "multitree";
  config.deadlineMs = 60000;
  OK(mtCommInitFromEnvironment(&comm, &config));
  OK(mtCommUserRank(comm, &my_rank));
  OK(mtCommCount(comm, &ranks));
  want = (int64_t)ranks * (ranks + 1) / 2;
  for (i = 0; i < 1000000 && result == mtSuccess; ++i) {
    result = reduce(comm, want);
    if (i == 0 && my_rank == 0) printf("ready\n");
    if (i == 0) fflush(stdout);
  }
  CHECK(result == mtRemoteError);
  OK(mtCommGetFailure(comm, &failure));
  CHECK(failure.result == mtRemoteError && failure.rank == -1);
  CHECK(failure.linkLow == low && failure.linkHigh == high);
  OK(mtCommShrink(comm, NULL, 0, &next, NULL, MT_SHRINK_AROUND_LINKS));
  OK(mtCommDestroy(comm));
  OK(mtCommCount(next, &i));
  CHECK(i == ranks);
  OK(mtCommGetDeadLinks(next, ends, 1, &links));
  CHECK(links == 1 && ends[0] == low && ends[1] == high);
  for (i = 0; i < 10; ++i) OK(reduce(next, want));
  OK(mtCommDestroy(next));
  if (my_rank == 0) printf("went on around link %d-%d\n", low, high);
  return 0;
}
