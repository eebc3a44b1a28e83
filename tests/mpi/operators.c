/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators of integers, of complex numbers and of bool. */
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "program.h"

struct op {
  const char* name;
  MPI_Op op;
};

static void reduce_all(const struct type* type, const struct op* op, const void* in, void* out,
                       size_t count) {
  char name[64];
  sprintf(name, "%s %s", type->name, op->name);
  MPI_Allreduce(in, out, (int)count, type->type, op->op, MPI_COMM_WORLD);
  print_digest(name, out, count * type->bytes);
}

void operators(size_t count) {
  const struct type integers[] = {
      {"int8", MPI_INT8_T, 1},     {"uint8", MPI_UNSIGNED_CHAR, 1},
      {"int16", MPI_SHORT, 2},     {"uint16", MPI_UNSIGNED_SHORT, 2},
      {"int32", MPI_INT, 4},       {"uint32", MPI_UNSIGNED, 4},
      {"int64", MPI_LONG_LONG, 8}, {"uint64", MPI_UNSIGNED_LONG_LONG, 8}};
  /* Sums and products are in blocking(), small: what overflows Open MPI 4.1 may saturate. */
  const struct op of_integers[] = {{"land", MPI_LAND}, {"lor", MPI_LOR}, {"lxor", MPI_LXOR},
                                   {"band", MPI_BAND}, {"bor", MPI_BOR}, {"bxor", MPI_BXOR},
                                   {"min", MPI_MIN},   {"max", MPI_MAX}};
  const struct op sum = {"sum", MPI_SUM};
  const struct type bytes = {"byte", MPI_BYTE, 1}, bools = {"bool", MPI_C_BOOL, sizeof(bool)};
  const struct type small = {"float complex", MPI_C_FLOAT_COMPLEX, sizeof(float complex)};
  const struct type large = {"double complex", MPI_C_DOUBLE_COMPLEX, sizeof(double complex)};
  /* Bit patterns, a third of them zeros; of all widths without a sign, as MPICH 4.0.2 orders
   * unsigned numbers as if they had one. */
  uint64_t* const in = calloc(count + 1, sizeof *in);
  uint64_t* const out = calloc(2 * (count + 1), sizeof *out);
  bool* const truths = calloc(count + 1, sizeof *truths);
  float complex* const singles = calloc(count + 1, sizeof *singles);
  double complex* const doubles = calloc(count + 1, sizeof *doubles);
  size_t i, t, o;
  for (i = 0; i < count; ++i) {
    const uint64_t hash = (i + 1 + (size_t)rank * 977) * 0x9e3779b97f4a7c15ULL;
    in[i] = hash % 3 == 0 ? 0 : hash & 0x7f7f7f7f7f7f7f7fULL;
    truths[i] = hash % 5 < 3;
    singles[i] = (float)(hash % 7) + (float)(hash % 11) * I;
    doubles[i] = (double)(hash % 7) - (double)(hash % 11) * I;
  }
  for (t = 0; t < sizeof integers / sizeof *integers; ++t)
    for (o = 0; o < sizeof of_integers / sizeof *of_integers; ++o)
      reduce_all(&integers[t], &of_integers[o], in, out, count);
  for (o = 3; o < 6; ++o) reduce_all(&bytes, &of_integers[o], in, out, count);
  for (o = 0; o < 3; ++o) reduce_all(&bools, &of_integers[o], truths, out, count);
  reduce_all(&small, &sum, singles, out, count);
  reduce_all(&large, &sum, doubles, out, count);
  free(in);
  free(out);
  free(truths);
  free(singles);
  free(doubles);
}
