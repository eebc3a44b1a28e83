/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * The C API between processes that this program forks; exits with 0 if all of them are content.
 *
 *     processes collectives RANKS   every collective in every mode
 *     processes abort RANKS         a second thread of rank 1 aborts what all ranks are blocked in
 *     processes abort-init RANKS    the same while rank 0 is awaited
 *     processes killed RANKS        rank 1 dies; the others see it without a call under way
 *     processes mismatch RANKS      the last rank asks for another algorithm
 *     processes many RANKS          500 parts at a time, with 1,024 descriptors
 *     processes forked-id RANKS     rank 0 makes the id, and forks the others then
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>

#include "ranks.h"

/* Element i of rank r's input. */
static int64_t input(int r, size_t i) { return (int64_t)(i % 1000) * (r + 1) + r; }
static int64_t sum(int ranks, size_t i) {
  int64_t total = 0;
  int r;
  for (r = 0; r < ranks; ++r) total += input(r, i);
  return total;
}

struct buffers {
  int64_t *in, *out;
  size_t count;
  int ranks, rank, root;
};

enum { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kReduce, kCollectives };

static mtResult_t block(int which, const struct buffers* b, mtComm_t comm) {
  switch (which) {
    case kAllReduce:
      return mtAllReduce(b->in, b->out, b->count, mtInt64, mtSum, comm, NULL);
    case kReduceScatter:
      return mtReduceScatter(b->in, b->out, b->count, mtInt64, mtSum, comm, NULL);
    case kAllGather:
      return mtAllGather(b->in, b->out, b->count, mtInt64, comm, NULL);
    case kBroadcast:
      return mtBroadcast(b->in, b->out, b->count, mtInt64, b->root, comm, NULL);
    default:
      return mtReduce(b->in, b->out, b->count, mtInt64, mtSum, b->root, comm, NULL);
  }
}

static mtResult_t begin(int which, const struct buffers* b, mtComm_t comm, mtRequest_t* request) {
  switch (which) {
    case kAllReduce:
      return mtIAllReduce(b->in, b->out, b->count, mtInt64, mtSum, comm, NULL, request);
    case kReduceScatter:
      return mtIReduceScatter(b->in, b->out, b->count, mtInt64, mtSum, comm, NULL, request);
    case kAllGather:
      return mtIAllGather(b->in, b->out, b->count, mtInt64, comm, NULL, request);
    case kBroadcast:
      return mtIBroadcast(b->in, b->out, b->count, mtInt64, b->root, comm, NULL, request);
    default:
      return mtIReduce(b->in, b->out, b->count, mtInt64, mtSum, b->root, comm, NULL, request);
  }
}

static mtResult_t plan(int which, const struct buffers* b, mtComm_t comm, mtRequest_t* request) {
  switch (which) {
    case kAllReduce:
      return mtAllReduceInit(b->in, b->out, b->count, mtInt64, mtSum, comm, NULL, request);
    case kReduceScatter:
      return mtReduceScatterInit(b->in, b->out, b->count, mtInt64, mtSum, comm, NULL, request);
    case kAllGather:
      return mtAllGatherInit(b->in, b->out, b->count, mtInt64, comm, NULL, request);
    case kBroadcast:
      return mtBroadcastInit(b->in, b->out, b->count, mtInt64, b->root, comm, NULL, request);
    default:
      return mtReduceInit(b->in, b->out, b->count, mtInt64, mtSum, b->root, comm, NULL, request);
  }
}

static void fill(const struct buffers* b) {
  size_t i;
  for (i = 0; i < b->count * (size_t)b->ranks; ++i) {
    b->in[i] = input(b->rank, i);
    b->out[i] = -1;
  }
}

