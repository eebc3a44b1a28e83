/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Going on without some of the ranks; exits with 0 if those that are left are content.
 *
 *     recovery killed RANKS     rank 2 dies among all-reduces; the others go on without it, twice
 *     recovery aborted RANKS    rank 1 aborts its communicator; the others go on without it
 *     recovery hung RANKS       the last rank falls silent, and is left out by the others
 *     recovery excluded RANKS   odd ranks are left out of what works well
 *     recovery again RANKS      the first attempt to go on fails, the second does not
 *     recovery host RANKS       rank 0 dies, whose process made the id and hosts the meeting point
 *     recovery hosts RANKS      ranks 0 and 1 die at once
 *     recovery successor RANKS  rank 0 dies, and rank 1 while the others meet there
 *     recovery parted RANKS     rank 2 dies before it has come to a part of the ranks
 *     recovery met RANKS        the same, where the others are to meet at it
 *     recovery late RANKS       the last rank dies, and then rank 2 as above
 *     recovery late-host RANKS  rank 0 dies, who would know of other deaths, and then rank 2
 * A mode that begins with "network-" does it on a named network, by messages.
 */
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>

#include "ranks.h"

enum { kCount = 50000, kDeadlineMs = 6000 };

/* A pipe that every rank writes a byte to once it has its first communicator. */
static int joined[2];
/* Another, for what is to come before a death. */
static int told[2];

/* Sums over a communicator of the ranks in `members`, by the numbers they had at first. */
static void check_sums(mtComm_t comm, unsigned members) {
  int64_t* data = NULL;
  int64_t want = 0;
  int i, r, count = 0, expected = 0;
  for (r = 0; r < 32; ++r) {
    if ((members >> r & 1) == 0) continue;
    ++expected;
    want += r + 1;
  }
  OK(mtCommCount(comm, &count));
  CHECK(count == expected);
  OK(mtMemAlloc((void**)&data, kCount * sizeof *data, comm));
  for (i = 0; i < kCount; ++i) data[i] = my_rank + 1;
  OK(mtAllReduce(data, data, kCount, mtInt64, mtSum, comm, NULL));
  for (i = 0; i < kCount; ++i) CHECK(data[i] == want);
  OK(mtBroadcast(data, data, 1, mtInt64, count - 1, comm, NULL));
  OK(mtMemFree(data, comm));
}

static unsigned all_but(int ranks, int lost) { return ((1U << ranks) - 1) & ~(1U << lost); }

/* All-reduces until one fails; `victim` leaves by `leave` before its fifth. */
static mtResult_t reduce_until_failure(mtComm_t comm, int victim, void (*leave)(mtComm_t)) {
  static float data[kCount];
  mtResult_t result = mtSuccess;
  int round;
  for (round = 0; round < 10000 && result == mtSuccess; ++round) {
    if (my_rank == victim && round == 5) {
      leave(comm);
      return mtSuccess;
    }
    result = mtAllReduce(data, data, kCount, mtFloat32, mtSum, comm, NULL);
  }
  return result;
}

static void die(mtComm_t comm) {
  (void)comm;
  raise(SIGKILL);
}

static void abort_own(mtComm_t comm) { OK(mtCommAbort(comm)); }

static void check_failed(mtComm_t comm, mtResult_t result, const char* words) {
  mtResult_t state = mtSuccess;
  mtFailure_t failure = MT_FAILURE_INITIALIZER;
  int named = -1;
  CHECK(result == mtRemoteError);
  OK(mtCommGetAsyncError(comm, &state));
  CHECK(state == mtRemoteError);
  CHECK(strstr(mtGetLastError(comm), words) != NULL);
  /* The same for programs. */
  OK(mtCommGetFailure(comm, &failure));
  CHECK(failure.result == mtRemoteError && failure.linkLow == -1 && failure.linkHigh == -1);
  CHECK(failure.rank >= 0);
  if (sscanf(words, "rank %d", &named) == 1) CHECK(failure.rank == named);
}

static mtComm_t shrunk(mtComm_t comm) {
  mtComm_t next = NULL;
  mtResult_t state = mtSuccess;
  OK(mtCommShrink(comm, NULL, 0, &next, NULL, MT_SHRINK_AROUND_LINKS));
  OK(mtCommGetAsyncError(comm, &state));
  CHECK(state != mtSuccess);
  CHECK(mtCommShrink(comm, NULL, 0, &comm, NULL, MT_SHRINK_DEFAULT) == mtInvalidUsage);
  return next;
}

