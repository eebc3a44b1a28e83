/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Ranks that come to a job which is under way; exits with 0 if all are content.
 *
 *     growing spare RANKS         rank 0 dies, and the last process, which waited, takes its place
 *     growing double RANKS        half of the processes begin, the others come to them
 *     growing cycles RANKS [N]    the last rank leaves and comes back N (default 40) times; what
 *                                 the processes hold does not grow
 *
 * A mode that begins with "network-" does it by messages. Prints how long growing took.
 */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "ranks.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { kSlackKib = 65536 }; /* what sanitizers remember of memory grows for a while */
#else
enum { kSlackKib = 2048 };
#endif

/* As long as growing may wait; the first id of each time is handed out by what `shared` has. */
enum { kMostTimes = 4096 };
struct Shared {
  volatile int times; /* so many ids are there */
  mtUniqueId ids[kMostTimes];
};
static struct Shared* shared;
static mtConfig_t config = MT_CONFIG_INITIALIZER;
static int cycles = 40;

static void hand_out(const mtUniqueId* id) {
  shared->ids[shared->times] = *id;
  __atomic_add_fetch(&shared->times, 1, __ATOMIC_RELEASE);
}

static mtUniqueId handed_out(int time) {
  while (__atomic_load_n(&shared->times, __ATOMIC_ACQUIRE) <= time) nap(1);
  return shared->ids[time];
}

static void check_sum(mtComm_t comm, int ranks, int64_t want) {
  int64_t data[1000];
  int i, count = 0;
  for (i = 0; i < 1000; ++i) data[i] = my_rank + 1;
  OK(mtCommCount(comm, &count));
  CHECK(count == ranks);
  OK(mtAllReduce(data, data, 1000, mtInt64, mtSum, comm, NULL));
  for (i = 0; i < 1000; ++i) CHECK(data[i] == want);
}

static int64_t sum_to(int ranks) { return (int64_t)ranks * (ranks + 1) / 2; }

/* The processes below `before` have `comm`; returns that of all `ranks`, in the order of processes.
 */
static mtComm_t grown(mtComm_t comm, int before, int ranks, int time) {
  mtComm_t all = NULL;
  mtUniqueId id;
  const double start = seconds();
  if (comm == NULL) {
    id = handed_out(time);
    OK(mtCommGrow(NULL, ranks, &id, my_rank, &all, &config));
  } else if (my_rank == before - 1) {
    OK(mtCommGetUniqueId(comm, &id));
    hand_out(&id);
    OK(mtCommGrow(comm, ranks, &id, -1, &all, &config));
  } else {
    OK(mtCommGrow(comm, ranks, NULL, -1, &all, &config));
  }
  if (my_rank == 0) printf("%d to %d ranks: %.1f ms\n", before, ranks, 1e3 * (seconds() - start));
  return all;
}

static void double_in_size(mtUniqueId id, int ranks) {
  mtComm_t comm = NULL, all;
  const int half = ranks / 2;
  if (my_rank < half) {
    OK(mtCommInitRankConfig(&comm, half, id, my_rank, &config));
    check_sum(comm, half, sum_to(half));
  }
  all = grown(comm, half, ranks, 0);
  check_sum(all, ranks, sum_to(ranks));
  if (comm != NULL) {
    check_sum(comm, half, sum_to(half));
    OK(mtCommDestroy(comm));
  }
  check_sum(all, ranks, sum_to(ranks));
  OK(mtCommDestroy(all));
}

static void survive(mtComm_t comm, int ranks, mtComm_t* left) {
  mtResult_t result = mtSuccess;
  int64_t data = 0;
  int round;
  for (round = 0; result == mtSuccess; ++round) {
    if (my_rank == 0 && round == 5) raise(SIGKILL);
    CHECK(round < 100000);
    result = mtAllReduce(&data, &data, 1, mtInt64, mtSum, comm, NULL);
  }
  CHECK(result == mtRemoteError);
  OK(mtCommShrink(comm, NULL, 0, left, NULL, MT_SHRINK_DEFAULT));
  OK(mtCommDestroy(comm));
  check_sum(*left, ranks - 1, sum_to(ranks) - 1);
}