static void check_result(int which, const struct buffers* b) {
  const size_t shard = (size_t)b->rank * b->count;
  size_t i;
  int r;
  for (i = 0; i < b->count; ++i) {
    if (which == kAllReduce) CHECK(b->out[i] == sum(b->ranks, i));
    if (which == kReduceScatter) CHECK(b->out[i] == sum(b->ranks, shard + i));
    if (which == kBroadcast) CHECK(b->out[i] == input(b->root, i));
    if (which == kReduce && b->rank == b->root) CHECK(b->out[i] == sum(b->ranks, i));
    for (r = 0; which == kAllGather && r < b->ranks; ++r) {
      CHECK(b->out[(size_t)r * b->count + i] == input(r, i));
    }
  }
}

static void one_by_one(mtComm_t comm, const struct buffers* b) {
  int which, repeat;
  for (which = 0; which < kCollectives; ++which) {
    mtRequest_t request = NULL;
    int done = 0;
    fill(b);
    OK(block(which, b, comm));
    check_result(which, b);
    fill(b);
    OK(begin(which, b, comm, &request));
    while (!done) OK(mtRequestTest(request, &done));
    OK(mtRequestFree(&request));
    CHECK(request == NULL);
    check_result(which, b);
    OK(plan(which, b, comm, &request));
    for (repeat = 0; repeat < 3; ++repeat) {
      fill(b);
      OK(mtStart(request));
      OK(mtRequestWait(request));
      check_result(which, b);
    }
    OK(mtRequestFree(&request));
  }
}

/* All of them at once: outstanding together, then in a group. */
static void together(mtComm_t comm, const struct buffers all[kCollectives]) {
  mtRequest_t requests[kCollectives];
  int which;
  for (which = 0; which < kCollectives; ++which) fill(&all[which]);
  for (which = 0; which < kCollectives; ++which) {
    OK(begin(which, &all[which], comm, &requests[which]));
  }
  for (which = kCollectives - 1; which >= 0; --which) OK(mtRequestFree(&requests[which]));
  for (which = 0; which < kCollectives; ++which) check_result(which, &all[which]);

  for (which = 0; which < kCollectives; ++which) fill(&all[which]);
  OK(mtGroupStart());
  for (which = 0; which < kCollectives; ++which) {
    if (which % 2 == 0) {
      OK(block(which, &all[which], comm));
    } else {
      int done = 0;
      OK(begin(which, &all[which], comm, &requests[which]));
      CHECK(mtRequestTest(requests[which], &done) == mtInvalidUsage);
    }
  }
  OK(mtGroupEnd());
  for (which = 1; which < kCollectives; which += 2) OK(mtRequestFree(&requests[which]));
  for (which = 0; which < kCollectives; ++which) check_result(which, &all[which]);
}

static void collectives(mtComm_t comm, int ranks) {
  static const size_t kCounts[] = {0, 1, 1000, 100003};
  struct buffers all[kCollectives];
  size_t c;
  int which, i;
  mtResult_t state = mtInternalError;
  for (c = 0; c < sizeof kCounts / sizeof *kCounts; ++c) {
    for (which = 0; which < kCollectives; ++which) {
      struct buffers* b = &all[which];
      void* memory[2];
      const size_t bytes = (kCounts[c] * (size_t)ranks + 1) * sizeof(int64_t);
      for (i = 0; i < 2; ++i) OK(mtMemAlloc(&memory[i], bytes, comm));
      b->in = memory[0];
      b->out = memory[1];
      b->count = kCounts[c];
      b->ranks = ranks;
      b->rank = my_rank;
      b->root = which == kReduce ? ranks - 1 : ranks / 2;
      one_by_one(comm, b);
    }
    together(comm, all);
    OK(mtBarrier(comm));
    for (which = 0; which < kCollectives; ++which) {
      OK(mtMemFree(all[which].in, comm));
      OK(mtMemFree(all[which].out, comm));
    }
  }
  OK(mtCommGetAsyncError(comm, &state));
  CHECK(state == mtSuccess);
  state = mtCommFinalize(comm);
  CHECK(state == (my_rank % 2 ? mtSuccess : mtInProgress));
  do {
    OK(mtCommGetAsyncError(comm, &state));
  } while (state == mtInProgress);
  CHECK(state == mtSuccess);
  CHECK(mtBarrier(comm) == mtInvalidUsage);
  OK(mtCommDestroy(comm));
  CHECK(mtBarrier(comm) == mtInvalidArgument);
}

