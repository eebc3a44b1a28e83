/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Collectives on device memory and in the order of streams, with a fake device in every process;
 * exits with 0 if all ranks are content.
 *
 * usage: streams MODE RANKS
 * - order: chains of collectives and copies on two streams, without a wait between
 * - calls: without a stream, in groups, persistent; requests on a held stream
 * - wrong: arguments that are refused
 * - killed: rank 2 dies; streams go on, and so do the others
 * - broken: the device of rank 1 fails
 * - left: rank 2 leaves between two calls
 * - watched: a thread waits for what another one looks at
 * - together: one thread with all ranks
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#include "fake_gpu.h"
#include "ranks.h"

enum { kCount = 3000, kRounds = 4, kDeadlineMs = 8000 };

/* From ranks to rank 2. */
static int first_is_over[2];

/* Device memory with pinned memory beside it, to fill and to read. */
struct mirror {
  int64_t *device, *host;
  size_t count;
};

static struct mirror mirror_of(size_t count) {
  struct mirror m;
  m.count = count;
  m.device = fake_malloc(count * sizeof *m.device);
  m.host = fake_malloc_pinned(count * sizeof *m.host);
  memset(m.host, 0, count * sizeof *m.host);
  return m;
}

static void set(struct mirror* m, int64_t value, void* stream) {
  size_t i;
  fake_synchronize(stream);
  for (i = 0; i < m->count; ++i) m->host[i] = value + (int64_t)i;
  fake_copy(m->device, m->host, m->count * sizeof *m->host, stream);
}

/* Element i is base + slope * i. */
static void check(struct mirror* m, int64_t base, int64_t slope, void* stream) {
  size_t i;
  fake_copy(m->host, m->device, m->count * sizeof *m->host, stream);
  fake_synchronize(stream);
  for (i = 0; i < m->count; ++i) CHECK(m->host[i] == base + slope * (int64_t)i);
}

static void release(struct mirror* m) {
  fake_free(m->device);
  fake_free_pinned(m->host);
}

static void order(mtComm_t comm, int ranks) {
  void *a = fake_stream_create(), *b = fake_stream_create();
  struct mirror sum = mirror_of(kCount), copy = mirror_of(kCount), top = mirror_of(kCount);
  struct mirror whole = mirror_of((size_t)kCount * (size_t)ranks), from_root = mirror_of(kCount);
  const size_t bytes = kCount * sizeof(int64_t);
  int64_t grown = 1;
  int round;
  set(&sum, 1, a);
  set(&top, my_rank, b);
  set(&from_root, my_rank, b);
  for (round = 0; round < kRounds; ++round) {
    OK(mtAllReduce(sum.device, sum.device, kCount, mtInt64, mtSum, comm, a));
    fake_copy(copy.device, sum.device, bytes, a);
    fake_copy(sum.device, copy.device, bytes, a);
    OK(mtAllReduce(top.device, top.device, kCount, mtInt64, mtMax, comm, b));
    OK(mtBroadcast(from_root.device, from_root.device, kCount, mtInt64, 1, comm, b));
    grown *= ranks;
  }
  OK(mtAllGather(sum.device, whole.device, kCount, mtInt64, comm, a));
  OK(mtReduceScatter(whole.device, copy.device, kCount, mtInt64, mtSum, comm, a));
  OK(mtReduce(copy.device, copy.device, kCount, mtInt64, mtSum, 0, comm, a));
  check(&sum, grown, grown, a);
  check(&top, ranks - 1, 1, b);
  check(&from_root, 1, 1, b);
  if (my_rank == 0) check(&copy, grown * ranks * ranks, grown * ranks * ranks, a);
  OK(mtBarrier(comm));
  OK(mtCommFinalize(comm)); /* waits for streams */
  OK(mtCommDestroy(comm));
  release(&sum);
  release(&copy);
  release(&top);
  release(&whole);
  release(&from_root);
  fake_stream_destroy(a);
  fake_stream_destroy(b);
}

