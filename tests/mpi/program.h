/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the MPI program share. */
#ifndef MULTITREE_TESTS_MPI_PROGRAM_H_
#define MULTITREE_TESTS_MPI_PROGRAM_H_

#include <mpi.h>
#include <stddef.h>

extern int rank, ranks; /* of the world */

struct type {
  const char* name;
  MPI_Datatype type;
  size_t bytes;
};

/* Rank 0 prints a digest of all ranks' `data`, in their order; through messages alone. */
void print_digest(const char* name, const void* data, size_t bytes);
/* Small whole numbers: exact in every type, in any order. */
void fill(void* data, const struct type* type, size_t count, int seed);

/* A vector for each rank; types with gaps are of every second int. */
struct vectors {
  int *in, *out;
  size_t count, whole; /* ints of a rank, of all */
};
void clear(const struct vectors* v);
void show(const char* name, const struct vectors* v);
/* Waits for all `many` of them, in one of eight ways. */
void wait_for(int way, int many, MPI_Request* requests, MPI_Status* statuses, int* indices);

/* shares.c: counts by rank. */
void shares(const struct vectors* v, MPI_Datatype strided, MPI_Comm comm);
/* persistent.c: what is started again and again, where this MPI has it. */
void persistent(const struct vectors* v, MPI_Datatype strided, MPI_Comm comm);
/* rooted.c: what has a root, blocking and not, of all kinds of types. */
void rooted(MPI_Comm comm, size_t count);
/* operators.c: operators of integers, of complex numbers and bool. */
void operators(size_t count);

#endif
