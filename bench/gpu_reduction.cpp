// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bandwidth of the reduction kernels over that of a copy within the device, in one run.
///
///     bench_gpu_reduction [MEBIBYTES]     of one input; 1024 by default
///
/// Bytes: an input read and the result written once each, so k + 1 vectors for k inputs and 2 for
/// the copy. Medians of kRuns runs, each timed by the host over kRepeats launches in a row:
/// hundreds of microseconds each, which hides the launch.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/device/device.hpp"

namespace multitree::runtime {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRuns = 7;
constexpr int kRepeats = 10;

/// A device, a stream and an event to wait for its end.
class Bench {
 public:
  explicit Bench(std::shared_ptr<const device::Device> device)
      : device_(std::move(device)),
        stream_(device_->create_stream(false)),
        event_(device_->create_event()) {}
  ~Bench() {
    device_->destroy_event(event_);
    device_->destroy_stream(stream_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  [[nodiscard]] const device::Device& device() const { return *device_; }
  [[nodiscard]] device::Stream stream() const { return stream_; }

  void finish() const {
    device_->record(event_, stream_);
    const auto until = Clock::now() + std::chrono::seconds(60);
    while (!device_->query(event_)) {
      if (Clock::now() > until) throw std::runtime_error("the device did not finish within 60 s");
    }
  }

  /// Median seconds of one `work`.
  [[nodiscard]] double seconds(const std::function<void()>& work) const {
    work();
    finish();
    std::vector<double> times;
    for (int run = 0; run < kRuns; ++run) {
      const auto begin = Clock::now();
      for (int repeat = 0; repeat < kRepeats; ++repeat) work();
      finish();
      times.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / kRepeats);
    }
    std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
    return times[kRuns / 2];
  }

 private:
  std::shared_ptr<const device::Device> device_;
  device::Stream stream_;
  device::Event event_;
};

void print_table(const Bench& bench, std::size_t bytes) {
  const device::Device& device = bench.device();
  std::vector<void*> vectors;
  for (std::uint32_t k = 0; k < device::kMaxInputs + 1; ++k)
    vectors.push_back(device.allocate(bytes));
  const double copy = 2.0 * static_cast<double>(bytes) / bench.seconds([&] {
    device.copy(vectors[0], vectors[1], bytes, bench.stream());
  });
  fmt::print("device: {}\n", device.table().description);
  fmt::print("vectors of {} MiB; copy within the device: {:.0f} GB/s\n\n", bytes >> 20, copy / 1e9);
  fmt::print("| type | op |");
  for (std::uint32_t k = 2; k <= device::kMaxInputs; ++k) fmt::print(" {} |", k);
  fmt::print("\n|---|---|");
  for (std::uint32_t k = 2; k <= device::kMaxInputs; ++k) fmt::print("---|");
  fmt::print("\n");
  double least = 1e9;
  for (const DataType type : all_data_types().first(device::kTypes)) {
    for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Max}) {
      fmt::print("| {} | {} |", to_string(type), to_string(op));
      for (std::uint32_t k = 2; k <= device::kMaxInputs; ++k) {
        device::Reduction reduction;
        reduction.result = vectors[0];
        for (std::uint32_t i = 0; i < k; ++i) reduction.inputs[i] = vectors[i + 1];
        reduction.input_count = k;
        reduction.count = bytes / size_of(type);
        reduction.type = type;
        reduction.op = op;
        const double time = bench.seconds([&] { device.reduce(reduction, bench.stream()); });
        const double ratio = (k + 1.0) * static_cast<double>(bytes) / time / copy;
        least = std::min(least, ratio);
        fmt::print(" {:.2f} |", ratio);
      }
      fmt::print("\n");
    }
  }
  fmt::print("\nleast ratio to the copy: {:.2f} (expected: 0.90)\n", least);
  for (void* vector : vectors) device.free(vector);
}

}  // namespace
}  // namespace multitree::runtime

int main(int argc, char** argv) {
  using namespace multitree::runtime;
  const std::size_t mebibytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1024;
  std::string why;
  const auto device = device::open_cuda(0, why);
  if (device == nullptr) {
    fmt::print("no GPU: skipped ({})\n", why);
    return 0;
  }
  try {
    print_table(Bench(device), std::max<std::size_t>(mebibytes, 1) << 20);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
