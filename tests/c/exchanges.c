/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Data from rank to rank between processes that this program forks; exits with 0 if all of them are
 * content.
 *
 *     exchanges host RANKS             through the memory of this host
 *     exchanges messages RANKS         over UCX, between neighbours of a ring and all others
 *     exchanges killed-host RANKS      rank 1 dies in an all-to-all
 *     exchanges killed-messages RANKS
 *     exchanges killed-pair-host RANKS rank 1 dies while others send to it and receive from it
 *     exchanges killed-pair-messages RANKS
 */
#include <signal.h>
#include <stdint.h>

#include "ranks.h"

/* Element i of what one rank has for another. */
static int64_t element(int from, int to, size_t i) {
  return (int64_t)(i % 10007) * 31 + from * 1009 + to;
}

static void fill(int64_t* data, size_t count, int to) {
  size_t i;
  for (i = 0; i < count; ++i) data[i] = element(my_rank, to, i);
}

static void check(const int64_t* data, size_t count, int from) {
  size_t i;
  for (i = 0; i < count; ++i) CHECK(data[i] == element(from, my_rank, i));
}

static int64_t* numbers(size_t count) {
  int64_t* data = calloc(count + 1, sizeof *data);
  CHECK(data != NULL);
  return data;
}

static void all_to_all(mtComm_t comm, int ranks, size_t count) {
  int64_t* const out = numbers(count * (size_t)ranks);
  int64_t* const in = numbers(count * (size_t)ranks);
  int r;
  for (r = 0; r < ranks; ++r) fill(out + (size_t)r * count, count, r);
  OK(mtAllToAll(out, in, count, mtInt64, comm, NULL));
  for (r = 0; r < ranks; ++r) check(in + (size_t)r * count, count, r);
  free(out);
  free(in);
}

/* Around the ring, everybody at once. */
static void around(mtComm_t comm, int ranks, size_t count) {
  int64_t *const out = numbers(count), *const in = numbers(count);
  const int next = (my_rank + 1) % ranks, last = (my_rank + ranks - 1) % ranks;
  fill(out, count, next);
  OK(mtGroupStart());
  OK(mtSend(out, count, mtInt64, next, comm, NULL));
  OK(mtRecv(in, count, mtInt64, last, comm, NULL));
  OK(mtGroupEnd());
  check(in, count, last);
  free(out);
  free(in);
}

/* All ranks lend the same memory. */
static void mapped(mtComm_t comm, int ranks) {
  const size_t count = 100000;
  void* memory = NULL;
  int64_t* data;
  OK(mtMemAlloc(&memory, 2 * count * sizeof *data, comm));
  data = memory;
  fill(data, count, (my_rank + 1) % ranks);
  OK(mtGroupStart());
  OK(mtSend(data, count, mtInt64, (my_rank + 1) % ranks, comm, NULL));
  OK(mtRecv(data + count, count, mtInt64, (my_rank + ranks - 1) % ranks, comm, NULL));
  OK(mtGroupEnd());
  check(data + count, count, (my_rank + ranks - 1) % ranks);
  OK(mtMemFree(memory, comm));
}

static void killed(mtComm_t comm, int ranks) {
  const size_t count = 1000000;
  int64_t* const data = numbers(2 * count * (size_t)ranks);
  mtResult_t result;
  double begin;
  memset(data, 0, count * (size_t)ranks * sizeof *data);
  all_to_all(comm, ranks, 10);
  begin = seconds();
  if (my_rank == 1) {
    nap(100); /* the others wait by then */
    kill(getpid(), SIGKILL);
  }
  result = mtAllToAll(data, data + count * (size_t)ranks, count, mtInt64, comm, NULL);
  CHECK(result == mtRemoteError);
  CHECK(strstr(mtGetLastError(comm), "rank 1") != NULL);
  printf("rank %d: told after %.1f s\n", my_rank, seconds() - begin);
  OK(mtCommDestroy(comm));
  free(data);
}

/* Rank 0 sends until it is told, some more than there is room for; the others receive, more than a
 * page. */
static void killed_pair(mtComm_t comm, int ranks) {
  int64_t* const data = numbers(100000);
  mtResult_t result = mtSuccess;
  int other;
  all_to_all(comm, ranks, 10);
  memset(data, 0, 100000 * sizeof *data);
  if (my_rank == 1) {
    nap(100);
    for (other = 2; other < ranks; ++other) {
      mtRequest_t request = NULL;
      OK(mtISend(data, 100000, mtInt64, other, comm, NULL, &request));
    }
    kill(getpid(), SIGKILL);
  }
  while (result == mtSuccess) {
    result = my_rank == 0 ? mtSend(data, 12, mtInt64, 1, comm, NULL)
                          : mtRecv(data, 100000, mtInt64, 1, comm, NULL);
  }
  CHECK(result == mtRemoteError);
  CHECK(strstr(mtGetLastError(comm), "rank 1") != NULL);
  OK(mtCommDestroy(comm));
  free(data);
}

static int run(const char* mode, mtUniqueId id, int ranks) {
  static const size_t kCounts[] = {0, 1, 100, 513, 5000, 200000};
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  mtComm_t comm = NULL;
  size_t i;
  if (strstr(mode, "messages") != NULL) config.algorithm = "ring";
  OK(mtCommInitRankConfig(&comm, ranks, id, my_rank, &config));
  if (strstr(mode, "killed-pair") != NULL) {
    killed_pair(comm, ranks);
    return 0;
  }
  if (strstr(mode, "killed") != NULL) {
    killed(comm, ranks);
    return 0;
  }
  for (i = 0; i < sizeof kCounts / sizeof *kCounts; ++i) {
    all_to_all(comm, ranks, kCounts[i]);
    around(comm, ranks, kCounts[i]);
  }
  mapped(comm, ranks);
  OK(mtCommDestroy(comm));
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: exchanges MODE RANKS\n");
    return 2;
  }
  return run_ranks(&run, argv[1], atoi(argv[2]), strstr(argv[1], "killed") ? 1U << 1 : 0);
}