static void on_held_stream(mtComm_t comm, struct mirror* m, int ranks) {
  unsigned* flag = fake_malloc_pinned(sizeof *flag);
  void* stream = fake_stream_create();
  mtRequest_t request = NULL;
  mtResult_t state = mtInternalError;
  int done = 1;
  set(m, 1, stream);
  *flag = 0;
  fake_hold(stream, flag);
  OK(mtIAllReduce(m->device, m->device, kCount, mtInt64, mtSum, comm, stream, &request));
  OK(mtRequestTest(request, &done));
  CHECK(done == 0);
  CHECK(mtRequestWait(request) == mtTimeout); /* the stream has not come to it */
  OK(mtCommGetAsyncError(comm, &state));
  CHECK(state == mtSuccess);
  __atomic_store_n(flag, 1U, __ATOMIC_RELEASE);
  OK(mtRequestWait(request));
  OK(mtRequestTest(request, &done));
  CHECK(done == 1);
  OK(mtRequestFree(&request));
  check(m, ranks, ranks, stream);
  OK(mtBarrier(comm));
  fake_stream_destroy(stream);
  fake_free_pinned(flag);
}

static void calls(mtComm_t comm, int ranks) {
  void* stream = fake_stream_create();
  struct mirror m = mirror_of(kCount), n = mirror_of(kCount);
  mtRequest_t again = NULL;
  int64_t host = my_rank;
  int repeat;
  set(&m, my_rank, NULL);
  OK(mtAllReduce(m.device, n.device, kCount, mtInt64, mtMin, comm, NULL));
  check(&n, 0, 1, NULL);
  OK(mtAllReduce(&host, &host, 1, mtInt64, mtMax, comm, NULL)); /* host memory all the same */
  CHECK(host == ranks - 1);

  set(&m, 1, stream);
  set(&n, 2, stream);
  OK(mtGroupStart());
  OK(mtAllReduce(m.device, m.device, kCount, mtInt64, mtSum, comm, stream));
  OK(mtAllReduce(n.device, n.device, kCount, mtInt64, mtSum, comm, stream));
  OK(mtGroupEnd());
  check(&m, ranks, ranks, stream);
  check(&n, 2 * ranks, ranks, stream);

  OK(mtAllReduceInit(m.device, n.device, kCount, mtInt64, mtSum, comm, stream, &again));
  for (repeat = 1; repeat <= 3; ++repeat) {
    set(&m, repeat, stream);
    OK(mtStart(again));
    check(&n, repeat * ranks, ranks, stream);
    OK(mtRequestWait(again));
  }
  OK(mtRequestFree(&again));
  on_held_stream(comm, &m, ranks);
  OK(mtBarrier(comm));
  release(&m);
  release(&n);
  fake_stream_destroy(stream);
  OK(mtCommDestroy(comm));
}

static void wrong(mtComm_t comm, int ranks) {
  void* stream = fake_stream_create();
  struct mirror m = mirror_of(kCount);
  static int64_t plain[kCount];
  mtStreamOrder_t order = mtStreamWaits;
  int number = -1;
  OK(mtCommCuDevice(comm, &number));
  CHECK(number >= 0);
  OK(mtCommGetStreamOrder(comm, stream, &order));
  CHECK(order == mtStreamHeld); /* the fake device can */
  CHECK(mtCommGetStreamOrder(comm, NULL, &order) == mtInvalidArgument);
  CHECK(mtCommGetStreamOrder(comm, stream, NULL) == mtInvalidArgument);
  CHECK(mtAllReduce(plain, plain, kCount, mtInt64, mtSum, comm, stream) == mtInvalidArgument);
  CHECK(strstr(mtGetLastError(NULL), "send: expected memory of the device") != NULL);
  CHECK(mtAllReduce(m.device, plain, kCount, mtInt64, mtSum, comm, NULL) == mtInvalidArgument);
  OK(mtGroupStart());
  CHECK(mtAllReduce(plain, plain, kCount, mtInt64, mtSum, comm, stream) == mtInvalidArgument);
  CHECK(mtGroupEnd() == mtInvalidArgument);
  OK(mtAllReduce(m.host, m.host, kCount, mtInt64, mtSum, comm, stream)); /* pinned */
  set(&m, 0, stream);
  OK(mtAllReduce(m.device, m.device, kCount, mtInt64, mtSum, comm, stream));
  check(&m, 0, ranks, stream);
  OK(mtBarrier(comm));
  release(&m);
  fake_stream_destroy(stream);
  OK(mtCommDestroy(comm));
}

