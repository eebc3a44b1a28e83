/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks in C as processes that are forked. */
#ifndef RANKS_H_
#define RANKS_H_

#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void nap(int milliseconds) {
  struct timespec time;
  time.tv_sec = milliseconds / 1000;
  time.tv_nsec = (long)(milliseconds % 1000) * 1000000;
  nanosleep(&time, NULL);
}

/* Runs body(mode, id, ranks) in a process for each rank; 0 if all end well. A rank that a signal
 * ends has done so on purpose if its bit is set in `doomed`. */
static int run_ranks(int (*body)(const char*, mtUniqueId, int), const char* mode, int ranks,
                     unsigned doomed) {
  enum { kMost = 32 };
  int pipes[kMost][2], failed = 0, r, status;
  pid_t children[kMost];
  if (ranks < 2 || ranks > kMost) {
    fprintf(stderr, "expected 2 to %d ranks, found %d\n", kMost, ranks);
    return 2;
  }
  for (r = 0; r < ranks; ++r) {
    if (pipe(pipes[r]) != 0) return 2;
  }
  for (r = 0; r < ranks; ++r) {
    children[r] = fork();
    if (children[r] == 0) {
      mtUniqueId id;
      int to;
      alarm(100);
      my_rank = r;
      if (r == 0) {
        OK(mtGetUniqueId(&id));
        for (to = 1; to < ranks; ++to) CHECK(write(pipes[to][1], &id, sizeof id) == sizeof id);
      } else {
        CHECK(read(pipes[r][0], &id, sizeof id) == sizeof id);
      }
      exit(body(mode, id, ranks));
    }
  }
  for (r = 0; r < ranks; ++r) {
    waitpid(children[r], &status, 0);
    if ((doomed >> r & 1) != 0 && WIFSIGNALED(status)) continue;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      fprintf(stderr, "rank %d: status %d\n", r, status);
      failed = 1;
    }
  }
  return failed;
}

#endif /* RANKS_H_ */
