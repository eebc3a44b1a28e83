// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gloo's all-reduce over TCP on one host: a peer of bench/one_host, built where Gloo is found. It
/// works in place, so it has no input to copy.
///
/// usage: bench_gloo_allreduce RANKS ring|ring_chunked|halving_doubling|bcube BYTES... ; rank 0
/// prints "bytes seconds", medians.
///
/// With GLOO_RANK, GLOO_FOLDER (for all ranks the same and empty) and GLOO_INTERFACE it is one rank
/// of a job that somebody else has started, on a host of its own (bench/cluster).
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/batches.hpp"
#include "bench/binding.hpp"

namespace {

using Context = std::shared_ptr<gloo::rendezvous::Context>;

Context connect(int rank, int ranks, const std::string& folder, const char* interface) {
  gloo::transport::tcp::attr address;
  if (interface != nullptr) {
    address.iface = interface;
  } else {
    address.hostname = "127.0.0.1";
  }
  auto device = gloo::transport::tcp::CreateDevice(address);
  gloo::rendezvous::FileStore store(folder);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->connectFullMesh(store, device);
  return context;
}

/// One all-reduce of `data`, in place, as often as it is called.
std::function<void()> make_run(const Context& context, const std::string& algorithm,
                               std::vector<float>& data) {
  const std::vector<float*> pointers{data.data()};
  const int count = static_cast<int>(data.size());
  std::shared_ptr<gloo::Algorithm> made;
  if (algorithm == "ring_chunked") {
    made = std::make_shared<gloo::AllreduceRingChunked<float>>(context, pointers, count);
  } else if (algorithm == "halving_doubling") {
    made = std::make_shared<gloo::AllreduceHalvingDoubling<float>>(context, pointers, count);
  } else if (algorithm != "ring" && algorithm != "bcube") {
    throw std::invalid_argument(
        "algorithm: expected ring, ring_chunked, halving_doubling or bcube, "
        "found " +
        algorithm);
  }
  if (made != nullptr) return [made] { made->run(); };
  auto options = std::make_shared<gloo::AllreduceOptions>(context);
  options->setOutput(data.data(), data.size());
  options->setAlgorithm(algorithm == "ring" ? gloo::AllreduceOptions::Algorithm::RING
                                            : gloo::AllreduceOptions::Algorithm::BCUBE);
  options->setReduceFunction(
      static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
  return [options] { gloo::allreduce(*options); };
}

void measure(const Context& context, const std::string& algorithm, std::size_t bytes) {
  std::vector<float> data(bytes / sizeof(float), 1.0F);
  const std::function<void()> run = make_run(context, algorithm, data);
  run();
  const auto sum = static_cast<float>(context->size);
  if (std::any_of(data.begin(), data.end(), [&](float value) { return value != sum; })) {
    throw std::runtime_error(algorithm + ": wrong result");
  }
  std::fill(data.begin(), data.end(), 0.0F);  // or they grow until they are infinite
  const auto barrier = [&] {
    gloo::BarrierOptions options(context);
    gloo::barrier(options);
  };
  const auto agree = [&](int value) {
    gloo::BroadcastOptions options(context);
    options.setOutput(&value, 1);
    options.setRoot(0);
    gloo::broadcast(options);
    return value;
  };
  const double seconds = bench::median_seconds(run, barrier, agree);
  if (context->rank == 0) std::printf("%zu %.9f\n", bytes, seconds);
  std::fflush(stdout);
  barrier();
}

/// `interface`: that leads to the others; null: they are on this host.
int run_rank(int rank, int ranks, const std::string& folder, const char* interface, char** argv) {
  try {
    const Context context = connect(rank, ranks, folder, interface);
    for (char** size = argv + 3; *size != nullptr; ++size) {
      measure(context, argv[2], std::strtoull(*size, nullptr, 10));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gloo_allreduce: rank %d: %s\n", rank, error.what());
    return 1;
  }
  return 0;
}

/// A process a rank.
int run_on_this_host(int ranks, char** argv) {
  std::string folder = (std::filesystem::temp_directory_path() / "gloo-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    std::perror(folder.c_str());
    return 1;
  }
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    bench::bind_rank(rank, ranks);
    std::_Exit(run_rank(rank, ranks, folder, nullptr, argv));
  }
  int code = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) code = 1;
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 3 ? std::atoi(argv[1]) : 0;
  if (ranks < 1) {
    std::fprintf(stderr, "usage: bench_gloo_allreduce RANKS ALGORITHM BYTES...\n");
    return 2;
  }
  const char *rank = std::getenv("GLOO_RANK"), *folder = std::getenv("GLOO_FOLDER");
  const char* interface = std::getenv("GLOO_INTERFACE");
  if (rank != nullptr && folder != nullptr && interface != nullptr) {
    return run_rank(std::atoi(rank), ranks, folder, interface, argv);
  }
  return run_on_this_host(ranks, argv);
}