static void killed(mtComm_t comm, int ranks) {
  mtComm_t second, third;
  const double start = seconds();
  const mtResult_t first_result = reduce_until_failure(comm, 2, &die);
  CHECK(seconds() - start < 20);
  check_failed(comm, first_result, "rank 2 died");
  second = shrunk(comm);
  OK(mtCommDestroy(comm));
  check_sums(second, all_but(ranks, 2));
  /* Rank 3 is rank 2 by now. */
  check_failed(second, reduce_until_failure(second, 3, &die), "rank 2 died");
  third = shrunk(second);
  check_sums(third, all_but(ranks, 2) & ~(1U << 3));
  OK(mtCommDestroy(second));
  OK(mtCommDestroy(third));
}

static void aborted(mtComm_t comm, int ranks) {
  mtComm_t next;
  const mtResult_t result = reduce_until_failure(comm, 1, &abort_own);
  if (my_rank == 1) {
    CHECK(mtCommShrink(comm, NULL, 0, &next, NULL, MT_SHRINK_DEFAULT) == mtAborted);
    return;
  }
  check_failed(comm, result, "rank 1 gave up: aborted");
  next = shrunk(comm);
  check_sums(next, all_but(ranks, 1));
  OK(mtCommDestroy(comm));
  OK(mtCommDestroy(next));
}

static void await_being_left_out(mtComm_t comm) {
  mtResult_t state = mtSuccess;
  const double start = seconds();
  while (state == mtSuccess && seconds() - start < 60) {
    nap(5);
    OK(mtCommGetAsyncError(comm, &state));
  }
  CHECK(state == mtRemoteError);
  OK(mtCommDestroy(comm));
}

static void hung(mtComm_t comm, int ranks) {
  static float data[kCount];
  const int silent = ranks - 1;
  mtComm_t next = NULL;
  mtResult_t result;
  if (my_rank == silent) {
    await_being_left_out(comm);
    return;
  }
  result = mtAllReduce(data, data, kCount, mtFloat32, mtSum, comm, NULL);
  CHECK(result == mtTimeout || result == mtRemoteError);
  OK(mtCommShrink(comm, &silent, 1, &next, NULL, MT_SHRINK_ABORT));
  check_sums(next, all_but(ranks, silent));
  OK(mtCommDestroy(comm));
  OK(mtCommDestroy(next));
}

static void check_healthy(mtComm_t comm) {
  mtFailure_t failure = MT_FAILURE_INITIALIZER;
  int ends[2], links = -1;
  OK(mtCommGetFailure(comm, &failure));
  CHECK(failure.result == mtSuccess && failure.rank == -1 && failure.linkLow == -1);
  OK(mtCommGetDeadLinks(comm, ends, 1, &links));
  CHECK(links == 0);
  failure.size = 7;
  CHECK(mtCommGetFailure(comm, &failure) == mtInvalidArgument);
  CHECK(mtCommGetFailure(comm, NULL) == mtInvalidArgument);
  CHECK(mtCommGetDeadLinks(comm, NULL, 1, &links) == mtInvalidArgument);
  CHECK(mtCommGetDeadLinks(comm, ends, -1, &links) == mtInvalidArgument);
  CHECK(mtCommGetDeadLinks(comm, ends, 1, NULL) == mtInvalidArgument);
}

static void excluded(mtComm_t comm, int ranks) {
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  mtComm_t next = NULL;
  mtRequest_t request = NULL;
  mtResult_t state = mtInProgress;
  int odd[32], count = 0, r, done = 0;
  unsigned even = 0;
  int64_t one = 1;
  for (r = 0; r < ranks; ++r) {
    if (r % 2 == 1) odd[count++] = r;
    if (r % 2 == 0) even |= 1U << r;
  }
  OK(mtIAllReduce(&one, &one, 1, mtInt64, mtSum, comm, NULL, &request));
  if (my_rank % 2 == 1) {
    OK(mtRequestFree(&request));
    await_being_left_out(comm);
    return;
  }
  CHECK(mtCommShrink(comm, &my_rank, 1, &next, NULL, 0) == mtInvalidArgument);
  CHECK(mtCommShrink(comm, odd, count, &next, NULL, 7) == mtInvalidArgument);
  CHECK(mtCommShrink(comm, odd, count, &next, NULL, -1) == mtInvalidArgument);
  config.blocking = 0;
  CHECK(mtCommShrink(comm, odd, count, &next, &config, MT_SHRINK_DEFAULT) == mtInProgress);
  while (state == mtInProgress) OK(mtCommGetAsyncError(next, &state));
  CHECK(state == mtSuccess);
  OK(mtRequestTest(request, &done)); /* what was outstanding was finished first */
  CHECK(done == 1 && one == ranks);
  OK(mtRequestFree(&request));
  OK(mtCommDestroy(comm));
  check_sums(next, even);
  check_healthy(next);
  OK(mtCommDestroy(next));
}