/* All-reduces on a stream until the communicator has failed; the stream always goes on. */
static mtResult_t until_failure(mtComm_t comm, int victim, struct mirror* m, void* stream) {
  mtResult_t state = mtSuccess, result = mtSuccess;
  const double start = seconds();
  int round;
  for (round = 0; state == mtSuccess && seconds() - start < 30; ++round) {
    if (my_rank == victim && round == 3) raise(SIGKILL);
    if (result == mtSuccess) {
      result = mtAllReduce(m->device, m->device, m->count, mtInt64, mtMax, comm, stream);
    }
    fake_synchronize(stream);
    nap(1);
    OK(mtCommGetAsyncError(comm, &state));
  }
  return state;
}

static void killed(mtComm_t comm, int ranks) {
  void* stream = fake_stream_create();
  struct mirror m = mirror_of(kCount);
  mtComm_t next = NULL;
  CHECK(until_failure(comm, 2, &m, stream) == mtRemoteError);
  CHECK(strstr(mtGetLastError(comm), "rank 2 died") != NULL);
  OK(mtCommShrink(comm, NULL, 0, &next, NULL, MT_SHRINK_DEFAULT));
  OK(mtCommDestroy(comm));
  set(&m, 5, stream);
  OK(mtAllReduce(m.device, m.device, kCount, mtInt64, mtSum, next, stream));
  check(&m, 5 * (ranks - 1), ranks - 1, stream);
  OK(mtCommDestroy(next));
  release(&m);
  fake_stream_destroy(stream);
}

static void* wait_for(void* request) {
  OK(mtRequestWait(request));
  return NULL;
}

/* With a record of the calls, which notes the end of each. */
static void watched(mtComm_t comm, int ranks) {
  void* stream = fake_stream_create();
  struct mirror m = mirror_of(8);
  int round;
  for (round = 0; round < 30; ++round) {
    mtRequest_t request = NULL;
    pthread_t waiter;
    int done = 0;
    set(&m, 1, stream);
    OK(mtIAllReduce(m.device, m.device, m.count, mtInt64, mtSum, comm, stream, &request));
    CHECK(pthread_create(&waiter, NULL, &wait_for, request) == 0);
    while (done == 0) OK(mtRequestTest(request, &done));
    CHECK(pthread_join(waiter, NULL) == 0);
    OK(mtRequestFree(&request));
    check(&m, ranks, ranks, stream);
  }
  OK(mtBarrier(comm));
  OK(mtCommDestroy(comm));
  release(&m);
  fake_stream_destroy(stream);
}

/* Rank 2 leaves when the first of two calls is over, and never makes the second. Nobody looks at
 * either before both are over. */
static void left(mtComm_t comm, int ranks) {
  enum { kVictim = 2, kFew = 4 };
  void *a = fake_stream_create(), *b = fake_stream_create();
  struct mirror first = mirror_of(kFew), second = mirror_of(kFew), large = mirror_of(10 * kCount);
  unsigned* flag = fake_malloc_pinned(sizeof *flag);
  mtResult_t state = mtSuccess;
  char over = 0;
  int r;
  set(&first, 1, a);
  set(&second, 1, b);
  set(&large, 1, a);
  /* Where it has had room the two have it at once. */
  OK(mtAllReduce(large.device, large.device, large.count, mtInt64, mtSum, comm, a));
  check(&large, ranks, ranks, a);
  *flag = 0;
  fake_hold(a, flag);
  OK(mtAllReduce(first.device, first.device, kFew, mtInt64, mtSum, comm, a));
  if (my_rank != kVictim) {
    OK(mtAllReduce(second.device, second.device, kFew, mtInt64, mtSum, comm, b));
  }
  __atomic_store_n(flag, 1U, __ATOMIC_RELEASE);
  fake_synchronize(a);
  if (my_rank == kVictim) {
    for (r = 1; r < ranks; ++r) CHECK(read(first_is_over[0], &over, 1) == 1);
    OK(mtCommAbort(comm));
  } else {
    CHECK(write(first_is_over[1], &over, 1) == 1);
    fake_synchronize(b);
    nap(100); /* sooner there may be less to see */
    OK(mtCommGetAsyncError(comm, &state));
    CHECK(state == mtRemoteError);
    check(&first, ranks, ranks, a);
    OK(mtCommDestroy(comm));
  }
  release(&first);
  release(&second);
  release(&large);
  fake_free_pinned(flag);
  fake_stream_destroy(a);
  fake_stream_destroy(b);
}

