/* SPDX-License-Identifier: BSD-3-Clause */
/* The library in C of program.f90. Handles are Fortran's. */
#include <mpi.h>

void reduce_in_c(int comm, int element_type, const void* input, void* output, int elements);

void reduce_in_c(int comm, int element_type, const void* input, void* output, int elements) {
  MPI_Allreduce(input, output, elements, MPI_Type_f2c(element_type), MPI_SUM, MPI_Comm_f2c(comm));
}
