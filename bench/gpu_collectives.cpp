// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which GPU of this host maps which, and what collectives between them take. A process for each
/// GPU, or RANKS of them, which share GPUs where there are fewer.
///
///     bench_gpu_collectives [RANKS [BYTES]]
///     bench_gpu_collectives kernel [RANKS [BYTES [SEGMENT]]]
///
/// As many ranks as GPUs, but two at least; up to 64 MiB. With `kernel` ranks are threads that
/// share the first GPU, each as if it had one of its own: a collective is one kernel of each, and
/// memory is the only link.
///
/// A time is the median of kRuns runs of kRepeats calls in the order of one stream, by the clock of
/// rank 0, divided by kRepeats. Bytes are those of the whole vector. Every result is checked.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "algorithms/registry.hpp"
#include "runtime/communicator.hpp"
#include "runtime/device/device.hpp"
#include "runtime/job/bootstrap.hpp"
#include "runtime/job/launcher.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRuns = 7;
constexpr int kRepeats = 10;
constexpr std::array kCollectives{Collective::AllReduce, Collective::ReduceScatter,
                                  Collective::AllGather, Collective::Broadcast, Collective::Reduce};

/// Device memory and pinned memory of the same size.
class Memory {
 public:
  Memory(const device::Device& device, std::size_t bytes)
      : device_(device),
        on_device_(static_cast<std::byte*>(device.allocate(bytes))),
        pinned_(static_cast<std::byte*>(device.allocate_pinned(bytes))) {}
  ~Memory() {
    device_.free(on_device_);
    device_.free_pinned(pinned_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] std::byte* data() const { return on_device_; }
  [[nodiscard]] std::byte* pinned() const { return pinned_; }

 private:
  const device::Device& device_;
  std::byte* on_device_;
  std::byte* pinned_;
};

/// One rank's part of the measurement.
class RankBench {
 public:
  RankBench(Communicator& communicator, std::shared_ptr<const device::Device> device)
      : communicator_(communicator),
        device_(std::move(device)),
        stream_(device_->create_stream(false)),
        event_(device_->create_event()) {}
  ~RankBench() {
    device_->destroy_event(event_);
    device_->destroy_stream(stream_);
  }
  RankBench(const RankBench&) = delete;
  RankBench& operator=(const RankBench&) = delete;

  /// Microseconds of one call. \throws std::runtime_error if a result is wrong.
  double measure(Collective collective, std::size_t bytes) {
    const Memory send(*device_, bytes), recv(*device_, bytes);
    communicator_.barrier();  // nobody allocates while a stream is held for a collective
    Call call{collective, send.data(), recv.data(), bytes / 4, DataType::Float32};
    if (is_sharded(collective)) call.count /= communicator_.size();
    check(call, send, recv);
    std::vector<double> times;
    for (int run = 0; run < kRuns; ++run) {
      communicator_.barrier();
      const auto begin = Clock::now();
      for (int repeat = 0; repeat < kRepeats; ++repeat) communicator_.start(call, Stream{stream_});
      finish();
      const std::chrono::duration<double, std::micro> time = Clock::now() - begin;
      times.push_back(time.count() / kRepeats);
    }
    communicator_.barrier();
    std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
    return times[kRuns / 2];
  }

 private:
  void finish() {
    device_->record(event_, stream_);
    const auto until = Clock::now() + std::chrono::seconds(60);
    while (!device_->query(event_)) {
      if (Clock::now() > until) throw std::runtime_error("the stream did not end within 60 s");
    }
  }

  /// Each rank puts in its number and one.
  void check(const Call& call, const Memory& send, const Memory& recv) {
    const std::uint32_t ranks = communicator_.size(), self = index(communicator_.rank());
    const std::size_t sent = call.count * shards_sent(call.collective, ranks);
    const std::size_t received = call.count * shards_received(call.collective, ranks);
    auto* const in = reinterpret_cast<float*>(send.pinned());
    std::fill_n(in, sent, static_cast<float>(self + 1));
    device_->copy(send.data(), send.pinned(), sent * 4, stream_);
    finish();
    // Without a stream: memory is set aside by calls that hold none.
    communicator_.start(call).wait();
    device_->copy(recv.pinned(), recv.data(), received * 4, stream_);
    finish();
    if (!receives(call.collective, Rank{self}, Rank{0})) return;
    const auto* const out = reinterpret_cast<const float*>(recv.pinned());
    for (std::size_t i = 0; i < received; ++i) {
      const auto source = sends_shard(call.collective) ? i / call.count : 0;
      const std::size_t sum = std::size_t{ranks} * (ranks + 1) / 2;
      const auto want = static_cast<float>(reduces(call.collective) ? sum : source + 1);
      if (out[i] == want) continue;
      throw std::runtime_error(fmt::format("rank {}: {} of {} elements: element {} is {}, not {}",
                                           self, to_string(call.collective), call.count, i, out[i],
                                           want));
    }
  }