static void again(mtComm_t comm, int ranks) {
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  mtComm_t next = NULL;
  const mtResult_t result = reduce_until_failure(comm, 2, &die);
  check_failed(comm, result, "rank 2 died");
  config.algorithm = my_rank == 0 ? "ring" : "multitree";
  CHECK(mtCommShrink(comm, NULL, 0, &next, &config, 0) == mtInvalidArgument);
  CHECK(strstr(mtGetLastError(NULL), "runs another schedule than rank 0") != NULL);
  CHECK(next == NULL);
  config.algorithm = "ring";
  OK(mtCommShrink(comm, NULL, 0, &next, &config, 0));
  OK(mtCommDestroy(comm));
  check_sums(next, all_but(ranks, 2));
  OK(mtCommDestroy(next));
}

/* The ranks of `victims` die, rank 0 among them; the others meet elsewhere and go on, twice. */
static void host(mtComm_t comm, int ranks, unsigned victims) {
  mtComm_t second, third;
  const unsigned left = ((1U << ranks) - 1) & ~victims;
  const int victim = (victims >> my_rank & 1) != 0 ? my_rank : -1;
  const double start = seconds();
  check_failed(comm, reduce_until_failure(comm, victim, &die),
               victims == 1 ? "rank 0 (coordinator) died" : "died");
  second = shrunk(comm);
  CHECK(seconds() - start < 20);
  OK(mtCommDestroy(comm));
  check_sums(second, left);
  /* The last one dies as well: it is told by who is in charge now. */
  check_failed(second, reduce_until_failure(second, ranks - 1, &die), " died");
  third = shrunk(second);
  check_sums(third, left & ~(1U << (ranks - 1)));
  OK(mtCommDestroy(second));
  OK(mtCommDestroy(third));
}

/* Rank 1 is where the others meet, and dies there while they wait for the last. */
static void successor(mtComm_t comm, int ranks) {
  mtComm_t next = NULL;
  mtResult_t result;
  const struct itimerval soon = {{0, 0}, {0, 300000}};
  check_failed(comm, reduce_until_failure(comm, 0, &die), "rank 0 (coordinator) died");
  if (my_rank == 1) CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
  if (my_rank == ranks - 1) nap(1000);
  /* Whoever has met the others before rank 1 died may have to try again. */
  result = mtCommShrink(comm, NULL, 0, &next, NULL, MT_SHRINK_DEFAULT);
  if (result == mtRemoteError) {
    result = mtCommShrink(comm, NULL, 0, &next, NULL, MT_SHRINK_DEFAULT);
  }
  CHECK(result == mtSuccess);
  OK(mtCommDestroy(comm));
  check_sums(next, ((1U << ranks) - 1) & ~3U);
  OK(mtCommDestroy(next));
}

/* Those of the part wait for rank 2 at a place that it never comes to; those of another part do not
 * care. */
static void parted(mtComm_t comm, int ranks, int its_place) {
  const int others[] = {its_place == 0 ? 2 : 3, its_place == 0 ? 3 : 2, 1}, own[] = {0};
  char words[80];
  mtComm_t part = NULL, next = NULL;
  mtResult_t result = mtSuccess;
  const double start = seconds();
  int rank;
  if (my_rank == 2) {
    /* Not while others still wait for the end of the first meeting, which would fail. */
    for (rank = 0; rank < ranks; ++rank) CHECK(read(joined[0], words, 1) == 1);
    raise(SIGKILL);
  }
  if (my_rank == 0) {
    OK(mtCommCreateGroup(comm, own, 1, 7, &part, NULL));
  } else {
    result = mtCommCreateGroup(comm, others, 3, 7, &part, NULL);
    CHECK(result == mtRemoteError);
    CHECK(seconds() - start < 3);
    snprintf(words, sizeof words, "rank %d was lost before it joined (rank 2 of 4; ", its_place);
    /* Whoever had reached it where it was to be met knows of its end from there. */
    CHECK(strstr(mtGetLastError(NULL), words) != NULL ||
          (its_place == 0 && strstr(mtGetLastError(NULL), "rank 0 (coordinator) died") != NULL));
  }
  next = shrunk(comm);
  if (part != NULL) OK(mtCommDestroy(part));
  OK(mtCommDestroy(comm));
  check_sums(next, all_but(ranks, 2));
  OK(mtCommDestroy(next));
}

