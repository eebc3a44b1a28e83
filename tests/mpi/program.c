/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * An MPI program that knows nothing of multitree: collectives of many types, operators, sizes and
 * communicators, blocking, in place and non-blocking, between messages. Rank 0 prints a digest of
 * all ranks' results a line; all results are exact, so every correct MPI prints the same.
 *
 *     program [digest]      the collectives
 *     program threads       two threads, a communicator each, with MPI_THREAD_MULTIPLE
 *     program errors        calls that MPI refuses
 *     program latency       OSU-like: microseconds of MPI_Allreduce by size
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

int rank, ranks;

static uint64_t digest_of(const void* data, size_t bytes, uint64_t digest) {
  const unsigned char* byte = data;
  size_t i;
  for (i = 0; i < bytes; ++i) digest = (digest ^ byte[i]) * 0x100000001b3ULL;
  return digest;
}

void print_digest(const char* name, const void* data, size_t bytes) {
  uint64_t mine = digest_of(data, bytes, 0xcbf29ce484222325ULL), all = mine, other;
  int r;
  if (rank != 0) {
    MPI_Send(&mine, 1, MPI_UINT64_T, 0, 99, MPI_COMM_WORLD);
    return;
  }
  for (r = 1; r < ranks; ++r) {
    MPI_Recv(&other, 1, MPI_UINT64_T, r, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    all = digest_of(&other, sizeof other, all);
  }
  printf("%s %016llx\n", name, (unsigned long long)all);
}

void fill(void* data, const struct type* type, size_t count, int seed) {
  size_t i;
  for (i = 0; i < count; ++i) {
    const int value = (int)((i * 7 + (size_t)seed * 3) % 5) - (type->name[0] == 'u' ? 0 : 2);
    if (strcmp(type->name, "float") == 0) ((float*)data)[i] = (float)value;
    if (strcmp(type->name, "double") == 0) ((double*)data)[i] = value;
    if (strcmp(type->name, "int") == 0) ((int*)data)[i] = value;
    if (strcmp(type->name, "long") == 0) ((long*)data)[i] = value;
    if (strcmp(type->name, "short") == 0) ((short*)data)[i] = (short)value;
    if (strcmp(type->name, "int8") == 0) ((int8_t*)data)[i] = (int8_t)value;
    if (strcmp(type->name, "unsigned") == 0) ((unsigned*)data)[i] = (unsigned)value + 4000000000U;
  }
}

static void add_and_keep_odd(void* in, void* out, int* count, MPI_Datatype* type) {
  int i;
  (void)type;
  for (i = 0; i < *count; ++i) ((int*)out)[i] = (((int*)in)[i] + ((int*)out)[i]) | 1;
}

static void blocking(MPI_Comm comm, const struct type* type, MPI_Op op, const char* op_name,
                     size_t count) {
  int size, me, r;
  char name[128];
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &me);
  {
    const size_t whole = count * (size_t)size;
    char* in = calloc(whole + 1, type->bytes);
    char* out = calloc(whole + 1, type->bytes);
    int* counts = malloc((size_t)size * sizeof *counts);
    fill(in, type, whole, me);
    MPI_Allreduce(in, out, (int)count, type->type, op, comm);
    sprintf(name, "allreduce %s %s %u", type->name, op_name, (unsigned)count);
    print_digest(name, out, count * type->bytes);
    memcpy(out, in, count * type->bytes);
    MPI_Allreduce(MPI_IN_PLACE, out, (int)count, type->type, op, comm);
    print_digest(" in place", out, count * type->bytes);

    MPI_Reduce_scatter_block(in, out, (int)count, type->type, op, comm);
    print_digest(" reduce-scatter", out, count * type->bytes);
    memcpy(out, in, whole * type->bytes);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, out, (int)count, type->type, op, comm);
    print_digest(" in place", out, count * type->bytes);
    for (r = 0; r < size; ++r) counts[r] = (int)count;
    memcpy(out, in, whole * type->bytes);
    MPI_Reduce_scatter(MPI_IN_PLACE, out, counts, type->type, op, comm);
    print_digest(" with counts", out, count * type->bytes);
    if (count > 0) counts[0] -= 1; /* unequal */
    MPI_Reduce_scatter(in, out, counts, type->type, op, comm);
    print_digest(" unequal", out, (size_t)counts[me] * type->bytes);

    MPI_Allgather(in, (int)count, type->type, out, (int)count, type->type, comm);
    print_digest(" allgather", out, whole * type->bytes);
    memset(out, 0, whole * type->bytes);
    memcpy(out + (size_t)me * count * type->bytes, in, count * type->bytes);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, (int)count, type->type, comm);
    print_digest(" in place", out, whole * type->bytes);
    free(in);
    free(out);
    free(counts);
  }
}

