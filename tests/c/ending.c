/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * A process that ends while threads of it call the library: what that keeps for all of them is
 * there to the very end. Exits with 0 if it can.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "multitree.h"

enum { kThreads = 2 };

static void nap(long milliseconds) {
  struct timespec time;
  time.tv_sec = 0;
  time.tv_nsec = milliseconds * 1000000;
  nanosleep(&time, NULL);
}

/* Whoever was there before the library ends after it. */
static void linger(void) { nap(500); }

static void* call(void* id_of_nobody) {
  for (;;) {
    mtUniqueId id;
    mtComm_t comm = NULL;
    float one = 1;
    if (mtGetUniqueId(id_of_nobody) != mtSuccess || mtGetUniqueId(&id) != mtSuccess) abort();
    if (mtCommInitRank(&comm, 1, id, 0) != mtSuccess) abort();
    if (mtAllReduce(&one, &one, 1, mtFloat32, mtSum, comm, NULL) != mtSuccess) abort();
    if (mtCommDestroy(comm) != mtSuccess) abort();
  }
  return NULL;
}

int main(void) {
  static mtUniqueId ids[kThreads];
  pthread_t thread;
  int i;
  if (atexit(&linger) != 0) return 2;
  for (i = 0; i < kThreads; ++i) {
    if (pthread_create(&thread, NULL, &call, &ids[i]) != 0) return 2;
  }
  nap(200);
  return 0;
}
