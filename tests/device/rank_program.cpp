// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One rank of the tests in which device memory is reduced by processes over UCX.
///
///     device_rank_program fake|cuda|each     on the first GPU, or each rank on one of its own
#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "device_support.hpp"
#include "fake_device.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

void run(const std::shared_ptr<Bootstrap>& bootstrap, std::string_view kind) {
  std::string why;
  FakeOptions fake{.seed = index(bootstrap->seat()) + 1};
  const auto own = static_cast<std::int32_t>(index(bootstrap->seat()));
  const auto device =
      kind == "fake" ? make_fake_device(fake) : device::open_cuda(kind == "each" ? own : 0, why);
  if (device == nullptr) throw Error(ErrorCode::Cuda, why);
  CommunicatorOptions options;
  options.timeout = Deadline(20'000);
  options.segment_bytes = options.kernel_segment_bytes = 32 * 1024;
  options.device = device;
  const Rank root{bootstrap->size() / 2};
  Communicator communicator(bootstrap, ring_schedules(bootstrap->size(), root), options);
  const OwnedStream stream(*device);
  for (const Collective collective : all_collectives()) {
    for (const DataType type : {DataType::Float16, DataType::Int32, DataType::Float64}) {
      for (const std::size_t count : {1UL, 4099UL, 60'001UL}) {
        check_on_device(communicator, *device, stream.get(), collective, root, count, type,
                        ReduceOp::Sum, count == 4099);
      }
    }
  }
  communicator.barrier();
  if (bootstrap->seat() == Seat{0}) fmt::print("{}\n", communicator.describe());
}

}  // namespace
}  // namespace multitree::runtime::test

int main(int argc, char** argv) {
  using namespace multitree::runtime;
  try {
    const auto bootstrap = make_bootstrap();
    try {
      test::run(bootstrap, argc > 1 ? argv[1] : "fake");
    } catch (const std::exception& error) {
      bootstrap->report_failure(error.what());
      throw;
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