void wait_for(int way, int many, MPI_Request* requests, MPI_Status* statuses, int* indices) {
  int i, flag, which, done;
  switch (way) {
    case 0:
      for (i = many - 1; i >= 0; --i) MPI_Wait(&requests[i], &statuses[i]);
      break;
    case 1:
      MPI_Waitall(many, requests, MPI_STATUSES_IGNORE);
      break;
    case 2:
      do {
        MPI_Waitany(many, requests, &which, MPI_STATUS_IGNORE);
      } while (which != MPI_UNDEFINED);
      break;
    case 3:
      do {
        MPI_Waitsome(many, requests, &done, indices, statuses);
      } while (done != MPI_UNDEFINED);
      break;
    case 4:
      for (i = 0; i < many; ++i)
        for (flag = 0; !flag;) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
      break;
    case 5:
      for (flag = 0; !flag;) MPI_Testall(many, requests, &flag, statuses);
      break;
    case 6:
      do {
        MPI_Testany(many, requests, &which, &flag, MPI_STATUS_IGNORE);
      } while (!flag || which != MPI_UNDEFINED);
      break;
    default:
      do {
        MPI_Testsome(many, requests, &done, indices, statuses);
      } while (done != MPI_UNDEFINED);
  }
}

/* Several started together, and waited for by every function there is; with messages between them
 * that the others wait for before they start theirs. */
static void non_blocking(MPI_Comm comm) {
  enum { kCount = 50000, kMany = 6 };
  static double in[kMany][kCount], out[kMany][kCount];
  static int big[1 << 18];
  const struct type type = {"double", MPI_DOUBLE, 8};
  MPI_Request requests[kMany + 1];
  MPI_Status statuses[kMany + 1];
  int i, way, left, size, me, indices[kMany + 1];
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &me);
  for (way = 0; way < 8; ++way) {
    memset(out, 0, sizeof out);
    for (i = 0; i < kMany; ++i) {
      fill(in[i], &type, kCount, me + i);
      if (i == 2 && me > 0) {
        /* Rank 0 has to move on in a blocking call while its collectives are under way. */
        MPI_Recv(big, 1 << 18, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE);
      }
      MPI_Iallreduce(in[i], out[i], kCount, MPI_DOUBLE, i % 2 ? MPI_MAX : MPI_SUM, comm,
                     &requests[i]);
    }
    /* A message that is rendezvous for every MPI: its sender has to make progress meanwhile. */
    requests[kMany] = MPI_REQUEST_NULL;
    for (i = 1; me == 0 && i < size; ++i) MPI_Send(big, 1 << 18, MPI_INT, i, 5, comm);
    if (size > 1 && me == 0) MPI_Irecv(&left, 1, MPI_INT, size - 1, 6, comm, &requests[kMany]);
    if (size > 1 && me == size - 1) MPI_Isend(&me, 1, MPI_INT, 0, 6, comm, &requests[kMany]);
    wait_for(way, kMany + 1, requests, statuses, indices);
    for (i = 0; i <= kMany; ++i) {
      if (requests[i] != MPI_REQUEST_NULL) {
        fprintf(stderr, "rank %d: way %d left request %d\n", rank, way, i);
        MPI_Abort(MPI_COMM_WORLD, 3);
      }
    }
    print_digest("iallreduce", out, sizeof out);
  }
}