static void* abort_soon(void* comm) {
  nap(300);
  OK(mtCommAbort(comm));
  return NULL;
}

/* Rank 0 never calls: everybody else is blocked until rank 1's second thread has had enough. */
static void aborted(mtComm_t comm, int ranks) {
  enum { kCount = 100000 };
  static float data[kCount];
  mtResult_t result;
  pthread_t thread;
  const double start = seconds();
  if (my_rank == 0) {
    do {
      nap(1);
      OK(mtCommGetAsyncError(comm, &result));
    } while (result == mtSuccess && seconds() - start < 20);
    CHECK(result == mtRemoteError);
  } else {
    if (my_rank == 1) OK(pthread_create(&thread, NULL, &abort_soon, comm));
    result = my_rank == ranks - 1 ? mtBarrier(comm)
                                  : mtAllReduce(data, data, kCount, mtFloat32, mtSum, comm, NULL);
  }
  CHECK(seconds() - start < 10);
  if (my_rank == 1) {
    CHECK(result == mtAborted);
    OK(pthread_join(thread, NULL));
    CHECK(mtAllReduce(data, data, kCount, mtFloat32, mtSum, comm, NULL) == mtAborted);
    return;
  }
  CHECK(result == mtRemoteError);
  CHECK(strstr(mtGetLastError(comm), "rank 1 gave up: aborted") != NULL);
  CHECK(mtAllReduce(data, data, kCount, mtFloat32, mtSum, comm, NULL) == mtRemoteError);
  OK(mtCommDestroy(comm));
}

static void killed(mtComm_t comm) {
  float one = 1;
  mtResult_t result = mtSuccess;
  const double start = seconds();
  OK(mtAllReduce(&one, &one, 1, mtFloat32, mtSum, comm, NULL));
  if (my_rank == 1) raise(SIGKILL);
  while (result == mtSuccess && seconds() - start < 20) {
    nap(1);
    OK(mtCommGetAsyncError(comm, &result));
  }
  CHECK(result == mtRemoteError);
  CHECK(strstr(mtGetLastError(comm), "rank 1 died") != NULL);
  CHECK(mtAllReduce(&one, &one, 1, mtFloat32, mtSum, comm, NULL) == mtRemoteError);
  OK(mtCommDestroy(comm));
  CHECK(seconds() - start < 10);
}

/* How many descriptors, or threads, this process has. */
static int entries_of(const char* folder) {
  DIR* const open = opendir(folder);
  int count = 0;
  CHECK(open != NULL);
  while (readdir(open) != NULL) ++count;
  closedir(open);
  return count - 2;
}

/* Parts of parts, of which each second one is destroyed before the whole. */
static void many(mtComm_t comm, int ranks) {
  enum { kMany = 500, kLimit = 1024 };
  static mtComm_t parts[kMany];
  const struct rlimit limit = {kLimit, kLimit};
  const int descriptors = entries_of("/proc/self/fd"), threads = entries_of("/proc/self/task");
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  int i;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  for (i = 0; i < kMany; ++i) {
    OK(mtCommSplit(i % 3 == 2 ? parts[i - 1] : comm, 0, i % 2 ? -my_rank : 0, &parts[i], &config));
  }
  for (i = 0; i < kMany; i += 50) {
    const int64_t one = 1;
    int64_t all = 0;
    mtRequest_t request = NULL;
    OK(mtIAllReduce(&one, &all, 1, mtInt64, mtSum, parts[i], NULL, &request));
    OK(mtRequestFree(&request));
    CHECK(all == ranks);
  }
  CHECK(entries_of("/proc/self/fd") < descriptors + 30);
  CHECK(entries_of("/proc/self/task") < threads + 30);
  for (i = 0; i < kMany; i += 2) OK(mtCommDestroy(parts[i]));
  OK(mtCommDestroy(comm));
  for (i = 1; i < kMany; i += 2) OK(mtCommDestroy(parts[i]));
}

