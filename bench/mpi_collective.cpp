// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A collective of MPI: the peer of bench/allreduce and bench/one_host, built once for every MPI
/// that is found.
///
/// usage: mpirun -n RANKS bench_NAME_collective COLLECTIVE BYTES... ; rank 0 prints "bytes
/// seconds", medians. Bytes are those of a whole vector: of what all-gather gives and
/// reduce-scatter takes; of all-to-all what each rank has for each, of `message` one from rank 0 to
/// 1 or back.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "bench/batches.hpp"

namespace {

struct Buffers {
  std::vector<float> in, out;
  int whole, shard;                 // elements
  std::vector<int> counts, begins;  // of shards
  int rank, calls = 0;
  MPI_Request request = MPI_REQUEST_NULL;
};

/// Ping and pong in turn, so that a call is one way.
void message(Buffers& b) {
  const int from = b.calls++ % 2;
  if (b.rank > 1) return;
  if (b.rank == from) {
    MPI_Send(b.in.data(), b.whole, MPI_FLOAT, 1 - from, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(b.out.data(), b.whole, MPI_FLOAT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

using Run = void (*)(Buffers&);

struct Named {
  const char* name;
  Run run;
  bool for_each = false;  // bytes are what a rank has for each
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
    {"message", message},
    {"alltoall",
     [](Buffers& b) {
       MPI_Alltoall(b.in.data(), b.shard, MPI_FLOAT, b.out.data(), b.shard, MPI_FLOAT,
                    MPI_COMM_WORLD);
     },
     true},
    {"alltoallv",
     [](Buffers& b) {
       MPI_Alltoallv(b.in.data(), b.counts.data(), b.begins.data(), MPI_FLOAT, b.out.data(),
                     b.counts.data(), b.begins.data(), MPI_FLOAT, MPI_COMM_WORLD);
     },
     true},
    {"allgatherv",
     [](Buffers& b) {
       MPI_Allgatherv(b.in.data(), b.shard, MPI_FLOAT, b.out.data(), b.counts.data(),
                      b.begins.data(), MPI_FLOAT, MPI_COMM_WORLD);
     }},
    {"reduce-scatterv",
     [](Buffers& b) {
       MPI_Reduce_scatter(b.in.data(), b.out.data(), b.counts.data(), MPI_FLOAT, MPI_SUM,
                          MPI_COMM_WORLD);
     }},
    {"gatherv",
     [](Buffers& b) {
       MPI_Gatherv(b.in.data(), b.shard, MPI_FLOAT, b.out.data(), b.counts.data(), b.begins.data(),
                   MPI_FLOAT, 0, MPI_COMM_WORLD);
     }},
    {"scatterv",
     [](Buffers& b) {
       MPI_Scatterv(b.in.data(), b.counts.data(), b.begins.data(), MPI_FLOAT, b.out.data(), b.shard,
                    MPI_FLOAT, 0, MPI_COMM_WORLD);
     }},
    {"ibcast",
     [](Buffers& b) {
       MPI_Ibcast(b.out.data(), b.whole, MPI_FLOAT, 0, MPI_COMM_WORLD, &b.request);
       MPI_Wait(&b.request, MPI_STATUS_IGNORE);
     }},
    {"ireduce",
     [](Buffers& b) {
       MPI_Ireduce(b.in.data(), b.out.data(), b.whole, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD,
                   &b.request);
       MPI_Wait(&b.request, MPI_STATUS_IGNORE);
     }},
    {"iallgather",
     [](Buffers& b) {
       MPI_Iallgather(b.in.data(), b.shard, MPI_FLOAT, b.out.data(), b.shard, MPI_FLOAT,
                      MPI_COMM_WORLD, &b.request);
       MPI_Wait(&b.request, MPI_STATUS_IGNORE);
     }},
    {"ireduce-scatter",
     [](Buffers& b) {
       MPI_Ireduce_scatter_block(b.in.data(), b.out.data(), b.shard, MPI_FLOAT, MPI_SUM,
                                 MPI_COMM_WORLD, &b.request);
       MPI_Wait(&b.request, MPI_STATUS_IGNORE);
     }},
    {"ialltoall",
     [](Buffers& b) {
       MPI_Ialltoall(b.in.data(), b.shard, MPI_FLOAT, b.out.data(), b.shard, MPI_FLOAT,
                     MPI_COMM_WORLD, &b.request);
       MPI_Wait(&b.request, MPI_STATUS_IGNORE);
     },
     true},
};

const Named* find(const char* name) {
  for (const Named& one : kCollectives) {
    if (std::strcmp(one.name, name) == 0) return &one;
  }
  return nullptr;
}

double measure(const Named& named, std::size_t bytes, int rank, int ranks) {
  const auto each = static_cast<int>(bytes / sizeof(float));
  const int elements = named.for_each ? each * ranks : each, shard = elements / ranks;
  Buffers buffers{.in = std::vector<float>(static_cast<std::size_t>(elements), 1.0F),
                  .out = std::vector<float>(static_cast<std::size_t>(elements)),
                  .whole = elements,
                  .shard = shard,
                  .counts = std::vector<int>(static_cast<std::size_t>(ranks), shard),
                  .begins = {},
                  .rank = rank};
  for (int r = 0; r < ranks; ++r) buffers.begins.push_back(r * shard);
  const auto agree = [](int value) {
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return value;
  };
  return bench::median_seconds([&] { named.run(buffers); }, [] { MPI_Barrier(MPI_COMM_WORLD); },
                               agree);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Named* const collective = argc > 1 ? find(argv[1]) : nullptr;
  if (collective == nullptr) {
    std::fprintf(stderr, "expected a collective, then sizes in bytes\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (int i = 2; i < argc; ++i) {
    const std::size_t bytes = std::strtoull(argv[i], nullptr, 10);
    const double seconds = measure(*collective, bytes, rank, ranks);
    if (rank == 0) std::printf("%zu %.9f\n", bytes, seconds);
  }
  MPI_Finalize();
  return 0;
}