/* Until it is known here that somebody has died. */
static void await_death(mtComm_t comm) {
  mtResult_t state = mtSuccess;
  const double start = seconds();
  while (state == mtSuccess && seconds() - start < 20) {
    nap(1);
    OK(mtCommGetAsyncError(comm, &state));
  }
  CHECK(state == mtRemoteError);
}

/* Rank 2 dies before it has come to a part, and once all know that `first` has died, which is in no
 * part. */
static void late(mtComm_t comm, int ranks, int first) {
  const int others[] = {3, 2, 1};
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  mtComm_t part = NULL, next = NULL;
  mtResult_t state = mtInProgress;
  char words[80];
  double start;
  int i;
  if (my_rank == first) {
    for (i = 0; i < ranks + 2; ++i) CHECK(read(joined[0], words, 1) == 1);
    raise(SIGKILL);
  }
  if (my_rank == 2) {
    await_death(comm);
    for (i = 0; i < 2; ++i) CHECK(read(told[0], words, 1) == 1);
    raise(SIGKILL);
  }
  if (my_rank == 1 || my_rank == 3) {
    config.blocking = 0;
    CHECK(mtCommCreateGroup(comm, others, 3, 7, &part, &config) == mtInProgress);
    CHECK(write(joined[1], "", 1) == 1);
  }
  await_death(comm);
  if (part != NULL) {
    CHECK(write(told[1], "", 1) == 1);
    start = seconds();
    while (state == mtInProgress) OK(mtCommGetAsyncError(part, &state));
    CHECK(state == mtRemoteError);
    CHECK(seconds() - start < 3);
    snprintf(words, sizeof words, "rank 1 was lost before it joined (rank 2 of %d; died after",
             ranks);
    CHECK(strstr(mtGetLastError(part), words) != NULL);
    OK(mtCommDestroy(part));
  }
  next = shrunk(comm);
  OK(mtCommDestroy(comm));
  check_sums(next, all_but(ranks, 2) & ~(1U << first));
  OK(mtCommDestroy(next));
}

static int run(const char* mode, mtUniqueId id, int ranks) {
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  mtComm_t comm = NULL;
  if (strncmp(mode, "network-", 8) == 0) {
    config.topology = "torus:2x2";
    config.algorithm = "multitree";
    mode += 8;
  }
  config.deadlineMs = strcmp(mode, "hung") == 0 ? 700 : kDeadlineMs;
  OK(mtCommInitRankConfig(&comm, ranks, id, my_rank, &config));
  CHECK(write(joined[1], "", 1) == 1);
  if (strcmp(mode, "killed") == 0) killed(comm, ranks);
  if (strcmp(mode, "aborted") == 0) aborted(comm, ranks);
  if (strcmp(mode, "hung") == 0) hung(comm, ranks);
  if (strcmp(mode, "excluded") == 0) excluded(comm, ranks);
  if (strcmp(mode, "again") == 0) again(comm, ranks);
  if (strcmp(mode, "host") == 0) host(comm, ranks, 1U);
  if (strcmp(mode, "hosts") == 0) host(comm, ranks, 3U);
  if (strcmp(mode, "successor") == 0) successor(comm, ranks);
  if (strcmp(mode, "parted") == 0) parted(comm, ranks, 1);
  if (strcmp(mode, "met") == 0) parted(comm, ranks, 0);
  if (strcmp(mode, "late") == 0) late(comm, ranks, ranks - 1);
  if (strcmp(mode, "late-host") == 0) late(comm, ranks, 0);
  return 0;
}

int main(int argc, char** argv) {
  unsigned doomed = 0;
  if (argc != 3) {
    fprintf(stderr, "usage: recovery MODE RANKS\n");
    return 2;
  }
  if (pipe(joined) != 0 || pipe(told) != 0) return 2;
  if (strstr(argv[1], "killed") != NULL) doomed = 1U << 2 | 1U << 3;
  if (strstr(argv[1], "again") != NULL) doomed = 1U << 2;
  if (strstr(argv[1], "parted") != NULL || strstr(argv[1], "met") != NULL) doomed = 1U << 2;
  if (strstr(argv[1], "host") != NULL) doomed = 1U | 1U << (atoi(argv[2]) - 1);
  if (strstr(argv[1], "hosts") != NULL) doomed |= 2U;
  if (strstr(argv[1], "successor") != NULL) doomed = 3U;
  if (strncmp(argv[1], "late", 4) == 0) {
    doomed = 1U << 2 | 1U << (strstr(argv[1], "host") != NULL ? 0 : atoi(argv[2]) - 1);
  }
  return run_ranks(&run, argv[1], atoi(argv[2]), doomed);
}