/* Rank 0 does not come; the others are set up in the background, and give up. */
static void abort_init(mtUniqueId id, int ranks) {
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  mtComm_t comm;
  mtResult_t result;
  double start;
  if (my_rank == 0) {
    nap(1500);
    return;
  }
  config.blocking = 0;
  CHECK(mtCommInitRankConfig(&comm, ranks, id, my_rank, &config) == mtInProgress);
  OK(mtCommGetAsyncError(comm, &result));
  CHECK(result == mtInProgress);
  CHECK(mtBarrier(comm) == mtInProgress);
  nap(100);
  start = seconds();
  OK(mtCommAbort(comm));
  CHECK(seconds() - start < 8);
}

static void mismatch(mtUniqueId id, int ranks) {
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  mtComm_t comm = NULL;
  config.algorithm = my_rank == ranks - 1 ? "ring" : "multitree";
  CHECK(mtCommInitRankConfig(&comm, ranks, id, my_rank, &config) == mtInvalidArgument);
  CHECK(comm == NULL);
  CHECK(strstr(mtGetLastError(NULL), "runs another schedule than rank 0") != NULL);
}

static int run(const char* mode, mtUniqueId id, int ranks) {
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  mtComm_t comm = NULL;
  if (strcmp(mode, "abort-init") == 0) {
    abort_init(id, ranks);
    return 0;
  }
  if (strcmp(mode, "mismatch") == 0) {
    mismatch(id, ranks);
    return 0;
  }
  config.initDeadlineMs = 30000;
  config.blocking = my_rank % 2; /* both ways */
  if (config.blocking) {
    OK(mtCommInitRankConfig(&comm, ranks, id, my_rank, &config));
  } else {
    mtResult_t result = mtInProgress;
    CHECK(mtCommInitRankConfig(&comm, ranks, id, my_rank, &config) == mtInProgress);
    while (result == mtInProgress) {
      nap(1);
      OK(mtCommGetAsyncError(comm, &result));
    }
    CHECK(result == mtSuccess);
  }
  if (strcmp(mode, "collectives") == 0) {
    int count = 0, rank = -1;
    OK(mtCommCount(comm, &count));
    OK(mtCommUserRank(comm, &rank));
    CHECK(count == ranks && rank == my_rank);
    OK(mtBarrier(comm));
    collectives(comm, ranks);
  }
  if (strcmp(mode, "many") == 0) many(comm, ranks);
  if (strcmp(mode, "abort") == 0) aborted(comm, ranks);
  if (strcmp(mode, "killed") == 0) killed(comm);
  return 0;
}

static int forked_id(int ranks) {
  mtUniqueId id;
  mtComm_t comm = NULL;
  int64_t one = 1, all = 0;
  int r, status, failed = 0;
  my_rank = 0;
  OK(mtGetUniqueId(&id));
  for (r = 1; r < ranks && my_rank == 0; ++r) {
    if (fork() == 0) my_rank = r;
  }
  alarm(100);
  OK(mtCommInitRank(&comm, ranks, id, my_rank));
  OK(mtAllReduce(&one, &all, 1, mtInt64, mtSum, comm, NULL));
  CHECK(all == ranks);
  OK(mtCommFinalize(comm));
  OK(mtCommDestroy(comm));
  if (my_rank != 0) exit(0);
  while (wait(&status) > 0) failed |= status != 0;
  return failed;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: processes MODE RANKS\n");
    return 2;
  }
  if (strcmp(argv[1], "forked-id") == 0) return forked_id(atoi(argv[2]));
  return run_ranks(&run, argv[1], atoi(argv[2]), strcmp(argv[1], "killed") == 0 ? 1U << 1 : 0);
}
