// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// MPI_Allreduce: the peer of bench/allreduce, built once for every MPI that is found.
///
/// usage: mpirun -n RANKS bench_NAME_allreduce BYTES... ; rank 0 prints "bytes seconds", medians.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/batches.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 1; i < argc; ++i) {
    const std::size_t bytes = std::strtoull(argv[i], nullptr, 10);
    const std::vector<float> in(bytes / sizeof(float), 1.0F);
    std::vector<float> out(in.size());
    const auto run = [&] {
      MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
    };
    const auto agree = [](int value) {
      MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
      return value;
    };
    const double seconds = bench::median_seconds(
        run, [] { MPI_Barrier(MPI_COMM_WORLD); }, agree);
    if (rank == 0) std::printf("%zu %.9f\n", bytes, seconds);
  }
  MPI_Finalize();
  return 0;
}
