/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Ranks whose processes fork: what the child calls is refused, and its end changes nothing; exits
 * with 0 if all are content. Prints how long it took.
 *
 *     forked host RANKS       in the memory of the host
 *     forked messages RANKS   by messages
 */
#include <stdint.h>

#include "ranks.h"

enum { kWays = 4 };

static void check_sum(mtComm_t comm, int ranks) {
  int64_t one = my_rank + 1, sum = 0;
  OK(mtAllReduce(&one, &sum, 1, mtInt64, mtSum, comm, NULL));
  CHECK(sum == (int64_t)ranks * (ranks + 1) / 2);
}

#define REFUSED(call)                                      \
  do {                                                     \
    CHECK((call) == mtInvalidArgument);                    \
    CHECK(strstr(mtGetLastError(NULL), "forked") != NULL); \
  } while (0)

/* Of a child. `way`: how it parts with its copy. */
static void call_all(mtComm_t comm, int ranks, int way) {
  int64_t one = 1, sum = 0;
  mtResult_t result = mtSystemError;
  mtRequest_t request = NULL;
  mtUniqueId id;
  mtComm_t other = NULL;
  OK(mtCommGetAsyncError(comm, &result));
  CHECK(result == mtSuccess);
  REFUSED(mtAllReduce(&one, &sum, 1, mtInt64, mtSum, comm, NULL));
  REFUSED(mtIAllReduce(&one, &sum, 1, mtInt64, mtSum, comm, NULL, &request));
  REFUSED(mtBarrier(comm));
  REFUSED(mtCommShrink(comm, NULL, 0, &other, NULL, 0));
  REFUSED(mtCommSplit(comm, 0, 0, &other, NULL));
  REFUSED(mtCommGetUniqueId(comm, &id));
  REFUSED(mtCommGrow(comm, ranks + 1, NULL, -1, &other, NULL));
  REFUSED(mtCommFinalize(comm));
  CHECK(other == NULL && request == NULL);
  if (way == 0) OK(mtCommDestroy(comm));
  if (way == 1) OK(mtCommAbort(comm));
  if (way == 2) exit(0);
  _exit(0);
}

static int rank(const char* mode, mtUniqueId id, int ranks) {
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  mtComm_t comm = NULL;
  const double start = seconds();
  int way;
  if (strcmp(mode, "messages") == 0) config.algorithm = "ring";
  OK(mtCommInitRankConfig(&comm, ranks, id, my_rank, &config));
  for (way = 0; way < kWays; ++way) {
    int status = -1;
    pid_t child;
    check_sum(comm, ranks);
    child = fork();
    if (child == 0) {
      alarm(20);
      call_all(comm, ranks, way);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    nap(20); /* what a child has said, if it has, is told */
    check_sum(comm, ranks);
    OK(mtBarrier(comm));
  }
  OK(mtCommDestroy(comm));
  if (my_rank == 0) printf("%d children: %.1f ms\n", kWays, 1e3 * (seconds() - start));
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "expected forked host|messages RANKS\n");
    return 2;
  }
  return run_ranks(rank, argv[1], atoi(argv[2]), 0);
}
