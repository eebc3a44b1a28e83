// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A collective of MPI: the peer of bench/allreduce and bench/one_host, built once for every MPI
/// that is found.
///
/// usage: mpirun -n RANKS bench_NAME_collective COLLECTIVE BYTES... ; rank 0 prints "bytes
/// seconds", medians. Bytes are those of a whole vector: of what all-gather gives and
/// reduce-scatter takes.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "bench/batches.hpp"

namespace {

struct Buffers {
  std::vector<float> in, out;
  int whole, shard;  // elements
};

using Run = void (*)(Buffers&);

struct Named {
  const char* name;
  Run run;
};

constexpr Named kCollectives[] = {
    {"allreduce",
     [](Buffers& b) {
       MPI_Allreduce(b.in.data(), b.out.data(), b.whole, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
     }},
    {"reduce-scatter",
     [](Buffers& b) {
       MPI_Reduce_scatter_block(b.in.data(), b.out.data(), b.shard, MPI_FLOAT, MPI_SUM,
                                MPI_COMM_WORLD);
     }},
    {"allgather",
     [](Buffers& b) {
       MPI_Allgather(b.in.data(), b.shard, MPI_FLOAT, b.out.data(), b.shard, MPI_FLOAT,
                     MPI_COMM_WORLD);
     }},
    {"broadcast",
     [](Buffers& b) { MPI_Bcast(b.out.data(), b.whole, MPI_FLOAT, 0, MPI_COMM_WORLD); }},
    {"reduce",
     [](Buffers& b) {
       MPI_Reduce(b.in.data(), b.out.data(), b.whole, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
     }},
    {"gather",
     [](Buffers& b) {
       MPI_Gather(b.in.data(), b.shard, MPI_FLOAT, b.out.data(), b.shard, MPI_FLOAT, 0,
                  MPI_COMM_WORLD);
     }},
    {"scatter",
     [](Buffers& b) {
       MPI_Scatter(b.in.data(), b.shard, MPI_FLOAT, b.out.data(), b.shard, MPI_FLOAT, 0,
                   MPI_COMM_WORLD);
     }},
};

Run find(const char* name) {
  for (const Named& one : kCollectives) {
    if (std::strcmp(one.name, name) == 0) return one.run;
  }
  return nullptr;
}

double measure(Run collective, std::size_t bytes, int ranks) {
  const auto elements = static_cast<int>(bytes / sizeof(float));
  Buffers buffers{std::vector<float>(static_cast<std::size_t>(elements), 1.0F),
                  std::vector<float>(static_cast<std::size_t>(elements)), elements,
                  elements / ranks};
  const auto agree = [](int value) {
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return value;
  };
  return bench::median_seconds([&] { collective(buffers); }, [] { MPI_Barrier(MPI_COMM_WORLD); },
                               agree);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Run collective = argc > 1 ? find(argv[1]) : nullptr;
  if (collective == nullptr) {
    std::fprintf(stderr, "expected a collective, then sizes in bytes\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (int i = 2; i < argc; ++i) {
    const std::size_t bytes = std::strtoull(argv[i], nullptr, 10);
    const double seconds = measure(collective, bytes, ranks);
    if (rank == 0) std::printf("%zu %.9f\n", bytes, seconds);
  }
  MPI_Finalize();
  return 0;
}
