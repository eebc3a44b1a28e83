/* SPDX-License-Identifier: BSD-3-Clause */
/* What has a root, blocking and not, in place and not, of types with gaps as well. */
#include <stdlib.h>
#include <string.h>

#include "program.h"

void clear(const struct vectors* v) { memset(v->out, 0, 2 * v->whole * sizeof(int)); }

void show(const char* name, const struct vectors* v) {
  print_digest(name, v->out, 2 * v->whole * sizeof(int));
}

static void broadcasts(const struct vectors* v, int root, MPI_Datatype strided, MPI_Comm comm) {
  const int count = (int)v->count;
  int me;
  MPI_Request request;
  MPI_Comm_rank(comm, &me);
  clear(v);
  if (me == root) memcpy(v->out, v->in, v->count * sizeof(int));
  MPI_Bcast(v->out, count, MPI_INT, root, comm);
  show("broadcast", v);
  clear(v);
  if (me == root) memcpy(v->out, v->in, 2 * v->count * sizeof(int));
  /* Ranks whose types differ where their bytes do not. */
  if (me % 2 == 0) {
    MPI_Bcast(v->out, count, strided, root, comm);
  } else {
    MPI_Bcast(v->out, count * (int)sizeof(int), MPI_BYTE, root, comm);
  }
  show(" strided", v);
  clear(v);
  if (me == root) memcpy(v->out, v->in, 2 * v->count * sizeof(int));
  MPI_Ibcast(v->out, count, strided, root, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  show(" non-blocking", v);
}

static void reductions(const struct vectors* v, int root, MPI_Comm comm) {
  const int count = (int)v->count;
  int me;
  MPI_Request request;
  MPI_Comm_rank(comm, &me);
  clear(v);
  MPI_Reduce(v->in, me == root ? v->out : NULL, count, MPI_INT, MPI_SUM, root, comm);
  show("reduce", v);
  clear(v);
  if (me == root) memcpy(v->out, v->in, v->count * sizeof(int));
  /* In place at another root than 0, MPICH 4.0.2 copies from MPI_IN_PLACE. */
  MPI_Reduce(me == root && root == 0 ? MPI_IN_PLACE : v->in, v->out, count, MPI_INT, MPI_MAX, root,
             comm);
  if (me != root) clear(v);
  show(" in place", v);
  clear(v);
  MPI_Ireduce(v->in, v->out, count, MPI_INT, MPI_BXOR, root, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (me != root) clear(v);
  show(" non-blocking", v);
}

static void gathers(const struct vectors* v, int root, MPI_Datatype strided, MPI_Comm comm) {
  const int count = (int)v->count;
  int* const own = v->out + 2 * v->count * (size_t)root;
  MPI_Request request;
  int me;
  MPI_Comm_rank(comm, &me);
  clear(v);
  MPI_Gather(v->in, count, MPI_INT, v->out, count, MPI_INT, root, comm);
  show("gather", v);
  clear(v);
  if (me == root) memcpy(own, v->in, 2 * v->count * sizeof(int));
  MPI_Gather(me == root ? MPI_IN_PLACE : v->in, count, MPI_INT, v->out, count, strided, root, comm);
  show(" in place, strided", v);
  clear(v);
  MPI_Gather(v->in, count, strided, v->out, count, MPI_INT, root, comm);
  show(" of strided", v);
  clear(v);
  MPI_Scatter(v->in, count, MPI_INT, v->out, count, strided, root, comm);
  show("scatter", v);
  clear(v);
  MPI_Scatter(v->in, count, strided, me == root ? MPI_IN_PLACE : v->out, count, MPI_INT, root,
              comm);
  show(" in place, of strided", v);
  clear(v);
  MPI_Igather(v->in, count, strided, v->out, count, MPI_INT, root, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  show("igather", v);
  clear(v);
  MPI_Iscatter(v->in, count, MPI_INT, v->out, count, strided, root, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  show("iscatter", v);
}

/* Those without a root that return before they are done. */
static void later(const struct vectors* v, MPI_Datatype strided, MPI_Comm comm) {
  const int count = (int)v->count;
  MPI_Request request;
  clear(v);
  MPI_Iallgather(v->in, count, MPI_INT, v->out, count, strided, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  show("iallgather", v);
  clear(v);
  MPI_Ireduce_scatter_block(v->in, v->out, count, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  show("ireduce-scatter", v);
  memcpy(v->out, v->in, v->whole * sizeof(int));
  MPI_Ireduce_scatter_block(MPI_IN_PLACE, v->out, count, MPI_INT, MPI_MIN, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  print_digest(" in place", v->out, v->count * sizeof(int));
}

static void all_to_all(const struct vectors* v, MPI_Datatype strided, MPI_Comm comm) {
  const int count = (int)v->count;
  MPI_Request request;
  clear(v);
  MPI_Alltoall(v->in, count, MPI_INT, v->out, count, MPI_INT, comm);
  show("all-to-all", v);
  clear(v);
  MPI_Alltoall(v->in, count, MPI_INT, v->out, count, strided, comm);
  show(" to strided", v);
  memcpy(v->out, v->in, v->whole * sizeof(int));
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, v->out, count, MPI_INT, comm);
  show(" in place", v);
  clear(v);
  MPI_Ialltoall(v->in, count, strided, v->out, count, MPI_INT, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  show(" non-blocking", v);
}

void rooted(MPI_Comm comm, size_t count) {
  int size, me, root, turn;
  struct vectors v;
  MPI_Datatype strided, resized;
  const struct type ints = {"int", MPI_INT, 4};
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &me);
  MPI_Type_contiguous(1, MPI_INT, &strided);
  MPI_Type_create_resized(strided, 0, 2 * (MPI_Aint)sizeof(int), &resized);
  MPI_Type_commit(&resized);
  v.count = count;
  v.whole = count * (size_t)size;
  v.in = calloc(2 * v.whole + 1, sizeof(int));
  v.out = calloc(2 * v.whole + 1, sizeof(int));
  fill(v.in, &ints, 2 * v.whole, me);
  /* As many digests of every rank, however large its communicator. */
  for (turn = 0; turn < 2; ++turn) {
    root = turn == 0 ? 0 : size - 1;
    broadcasts(&v, root, resized, comm);
    reductions(&v, root, comm);
    gathers(&v, root, resized, comm);
  }
  shares(&v, resized, comm);
  persistent(&v, resized, comm);
  all_to_all(&v, resized, comm);
  later(&v, resized, comm);
  MPI_Type_free(&strided);
  MPI_Type_free(&resized);
  free(v.in);
  free(v.out);
}
