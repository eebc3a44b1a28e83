/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts that differ, and places with gaps, of types with gaps as well: those that all ranks know,
 * and those of which each rank knows its own. */
#include <stdlib.h>
#include <string.h>

#include "program.h"

/* Counts that differ, zero among them, and places with gaps, last rank first. */
static void of_all(const struct vectors* v, MPI_Datatype strided, MPI_Comm comm) {
  const int most = (int)v->count;
  int me, size;
  MPI_Request request;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  int* const counts = malloc(2 * (size_t)size * sizeof(int));
  int* const places = counts + size;
  for (int r = 0; r < size; ++r) {
    counts[r] = r % 3 == 1 ? 0 : most - r % 2 * (most / 2);
    places[r] = (size - 1 - r) * most;
  }
  clear(v);
  MPI_Allgatherv(v->in, counts[me], MPI_INT, v->out, counts, places, MPI_INT, comm);
  show("allgatherv", v);
  clear(v);
  MPI_Allgatherv(v->in, counts[me], MPI_INT, v->out, counts, places, strided, comm);
  show(" to strided", v);
  clear(v);
  memcpy(v->out + places[me], v->in, (size_t)counts[me] * sizeof(int));
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, v->out, counts, places, MPI_INT, comm);
  show(" in place", v);
  clear(v);
  MPI_Reduce_scatter(v->in, v->out, counts, MPI_INT, MPI_SUM, comm);
  show("reduce-scatter of uneven shares", v);
  clear(v);
  memcpy(v->out, v->in, v->whole * sizeof(int));
  MPI_Reduce_scatter(MPI_IN_PLACE, v->out, counts, MPI_INT, MPI_MAX, comm);
  memset(v->out + counts[me], 0, (2 * v->whole - (size_t)counts[me]) * sizeof(int));
  show(" in place", v);
  clear(v);
  MPI_Iallgatherv(v->in, counts[me], MPI_INT, v->out, counts, places, strided, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  show("iallgatherv", v);
  clear(v);
  MPI_Ireduce_scatter(v->in, v->out, counts, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  show("ireduce-scatter of uneven shares", v);
  for (int r = 0; r < size; ++r) counts[r] = most;
  clear(v);
  MPI_Ireduce_scatter(v->in, v->out, counts, MPI_INT, MPI_BOR, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  show("ireduce-scatter", v);
  free(counts);
}

/* What `from` has for `to`: none, few or all of `most`. */
static int between(int from, int to, int most) {
  static const int kThirds[] = {3, 0, 1, 2};
  return most * kThirds[(from * 3 + to) % 4] / 3;
}

static void all_to_all_v(const struct vectors* v, MPI_Datatype strided, MPI_Comm comm) {
  const int most = (int)v->count;
  int me, size;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  int* const sent = malloc(3 * (size_t)size * sizeof(int));
  int* const received = sent + size;
  int* const places = received + size;
  for (int r = 0; r < size; ++r) {
    sent[r] = between(me, r, most);
    received[r] = between(r, me, most);
    places[r] = (size - 1 - r) * most;
  }
  clear(v);
  MPI_Alltoallv(v->in, sent, places, MPI_INT, v->out, received, places, MPI_INT, comm);
  show("alltoallv", v);
  clear(v);
  MPI_Alltoallv(v->in, sent, places, strided, v->out, received, places, MPI_INT, comm);
  show(" of strided", v);
  clear(v);
  MPI_Alltoallv(v->in, sent, places, MPI_INT, v->out, received, places, strided, comm);
  show(" to strided", v);
  /* Both in one buffer: the first ints of each place are sent, and what follows is received. */
  for (int r = 0; r < size; ++r) {
    sent[r] = between(me, r, most / 2);
    received[r] = between(r, me, most / 2);
  }
  clear(v);
  memcpy(v->out, v->in, v->whole * sizeof(int));
  MPI_Alltoallv(v->out, sent, places, MPI_INT, v->out + most / 2, received, places, MPI_INT, comm);
  show(" in one buffer", v);
  free(sent);
}

static void from_and_to(const struct vectors* v, int root, MPI_Datatype strided, MPI_Comm comm) {
  const int most = (int)v->count;
  int me, size;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  int* const counts = malloc(2 * (size_t)size * sizeof(int));
  int* const places = counts + size;
  for (int r = 0; r < size; ++r) {
    counts[r] = between(r, root, most);
    places[r] = (size - 1 - r) * most;
  }
  const int own = counts[me], here = me == root;
  clear(v);
  MPI_Gatherv(v->in, own, MPI_INT, v->out, here ? counts : NULL, here ? places : NULL, strided,
              root, comm);
  show("gatherv", v);
  clear(v);
  if (here) memcpy(v->out + places[me], v->in, (size_t)own * sizeof(int));
  MPI_Gatherv(here ? MPI_IN_PLACE : v->in, own, MPI_INT, v->out, counts, places, MPI_INT, root,
              comm);
  show(" in place", v);
  clear(v);
  MPI_Scatterv(here ? v->in : NULL, counts, places, MPI_INT, v->out, own, strided, root, comm);
  show("scatterv", v);
  clear(v);
  MPI_Scatterv(v->in, counts, places, strided, here ? MPI_IN_PLACE : v->out, own, MPI_INT, root,
               comm);
  show(" in place", v);
  free(counts);
}

void shares(const struct vectors* v, MPI_Datatype strided, MPI_Comm comm) {
  int size;
  MPI_Comm_size(comm, &size);
  of_all(v, strided, comm);
  all_to_all_v(v, strided, comm);
  from_and_to(v, 0, strided, comm);
  from_and_to(v, size - 1, strided, comm);
}
