/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Calls that go on while links of an emulated cluster are cut and mended; a rank of a job that was
 * started from outside.
 *
 *     continuing NETWORK SECONDS [adapt [large [each]]]     collectives of many sizes, or
 * all-reduces of large vectors, for so long; exits with 0 if all results are right, and rank 0 says
 * how many calls there were, how long the longest took, and if asked each
 */
#include <stdint.h>
#include <time.h>

#include "checks.h"

enum { kMost = 1 << 18, kMostRanks = 64 };
static int64_t sent[kMost * 4], came[kMost * 4];
static int ranks;
static mtComm_t comm;

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What a rank puts in; ones that differ from element to element and from call to call. */
static int64_t value(int rank, int call, size_t i) {
  return (int64_t)rank * 1000003 + (int64_t)call * 7 + (int64_t)(i % 8191);
}
static int64_t sum(int call, size_t i) {
  return (int64_t)ranks * (value(0, call, i)) + (int64_t)ranks * (ranks - 1) / 2 * 1000003;
}
static void fill(int64_t* data, int call, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) data[i] = value(my_rank, call, i);
}

static void all_reduce(int call, size_t count) {
  size_t i;
  fill(came, call, count);
  OK(mtAllReduce(came, came, count, mtInt64, mtSum, comm, NULL));
  for (i = 0; i < count; ++i) CHECK(came[i] == sum(call, i));
}

static void reduce_scatter(int call, size_t count) {
  size_t i, own = count / (size_t)ranks, first = own * (size_t)my_rank;
  fill(sent, call, own * (size_t)ranks);
  OK(mtReduceScatter(sent, came, own, mtInt64, mtSum, comm, NULL));
  for (i = 0; i < own; ++i) CHECK(came[i] == sum(call, first + i));
}

static void all_gather(int call, size_t count) {
  size_t i, own = count / (size_t)ranks;
  int r;
  fill(sent, call, own);
  OK(mtAllGather(sent, came, own, mtInt64, comm, NULL));
  for (r = 0; r < ranks; ++r) {
    for (i = 0; i < own; ++i) CHECK(came[(size_t)r * own + i] == value(r, call, i));
  }
}

/* The root leaves as soon as it has sent, and writes over what it sent. */
static void broadcast(int call, size_t count) {
  size_t i;
  const int root = call % ranks;
  fill(came, call, count);
  OK(mtBroadcast(came, came, count, mtInt64, root, comm, NULL));
  for (i = 0; i < count; ++i) CHECK(came[i] == value(root, call, i));
}

static void reduce(int call, size_t count) {
  size_t i;
  const int root = call % ranks;
  fill(sent, call, count);
  OK(mtReduce(sent, came, count, mtInt64, mtSum, root, comm, NULL));
  for (i = 0; my_rank == root && i < count; ++i) CHECK(came[i] == sum(call, i));
}

static void scatter(int call, size_t count) {
  size_t i, own = count / (size_t)ranks;
  const int root = call % ranks;
  fill(sent, call, own * (size_t)ranks);
  OK(mtScatter(sent, came, own, mtInt64, root, comm, NULL));
  for (i = 0; i < own; ++i) CHECK(came[i] == value(root, call, own * (size_t)my_rank + i));
}

typedef void (*Deed)(int call, size_t count);
static const Deed kDeeds[] = {all_reduce, reduce_scatter, all_gather, broadcast, reduce, scatter};

int main(int argc, char** argv) {
  static const size_t kCounts[] = {1, 600, 8192, kMost};
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  double begin, longest = 0;
  int64_t go_on = 1;
  int call;
  if (argc < 3 || argc > 6) {
    fprintf(stderr, "usage: continuing NETWORK SECONDS [adapt [large [each]]]\n");
    return 2;
  }
  config.topology = argv[1];
  config.algorithm = argc >= 5 ? "allreduce-optimal" : "multitree";
  config.deadlineMs = 60000;
  config.transport = "tcp";
  config.linkTimeoutMs = 500;
  config.onLinkFailure = argc >= 4 ? argv[3] : "continue";
  OK(mtCommInitFromEnvironment(&comm, &config));
  OK(mtCommUserRank(comm, &my_rank));
  OK(mtCommCount(comm, &ranks));
  if (my_rank == 0) printf("ready\n");
  fflush(stdout);
  begin = seconds();
  for (call = 0; go_on != 0; ++call) {
    const double start = seconds();
    double took;
    if (argc >= 5) {
      all_reduce(call, kMost);
    } else {
      kDeeds[call % 6](call, kCounts[call / 6 % 4]);
    }
    go_on = my_rank != 0 || seconds() - begin < atof(argv[2]);
    OK(mtAllReduce(&go_on, &go_on, 1, mtInt64, mtMin, comm, NULL));
    took = seconds() - start;
    if (took > longest) longest = took;
    if (my_rank == 0 && argc == 6) {
      printf("call %d: %.4f s\n", call, took);
      fflush(stdout);
    }
  }
  OK(mtCommDestroy(comm));
  if (my_rank == 0) printf("%d calls, the longest %.3f s\n", call, longest);
  return 0;
}
