/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that are planned once and started again and again, among requests of other kinds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define INIT(name) MPIX_##name##_init
#elif MPI_VERSION >= 4
#define INIT(name) MPI_##name##_init
#endif

#ifndef INIT
void persistent(const struct vectors* v, MPI_Datatype strided, MPI_Comm comm) {
  (void)v, (void)strided, (void)comm;
}
#else

enum { kKinds = 10, kAll = kKinds + 3 };

/* Outputs of the kinds, each as large as a vector for each rank with gaps. */
struct outputs {
  const struct vectors* v;
  int* of[kKinds];
};

/* What is in place is filled anew for each start. */
static void prepare(const struct outputs* o, int root, int me, int turn) {
  const struct type ints = {"int", MPI_INT, 4};
  int k;
  fill(o->v->in, &ints, 2 * o->v->whole, me + 5 * turn);
  for (k = 0; k < kKinds; ++k) memset(o->of[k], 0, 2 * o->v->whole * sizeof(int));
  memcpy(o->of[1], o->v->in, o->v->count * sizeof(int));
  memcpy(o->of[3], o->v->in, o->v->whole * sizeof(int));
  if (me == root) memcpy(o->of[6], o->v->in, 2 * o->v->count * sizeof(int));
  memcpy(o->of[5] + (size_t)me * o->v->count, o->v->in, o->v->count * sizeof(int));
}

static void init(const struct outputs* o, int root, MPI_Datatype strided, MPI_Comm comm,
                 MPI_Request* requests) {
  const int n = (int)o->v->count;
  int* const in = o->v->in;
  int* const* out = o->of;
  const MPI_Info none = MPI_INFO_NULL;
  INIT(Allreduce)(in, out[0], n, MPI_INT, MPI_SUM, comm, none, &requests[0]);
  INIT(Allreduce)(MPI_IN_PLACE, out[1], n, MPI_INT, MPI_MAX, comm, none, &requests[1]);
  INIT(Reduce_scatter_block)(in, out[2], n, MPI_INT, MPI_SUM, comm, none, &requests[2]);
  INIT(Reduce_scatter_block)(MPI_IN_PLACE, out[3], n, MPI_INT, MPI_MIN, comm, none, &requests[3]);
  INIT(Allgather)(in, n, MPI_INT, out[4], n, strided, comm, none, &requests[4]);
  INIT(Allgather)(MPI_IN_PLACE, 0, MPI_INT, out[5], n, MPI_INT, comm, none, &requests[5]);
  INIT(Bcast)(out[6], n, strided, root, comm, none, &requests[6]);
  INIT(Reduce)(in, out[7], n, MPI_INT, MPI_BXOR, root, comm, none, &requests[7]);
  INIT(Gather)(in, n, strided, out[8], n, MPI_INT, root, comm, none, &requests[8]);
  INIT(Scatter)(in, n, MPI_INT, out[9], n, strided, root, comm, none, &requests[9]);
}

/* The same at once. */
static void call(const struct outputs* o, int root, MPI_Datatype strided, MPI_Comm comm) {
  const int n = (int)o->v->count;
  int* const in = o->v->in;
  int* const* out = o->of;
  MPI_Allreduce(in, out[0], n, MPI_INT, MPI_SUM, comm);
  MPI_Allreduce(MPI_IN_PLACE, out[1], n, MPI_INT, MPI_MAX, comm);
  MPI_Reduce_scatter_block(in, out[2], n, MPI_INT, MPI_SUM, comm);
  MPI_Reduce_scatter_block(MPI_IN_PLACE, out[3], n, MPI_INT, MPI_MIN, comm);
  MPI_Allgather(in, n, MPI_INT, out[4], n, strided, comm);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, out[5], n, MPI_INT, comm);
  MPI_Bcast(out[6], n, strided, root, comm);
  MPI_Reduce(in, out[7], n, MPI_INT, MPI_BXOR, root, comm);
  MPI_Gather(in, n, strided, out[8], n, MPI_INT, root, comm);
  MPI_Scatter(in, n, MPI_INT, out[9], n, strided, root, comm);
}

/* Those of MPICH 4.0 itself are not to be had: it waits for inactive ones, and fails when they are
 * freed. So there they are only planned where the library serves them, and called else. */
static int may_plan(int size) {
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
  const char* least = getenv("MULTITREE_MPI_MIN_BYTES");
  return size > 1 && least != NULL && strcmp(least, "0") == 0;
#else
  (void)size;
  return 1;
#endif
}

static void check(int good, const char* words) {
  if (good) return;
  fprintf(stderr, "rank %d: %s\n", rank, words);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Without what is not defined. */
static void print_outputs(const struct outputs* o, int root, int me) {
  const struct vectors* v = o->v;
  char name[64];
  int k;
  if (me != root) memset(o->of[7], 0, v->count * sizeof(int));
  memset(o->of[3] + v->count, 0, (v->whole - v->count) * sizeof(int));
  for (k = 0; k < kKinds; ++k) {
    sprintf(name, "persistent %d", k);
    print_digest(name, o->of[k], 2 * v->whole * sizeof(int));
  }
}

void persistent(const struct vectors* v, MPI_Datatype strided, MPI_Comm comm) {
  struct outputs o = {v, {NULL}};
  MPI_Request requests[kAll];
  MPI_Status statuses[kAll];
  int indices[kAll], me, size, k, flag, turn, root, sum, given = 7, taken = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  root = size - 1;
  for (k = 0; k < kKinds; ++k) o.of[k] = calloc(2 * v->whole + 1, sizeof(int));
  if (!may_plan(size)) {
    for (turn = 0; turn < 8; ++turn) {
      prepare(&o, root, me, turn);
      call(&o, root, strided, comm);
      print_outputs(&o, root, me);
    }
    for (k = 0; k < kKinds; ++k) free(o.of[k]);
    return;
  }
  init(&o, root, strided, comm, requests);
  MPI_Send_init(&given, 1, MPI_INT, (me + 1) % size, 3, comm, &requests[kKinds]);
  MPI_Recv_init(&taken, 1, MPI_INT, (me + size - 1) % size, 3, comm, &requests[kKinds + 1]);
  /* Nothing is active yet. */
  MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
  check(flag && requests[0] != MPI_REQUEST_NULL, "a request that was not started is not complete");
  for (turn = 0; turn < 8; ++turn) {
    prepare(&o, root, me, turn);
    taken = 0;
    if (turn % 2 == 0) {
      MPI_Startall(kKinds + 2, requests);
    } else {
      for (k = 0; k < kKinds + 2; ++k) MPI_Start(&requests[k]);
    }
    MPI_Iallreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[kKinds + 2]);
    wait_for(turn, kAll, requests, statuses, indices);
    check(taken == given, "a message did not come");
    check(sum == size * (size - 1) / 2, "the sum is wrong");
    for (k = 0; k < kKinds; ++k) {
      check(requests[k] != MPI_REQUEST_NULL, "a persistent request is gone");
    }
    print_outputs(&o, root, me);
  }
  for (k = 0; k < kKinds + 2; ++k) {
    MPI_Request_free(&requests[k]);
    check(requests[k] == MPI_REQUEST_NULL, "a request was not freed");
  }
  for (k = 0; k < kKinds; ++k) free(o.of[k]);
}
#endif