/* A blocking collective while a message that a peer needs first is under way. */
static void between_messages(void) {
  static int big[1 << 18];
  long one = rank, sum = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (ranks == 1) return;
  if (rank == 0) MPI_Isend(big, 1 << 18, MPI_INT, ranks - 1, 7, MPI_COMM_WORLD, &request);
  if (rank == ranks - 1) MPI_Recv(big, 1 << 18, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  print_digest("between messages", &sum, sizeof sum);
}

static void passed_on(void) {
  int in[3] = {1, 2, 3}, out[64 * 3], strided[2 * 64 * 4];
  struct {
    double value;
    int index;
  } where, best;
  MPI_Op op;
  MPI_Datatype every_other;
  int i;
  in[0] += rank;
  MPI_Op_create(&add_and_keep_odd, 1, &op);
  MPI_Allreduce(in, out, 3, MPI_INT, op, MPI_COMM_WORLD);
  print_digest("user operator", out, 3 * sizeof(int));
  MPI_Op_free(&op);
  MPI_Allreduce(in, out, 3, MPI_INT, MPI_BXOR, MPI_COMM_WORLD);
  print_digest("xor", out, 3 * sizeof(int));
  memset(&where, 0, sizeof where);
  memset(&best, 0, sizeof best);
  where.value = (rank * 5) % 3;
  where.index = rank;
  MPI_Allreduce(&where, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  print_digest("maxloc", &best.index, sizeof best.index);
  MPI_Type_vector(4, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  for (i = 0; i < 2 * 64 * 4; ++i) strided[i] = i + rank;
  memset(out, 0, sizeof out);
  /* Ranks whose types differ where their bytes do not. */
  if (rank % 2 == 0) {
    MPI_Allgather(strided, 1, every_other, out, 4, MPI_INT, MPI_COMM_WORLD);
    print_digest("strided allgather", out, (size_t)ranks * 4 * sizeof(int));
  } else {
    int packed[4];
    for (i = 0; i < 4; ++i) packed[i] = strided[2 * i];
    MPI_Allgather(packed, 4, MPI_INT, strided, 1, every_other, MPI_COMM_WORLD);
    print_digest("strided allgather", strided, 4 * sizeof(int));
  }
  MPI_Type_free(&every_other);
}

/* Types of absolute addresses, at MPI_BOTTOM. */
static void absolute(size_t count) {
  const size_t whole = count * (size_t)ranks;
  int* in = calloc(count, sizeof *in);
  int* out = calloc(whole, sizeof *out);
  int length = (int)count;
  size_t i;
  MPI_Aint from, to;
  MPI_Datatype from_type, to_type;
  for (i = 0; i < count; ++i) in[i] = (int)i + rank;
  MPI_Get_address(in, &from);
  MPI_Get_address(out, &to);
  MPI_Type_create_hindexed(1, &length, &from, MPI_INT, &from_type);
  MPI_Type_create_hindexed(1, &length, &to, MPI_INT, &to_type);
  MPI_Type_commit(&from_type);
  MPI_Type_commit(&to_type);
  MPI_Allgather(MPI_BOTTOM, 1, from_type, out, length, MPI_INT, MPI_COMM_WORLD);
  print_digest("allgather from absolute addresses", out, whole * sizeof *out);
  memset(out, 0, whole * sizeof *out);
  MPI_Allgather(in, length, MPI_INT, MPI_BOTTOM, 1, to_type, MPI_COMM_WORLD);
  print_digest("allgather to absolute addresses", out, whole * sizeof *out);
  memset(out, 0, whole * sizeof *out);
  memcpy(out + (size_t)rank * count, in, count * sizeof *in);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, MPI_BOTTOM, 1, to_type, MPI_COMM_WORLD);
  print_digest(" in place", out, whole * sizeof *out);
  MPI_Type_free(&from_type);
  MPI_Type_free(&to_type);
  free(in);
  free(out);
}

/* Calls that MPI refuses, on a communicator whose errors are returned: all classes are printed. */
static void errors(void) {
  enum { kCount = 70000 };
  static char in[kCount], out[64 * kCount];
  MPI_Comm copy;
  MPI_Datatype uncommitted;
  int i, class_of[4];
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  MPI_Type_vector(kCount / 2, 1, 2, MPI_CHAR, &uncommitted);
  class_of[0] = MPI_Allgather(in, kCount, MPI_CHAR, out, kCount, MPI_DATATYPE_NULL, copy);
  class_of[1] = MPI_Allgather(in, kCount, MPI_DATATYPE_NULL, out, kCount, MPI_CHAR, copy);
  class_of[2] = MPI_Allgather(in, 1, uncommitted, out, kCount / 2, MPI_CHAR, copy);
  class_of[3] = MPI_Allreduce(in, out, kCount, MPI_CHAR, MPI_OP_NULL, copy);
  for (i = 0; i < 4; ++i) MPI_Error_class(class_of[i], &class_of[i]);
  if (rank == 0) {
    printf("null types: %s, %s\n", class_of[0] == MPI_ERR_TYPE ? "MPI_ERR_TYPE" : "another",
           class_of[1] == MPI_ERR_TYPE ? "MPI_ERR_TYPE" : "another");
    printf("uncommitted type: %s\n", class_of[2] == MPI_ERR_TYPE ? "MPI_ERR_TYPE" : "another");
    printf("null operator: %s\n", class_of[3] == MPI_ERR_OP ? "MPI_ERR_OP" : "another");
  }
  MPI_Type_free(&uncommitted);
  MPI_Comm_free(&copy);
}

struct of_thread {
  MPI_Comm comm;
  double in[5000], out[5000], later[5000];
};

static void* run_thread(void* argument) {
  struct of_thread* own = argument;
  MPI_Request request;
  int turn, i;
  for (turn = 0; turn < 50; ++turn) {
    for (i = 0; i < 5000; ++i) own->in[i] = rank + turn + i % 10;
    MPI_Allreduce(own->in, own->out, 5000, MPI_DOUBLE, MPI_SUM, own->comm);
    MPI_Iallreduce(own->in, own->later, 5000, MPI_DOUBLE, MPI_MAX, own->comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return NULL;
}

static void threads(void) {
  static struct of_thread own[2];
  pthread_t thread;
  int i;
  for (i = 0; i < 2; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &own[i].comm);
  if (pthread_create(&thread, NULL, &run_thread, &own[0]) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
  run_thread(&own[1]);
  pthread_join(thread, NULL);
  for (i = 0; i < 2; ++i) {
    print_digest("thread: sums", own[i].out, sizeof own[i].out);
    print_digest("thread: maxima", own[i].later, sizeof own[i].later);
    MPI_Comm_free(&own[i].comm);
  }
}

static void latency(void) {
  size_t count;
  for (count = 2; count <= 1 << 20; count *= 4) {
    float* in = calloc(count, sizeof *in);
    float* out = calloc(count, sizeof *out);
    const int turns = count < 10000 ? 500 : 30;
    double start = 0;
    int i;
    for (i = -5; i < turns; ++i) {
      if (i == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
      }
      MPI_Allreduce(in, out, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0) {
      printf("%10u %12.2f\n", (unsigned)(count * sizeof *in), (MPI_Wtime() - start) / turns * 1e6);
    }
    free(in);
    free(out);
  }
}

int main(int argc, char** argv) {
  const struct type types[] = {{"float", MPI_FLOAT, 4},      {"double", MPI_DOUBLE, 8},
                               {"int", MPI_INT, 4},          {"long", MPI_LONG, 8},
                               {"short", MPI_SHORT, 2},      {"int8", MPI_INT8_T, 1},
                               {"unsigned", MPI_UNSIGNED, 4}};
  const size_t counts[] = {0, 1, 13, 20000};
  MPI_Comm half, copy;
  size_t t, c;
  int level = MPI_THREAD_SINGLE;
  const char* mode = argc > 1 ? argv[1] : "digest";
  if (strcmp(mode, "threads") == 0) {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  } else {
    MPI_Init(&argc, &argv);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(mode, "digest") != 0) {
    if (strcmp(mode, "latency") == 0) latency();
    if (strcmp(mode, "errors") == 0) errors();
    if (level == MPI_THREAD_MULTIPLE) threads();
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (t = 0; t < sizeof types / sizeof *types; ++t) {
    for (c = 0; c < sizeof counts / sizeof *counts; ++c) {
      blocking(MPI_COMM_WORLD, &types[t], MPI_SUM, "sum", counts[c]);
      blocking(half, &types[t], MPI_MAX, "max", counts[c]);
      blocking(MPI_COMM_SELF, &types[t], MPI_PROD, "product", counts[c]);
    }
  }
  between_messages();
  passed_on();
  absolute(10);
  absolute(20000);
  non_blocking(MPI_COMM_WORLD);
  for (c = 0; c < sizeof counts / sizeof *counts; ++c) {
    operators(counts[c]);
    rooted(MPI_COMM_WORLD, counts[c]);
    rooted(half, counts[c]);
  }
  non_blocking(copy); /* no blocking collective on it before */
  MPI_Comm_free(&copy);
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
