// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Blocking calls of the C API on one host, timed as bench/host_collective.cpp times those of C++.
///
/// usage: bench_c_collective RANKS allreduce|broadcast|reduce|message BYTES... ; rank 0 prints
/// "bytes seconds", medians. Of `message` one from rank 0 to 1 or back.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/batches.hpp"
#include "runtime/c/multitree.h"

namespace {

struct Rank {
  mtComm_t comm = nullptr;
  int me = 0;
  float *in = nullptr, *out = nullptr;
  std::size_t count = 0;  ///< elements
  int calls = 0;
};

void check(mtResult_t result) {
  if (result == mtSuccess) return;
  std::fprintf(stderr, "%s: %s\n", mtGetErrorString(result), mtGetLastError(nullptr));
  std::exit(1);
}

/// Ping and pong in turn, so that a call is one way.
void message(Rank& r) {
  const int from = r.calls++ % 2;
  if (r.me > 1) return;
  check(r.me == from ? mtSend(r.in, r.count, mtFloat, 1 - from, r.comm, nullptr)
                     : mtRecv(r.out, r.count, mtFloat, from, r.comm, nullptr));
}

struct Named {
  std::string_view name;
  void (*run)(Rank&);
};

constexpr Named kCalls[] = {
    {"allreduce",
     [](Rank& r) { check(mtAllReduce(r.in, r.out, r.count, mtFloat, mtSum, r.comm, nullptr)); }},
    {"broadcast",
     [](Rank& r) { check(mtBroadcast(r.out, r.out, r.count, mtFloat, 0, r.comm, nullptr)); }},
    {"reduce",
     [](Rank& r) { check(mtReduce(r.in, r.out, r.count, mtFloat, mtSum, 0, r.comm, nullptr)); }},
    {"message", message},
};

double measure(Rank& r, const Named& named, std::size_t bytes) {
  r.count = bytes / sizeof(float);
  std::vector<float> in(r.count, 1.0F), out(r.count);
  r.in = in.data();
  r.out = out.data();
  r.calls = 0;
  const auto agree = [&](int value) {
    check(mtBroadcast(&value, &value, 1, mtInt, 0, r.comm, nullptr));
    return value;
  };
  return bench::median_seconds([&] { named.run(r); }, [&] { check(mtBarrier(r.comm)); }, agree);
}

int run_rank(const mtUniqueId& id, int ranks, int me, const Named& named, char** sizes) {
  Rank rank;
  rank.me = me;
  check(mtCommInitRank(&rank.comm, ranks, id, me));
  for (; *sizes != nullptr; ++sizes) {
    const std::size_t bytes = std::stoull(*sizes);
    const double seconds = measure(rank, named, bytes);
    if (me == 0) std::printf("%zu %.9f\n", bytes, seconds);
  }
  check(mtCommDestroy(rank.comm));
  return 0;
}

}  // namespace

/// Rank 0 is this process: the others meet at its port.
int main(int argc, char** argv) {
  const Named* named = nullptr;
  for (const Named& one : kCalls) {
    if (argc > 2 && one.name == argv[2]) named = &one;
  }
  if (named == nullptr) {
    std::fputs("usage: bench_c_collective RANKS allreduce|broadcast|reduce|message BYTES...\n",
               stderr);
    return 2;
  }
  const int ranks = std::stoi(argv[1]);
  std::vector<int> pipes;
  for (int me = 1; me < ranks; ++me) {
    int ends[2];
    if (::pipe(ends) != 0) return 1;
    if (::fork() == 0) {
      ::close(ends[1]);
      mtUniqueId id;
      if (::read(ends[0], &id, sizeof id) != sizeof id) return 1;
      return run_rank(id, ranks, me, *named, argv + 3);
    }
    ::close(ends[0]);
    pipes.push_back(ends[1]);
  }
  mtUniqueId id;
  check(mtGetUniqueId(&id));
  for (const int end : pipes) {
    if (::write(end, &id, sizeof id) != sizeof id) return 1;
  }
  int worst = run_rank(id, ranks, 0, *named, argv + 3);
  for (int status = 0; ::wait(&status) > 0;) worst = status == 0 ? worst : 1;
  return worst;
}
