// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Times and checks a collective over a range of sizes, as nccl-tests does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/tuning/plan.hpp"
#include "runtime/communicator.hpp"
#include "runtime/job/bootstrap.hpp"
#include "runtime/kernels/data_type.hpp"
#include "tools/run/check.hpp"
#include "tools/run/crew.hpp"
#include "tools/run/observer.hpp"

namespace multitree::tools {

/// The sizes of a run, in bytes of the whole vector.
struct SizeRange {
  std::uint64_t first = 1024;
  std::uint64_t last = 64 << 20;
  std::uint64_t increment = 0;  ///< added from size to size, if not 0
  std::uint64_t factor = 4;     ///< multiplied otherwise
};
/// \throws Error(InvalidArgument) if the range is empty or does not advance.
std::vector<std::uint64_t> sizes_of(const SizeRange& range);

struct BenchmarkOptions {
  Collective collective = Collective::AllReduce;
  Rank root{};
  std::vector<std::uint64_t> sizes;
  std::vector<runtime::DataType> types;
  std::vector<runtime::ReduceOp> ops;
  std::uint32_t iterations = 20;
  std::uint32_t warmup = 5;
  bool check = true;
  runtime::WireType wire = runtime::WireType::AsIs;
  runtime::Summing summing = runtime::Summing::Floats;
  DataKind data = DataKind::Exact;
  std::uint64_t seed = 1;
  bool shared_buffers = false;  ///< of Communicator::allocate()
  /// What is tried while it runs, until ranks or links are lost; may be null.
  std::shared_ptr<const runtime::Refining> refining = nullptr;
  bool chosen = false;                            ///< the schedules are, by prediction
  std::optional<LinkTable> times = std::nullopt;  ///< that they were predicted by; none: declared
  /// Told what came of it, at every rank.
  std::function<void(const std::vector<runtime::Refined>&)> on_refined = nullptr;
  /// Told how calls go, at every rank, where communicators have a device. Buffers then lie there.
  std::function<void(const std::string&)> on_device = nullptr;
  runtime::CommunicatorOptions communicator;
};

/// One mode (out of place or in place) of one row.
struct Measurement {
  double seconds = 0;        ///< mean over iterations and ranks
  double algbw = 0;          ///< GB/s
  double busbw = 0;          ///< GB/s
  std::uint64_t wrong = 0;   ///< elements, over all ranks
  std::uint64_t digest = 0;  ///< of all ranks' results
};

struct Row {
  RowKey key;               ///< its bytes after rounding to elements and ranks
  std::uint64_t count = 0;  ///< elements, in the sense of nccl-tests' column
  Measurement out_of_place, in_place;
};

struct History;

/// Collective over the crew: runs every type, operator and size that this algorithm (by number) of
/// the history has not done yet, calls `on_row` at rank 0 as rows
/// come, and returns them (the same at every rank). `observer` looks at the last timed iteration
/// out of place of each row. Without schedules: by the memory of one host. If ranks are lost on the
/// way and the crew goes on, calls `on_loss` at its rank 0, and the row under way starts again.
/// \throws as Communicator.
std::vector<Row> run_benchmark(const SizedSchedules& schedules, Crew& crew,
                               const BenchmarkOptions& options, Observer& observer,
                               History& history, std::size_t algorithm,
                               const std::function<void(const Row&, const RowDetails&)>& on_row,
                               const std::function<void()>& on_loss);

}  // namespace multitree::tools
