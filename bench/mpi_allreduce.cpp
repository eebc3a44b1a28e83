// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// MPI_Allreduce, measured as `multitree run` measures: the peer of bench/allreduce.
///
/// usage: mpirun -n RANKS bench_mpi_allreduce SIZE... ; rank 0 prints "size seconds", medians of
/// five batches.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <vector>

#include "topologies/units.hpp"

namespace {

double median_seconds(const std::vector<float>& in, std::vector<float>& out, int iterations) {
  std::vector<double> batches;
  const int count = static_cast<int>(in.size());
  for (int batch = 0; batch < 6; ++batch) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < iterations; ++i) {
      MPI_Allreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (batch > 0) batches.push_back((MPI_Wtime() - start) / iterations);
  }
  std::ranges::sort(batches);
  return batches[batches.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 1; i < argc; ++i) {
    const std::uint64_t bytes = multitree::parse_bytes(argv[i]);
    const std::vector<float> in(bytes / sizeof(float), 1.0F);
    std::vector<float> out(in.size());
    const double seconds = median_seconds(in, out, bytes > (1 << 20) ? 3 : 50);
    if (rank == 0) fmt::print("{} {:.9f}\n", bytes, seconds);
  }
  MPI_Finalize();
  return 0;
}