  Communicator& communicator_;
  std::shared_ptr<const device::Device> device_;
  device::Stream stream_;
  device::Event event_;
};

void print_mappings(Bootstrap& bootstrap, const std::string& mine) {
  const Gathered all = bootstrap.all_gather(mine, Deadline(60'000));
  if (bootstrap.seat() != Seat{0}) return;
  fmt::print("| rank | device, and how the others' messages come |\n|---|---|\n");
  for (std::size_t r = 0; r < all.size(); ++r) fmt::print("| {} | {} |\n", r, all[r]);
  fmt::print("\n| bytes |");
  for (const Collective collective : kCollectives) fmt::print(" {}, us |", to_string(collective));
  fmt::print(" allreduce, GB/s |\n|---|---|---|---|---|---|---|\n");
}

void run_rank(const std::shared_ptr<Bootstrap>& bootstrap, const CommunicatorOptions& options,
              std::size_t most_bytes) {
  const std::uint32_t ranks = bootstrap->size();
  const Topology topology = make_topology(fmt::format("full:{}", ranks));
  std::vector<Schedule> schedules;
  for (const Collective collective : kCollectives) {
    schedules.push_back(make_schedule("multitree", topology, collective));
  }
  Communicator communicator(bootstrap, std::move(schedules), options);
  print_mappings(*bootstrap, communicator.describe());
  RankBench bench(communicator, options.device);
  // Whole elements of whole shards.
  for (std::size_t bytes = 4 * std::size_t{ranks}; bytes <= most_bytes; bytes *= 8) {
    std::string row = fmt::format("| {} |", bytes);
    double all_reduce = 0;
    for (const Collective collective : kCollectives) {
      const double time = bench.measure(collective, bytes);
      if (collective == Collective::AllReduce) all_reduce = time;
      row += fmt::format(" {:.1f} |", time);
    }
    if (bootstrap->seat() != Seat{0}) continue;
    fmt::print("{} {:.2f} |\n", row, static_cast<double>(bytes) / all_reduce / 1e3);
  }
}

void run_process(std::size_t most_bytes) {
  const auto bootstrap = make_bootstrap();
  std::string why;
  const auto devices = static_cast<std::uint32_t>(device::cuda_devices(why).size());
  if (devices == 0) throw std::runtime_error(why);
  CommunicatorOptions options;
  options.device =
      device::open_cuda(static_cast<std::int32_t>(index(bootstrap->seat()) % devices), why);
  if (options.device == nullptr) throw std::runtime_error(why);
  run_rank(bootstrap, options, most_bytes);
}

/// The first GPU, which says that it is rank `rank`'s alone. Kernels of all ranks run at the same
/// time, or they would wait for each other forever.
std::shared_ptr<const device::Device> part_of_gpu(std::uint32_t rank, std::uint32_t ranks) {
  constexpr std::uint32_t kMultiprocessors = 128;
  std::string why;
  static const auto* const gpu =  // outlives the threads
      new std::shared_ptr<const device::Device>(device::open_cuda(0, why));
  if (*gpu == nullptr) throw std::runtime_error(why);
  device::Table table = (*gpu)->table();
  table.close = nullptr;
  table.walk_blocks = std::min(table.walk_blocks, kMultiprocessors / ranks);
  fmt::format_to_n(table.identity.unit.data(), table.identity.unit.size() - 1, "part {}", rank);
  table.can_map = [](void*, const device::Identity*) { return true; };
  return std::make_shared<const device::Device>(table);
}

int run_threads(std::uint32_t ranks, std::size_t most_bytes, std::size_t segment_bytes) {
  if (ranks == 0) ranks = 2;
  auto bootstraps = make_in_process_bootstraps(ranks);
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        CommunicatorOptions options{.transport = "loopback"};
        options.device = part_of_gpu(r, ranks);
        if (segment_bytes != 0) options.kernel_segment_bytes = segment_bytes;
        run_rank(bootstraps[r], options, most_bytes);
      } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        bootstraps[r]->report_failure(error.what());
        ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failed == 0 ? 0 : 1;
}

int launch(std::uint32_t ranks, std::size_t most_bytes) {
  std::string why;
  const std::vector<std::string> devices = device::cuda_devices(why);
  if (devices.empty()) {
    fmt::print("no GPU: skipped ({})\n", why);
    return 0;
  }
  for (std::size_t d = 0; d < devices.size(); ++d) fmt::print("device {}: {}\n", d, devices[d]);
  const std::uint32_t wanted =
      ranks != 0 ? ranks : std::max(2U, static_cast<std::uint32_t>(devices.size()));
  fmt::print("{} ranks\n\n", wanted);
  std::fflush(stdout);
  return launch_local(wanted, {"bench_gpu_collectives", "rank", std::to_string(most_bytes)});
}

}  // namespace
}  // namespace multitree::runtime

int main(int argc, char** argv) {
  using namespace multitree::runtime;
  const auto number = [&](int at, std::size_t otherwise) {
    return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise;
  };
  constexpr std::size_t kMost = 64U << 20;
  try {
    if (argc > 1 && std::string_view(argv[1]) == "rank") {
      run_process(number(2, kMost));
      return 0;
    }
    if (argc > 1 && std::string_view(argv[1]) == "kernel") {
      // A queue for each stream: kernels wait for each other.
      ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
      return run_threads(static_cast<std::uint32_t>(number(2, 0)), number(3, kMost), number(4, 0));
    }
    return launch(static_cast<std::uint32_t>(number(1, 0)), number(2, kMost));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