/* The last process is the spare. */
static void replace(mtUniqueId first, int processes) {
  const int ranks = processes - 1, spare = processes - 1;
  mtComm_t comm = NULL, left = NULL, all = NULL;
  mtUniqueId id;
  int found = -1;
  if (my_rank == spare) {
    id = handed_out(0);
    OK(mtCommGrow(NULL, ranks, &id, 0, &all, &config));
  } else {
    OK(mtCommInitRankConfig(&comm, ranks, first, my_rank, &config));
    survive(comm, ranks, &left);
    if (my_rank == 1) {
      OK(mtCommGetUniqueId(left, &id));
      hand_out(&id);
    }
    /* They take the ranks that they had. */
    OK(mtCommGrow(left, ranks, my_rank == 1 ? &id : NULL, my_rank, &all, &config));
    OK(mtCommDestroy(left));
  }
  OK(mtCommUserRank(all, &found));
  CHECK(found == (my_rank == spare ? 0 : my_rank));
  check_sum(all, ranks, sum_to(ranks) - 1 + processes);
  OK(mtCommDestroy(all));
}

static int entries(const char* folder) {
  DIR* directory = opendir(folder);
  int count = 0;
  CHECK(directory != NULL);
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count;
}

static long resident_kib(void) {
  char line[256];
  long kib = -1;
  FILE* file = fopen("/proc/self/status", "r");
  CHECK(file != NULL);
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "VmRSS: %ld", &kib) == 1) break;
  }
  fclose(file);
  return kib;
}

/* The last rank leaves by a shrink without it, and comes back. */
static void come_and_go(mtUniqueId id, int ranks) {
  const int last = ranks - 1;
  mtComm_t comm = NULL, left;
  mtResult_t state;
  int time, descriptors = 0, threads = 0;
  long memory = 0;
  OK(mtCommInitRankConfig(&comm, ranks, id, my_rank, &config));
  for (time = 0; time < cycles; ++time) {
    check_sum(comm, ranks, sum_to(ranks));
    left = NULL;
    if (my_rank == last) {
      for (state = mtSuccess; state == mtSuccess;) OK(mtCommGetAsyncError(comm, &state));
      CHECK(state == mtRemoteError);
    } else {
      OK(mtCommShrink(comm, &last, 1, &left, NULL, MT_SHRINK_DEFAULT));
    }
    OK(mtCommDestroy(comm));
    comm = grown(left, last, ranks, time);
    if (left != NULL) OK(mtCommDestroy(left));
    if (time == cycles / 4) {
      descriptors = entries("/proc/self/fd");
      threads = entries("/proc/self/task");
      memory = resident_kib();
    }
  }
  check_sum(comm, ranks, sum_to(ranks));
  printf("rank %d: %d descriptors, %d threads, %ld KiB after %d times; %d, %d, %ld after %d\n",
         my_rank, descriptors, threads, memory, cycles / 4 + 1, entries("/proc/self/fd"),
         entries("/proc/self/task"), resident_kib(), cycles);
  CHECK(entries("/proc/self/fd") <= descriptors + 2);
  CHECK(entries("/proc/self/task") <= threads + 1);
  CHECK(resident_kib() < memory + kSlackKib + 16L * cycles);
  OK(mtCommDestroy(comm));
}

static int run(const char* mode, mtUniqueId id, int ranks) {
  if (strncmp(mode, "network-", 8) == 0) {
    config.algorithm = "multitree";
    config.transport = "tcp";
    mode += 8;
  }
  config.deadlineMs = 10000;
  if (strcmp(mode, "spare") == 0) replace(id, ranks);
  if (strcmp(mode, "double") == 0) double_in_size(id, ranks);
  if (strcmp(mode, "cycles") == 0) come_and_go(id, ranks);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    fprintf(stderr, "usage: growing MODE RANKS [N]\n");
    return 2;
  }
  if (argc == 4) cycles = atoi(argv[3]);
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || cycles < 4 || cycles > kMostTimes) return 2;
  return run_ranks(&run, argv[1], atoi(argv[2]), strstr(argv[1], "spare") != NULL ? 1U : 0);
}