static void broken(mtComm_t comm) {
  void* stream = fake_stream_create();
  struct mirror m = mirror_of(kCount);
  mtResult_t state = mtSuccess;
  const double start = seconds();
  int round;
  for (round = 0; state == mtSuccess && seconds() - start < 30; ++round) {
    state = mtAllReduce(m.device, m.device, kCount, mtInt64, mtMax, comm, stream);
    if (state == mtSuccess) OK(mtCommGetAsyncError(comm, &state));
  }
  CHECK(state == (my_rank == 1 ? mtCudaError : mtRemoteError));
  OK(mtCommGetAsyncError(comm, &state));
  CHECK(state == (my_rank == 1 ? mtCudaError : mtRemoteError));
  CHECK(my_rank == 1 || strstr(mtGetLastError(comm), "rank 1 gave up") != NULL);
  if (my_rank != 1) fake_synchronize(stream);
  OK(mtCommDestroy(comm));
}

/* All ranks in this process. */
static int together(int ranks) {
  enum { kMost = 8 };
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  mtComm_t comms[kMost];
  struct mirror data[kMost], more[kMost];
  void* streams[kMost];
  mtUniqueId id;
  int r;
  CHECK(ranks <= kMost);
  config.transport = "loopback";
  config.deadlineMs = kDeadlineMs;
  OK(mtGetUniqueId(&id));
  OK(mtGroupStart());
  for (r = 0; r < ranks; ++r) OK(mtCommInitRankConfig(&comms[r], ranks, id, r, &config));
  OK(mtGroupEnd());
  for (r = 0; r < ranks; ++r) {
    streams[r] = fake_stream_create();
    data[r] = mirror_of(kCount);
    more[r] = mirror_of(10 * kCount); /* the second needs more room than the first */
    set(&data[r], r, streams[r]);
    set(&more[r], r, streams[r]);
  }
  OK(mtGroupStart());
  for (r = 0; r < ranks; ++r) {
    void *const d = data[r].device, *const m = more[r].device;
    OK(mtAllReduce(d, d, kCount, mtInt64, mtSum, comms[r], streams[r]));
    OK(mtAllReduce(m, m, 10 * kCount, mtInt64, mtMax, comms[r], streams[r]));
    OK(mtBroadcast(d, d, kCount, mtInt64, 1, comms[r], streams[r]));
  }
  OK(mtGroupEnd());
  for (r = 0; r < ranks; ++r) {
    check(&data[r], ranks * (ranks - 1) / 2, ranks, streams[r]);
    check(&more[r], ranks - 1, 1, streams[r]);
  }
  OK(mtGroupStart());
  for (r = 0; r < ranks; ++r) OK(mtCommDestroy(comms[r]));
  OK(mtGroupEnd());
  for (r = 0; r < ranks; ++r) {
    release(&data[r]);
    release(&more[r]);
    fake_stream_destroy(streams[r]);
  }
  return 0;
}

static int run(const char* mode, mtUniqueId id, int ranks) {
  char records[] = "/tmp/multitree-streams-XXXXXX";
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  mtComm_t comm = NULL;
  config.deadlineMs = strcmp(mode, "calls") == 0 ? 1500 : kDeadlineMs;
  config.segmentBytes = 4096;
  if (strcmp(mode, "broken") == 0 && my_rank == 1) setenv("FAKE_GPU_FAIL_AFTER", "300", 1);
  if (strcmp(mode, "watched") == 0) {
    CHECK(mkdtemp(records) != NULL);
    setenv("MULTITREE_FLIGHT", records, 1);
  }
  OK(mtCommInitRankConfig(&comm, ranks, id, my_rank, &config));
  if (strcmp(mode, "order") == 0) order(comm, ranks);
  if (strcmp(mode, "calls") == 0) calls(comm, ranks);
  if (strcmp(mode, "wrong") == 0) wrong(comm, ranks);
  if (strcmp(mode, "killed") == 0) killed(comm, ranks);
  if (strcmp(mode, "broken") == 0) broken(comm);
  if (strcmp(mode, "left") == 0) left(comm, ranks);
  if (strcmp(mode, "watched") == 0) {
    watched(comm, ranks);
    CHECK(rmdir(records) == 0); /* the record goes with its communicator */
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: streams MODE RANKS\n");
    return 2;
  }
  if (strcmp(argv[1], "together") == 0) return together(atoi(argv[2]));
  CHECK(pipe(first_is_over) == 0);
  return run_ranks(&run, argv[1], atoi(argv[2]), strcmp(argv[1], "killed") == 0 ? 1U << 2 : 0);
}
