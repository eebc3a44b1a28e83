// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The measuring loop of `multitree run`.
#include "tools/run/benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "algorithms/bounds.hpp"
#include "algorithms/registry.hpp"
#include "runtime/job/agreement.hpp"
#include "tools/progress.hpp"
#include "tools/run/buffer.hpp"
#include "tools/run/history.hpp"
#include "topologies/error.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

using runtime::Communicator;
using Clock = std::chrono::steady_clock;

/// Lays the buffers of one collective out for one rank and one size.
///
/// Each rank has an input part and an output part; in place, one lies inside the other or both are
/// the same, as NCCL defines it. `shard` is 1/n of the vector.
class Case {
 public:
  Case(const CheckCase& check, Communicator& communicator, std::uint64_t bytes,
       const BufferPlace& place)
      : check_(check),
        collective_(check.call.collective),
        rank_(communicator.rank()),
        width_(runtime::size_of(check.call.type)),
        shards_(is_sharded(collective_) ? check.ranks : 1),
        count_(bytes / width_ / shards_),
        whole_(count_ * shards_),
        // One spare byte keeps data() of an empty case from being null.
        input_(communicator, place, whole_ * width_ + 1),
        output_(communicator, place, whole_ * width_ + 1) {}

  std::uint64_t count() const { return count_; }
  std::uint64_t bytes() const { return whole_ * width_; }

  /// Inputs where this mode expects them.
  void fill(bool in_place) {
    if (in_place || !sends()) std::memset(output_.host(), 0x5a, output_.size());
    fill_input(check_, rank_, 0, count_ * shards_sent(collective_, check_.ranks),
               input(in_place, input_.host(), output_.host()));
    input_.upload();
    output_.upload();
  }

  void run(Communicator& communicator, bool in_place) {
    runtime::Call call = check_.call;
    call.send = input(in_place, input_.data(), output_.data());
    call.recv = result(in_place, output_.data());
    call.count = count_;
    communicator.run(call);
  }

  /// What came out, for the two below.
  void fetch() const { output_.download(); }

  /// Wrong elements of this rank's result.
  std::uint64_t wrong(bool in_place) const {
    if (!receives()) return 0;
    const std::byte* const got = result(in_place, output_.host());
    const std::uint64_t first = receives_shard(collective_) ? index(rank_) * count_ : 0;
    if (reduces(collective_)) return count_wrong(check_, first, count_, got);
    if (!sends_shard(collective_)) {
      return count_wrong_copy(check_, index(check_.root), first, count_, got);
    }
    std::uint64_t bad = 0;
    for (std::uint32_t r = 0; r < check_.ranks; ++r) {
      bad += count_wrong_copy(check_, r, 0, count_, got + r * count_ * width_);
    }
    return bad;
  }

  std::uint64_t result_digest(bool in_place) const {
    if (!receives()) return kDigestStart;
    return digest(kDigestStart, result(in_place, output_.host()),
                  count_ * shards_received(collective_, check_.ranks) * width_);
  }

 private:
  bool sends() const { return multitree::sends(collective_, rank_, check_.root); }
  bool receives() const { return multitree::receives(collective_, rank_, check_.root); }
  std::size_t shard_offset() const { return index(rank_) * count_ * width_; }
  /// In place, a shard lies where it belongs in the whole.
  std::byte* input(bool in_place, std::byte* apart, std::byte* output) const {
    if (!in_place) return apart;
    return output + (sends_shard(collective_) ? shard_offset() : 0);
  }
  std::byte* result(bool in_place, std::byte* output) const {
    const bool inside = in_place && receives_shard(collective_);
    return output + (inside ? shard_offset() : 0);
  }

  CheckCase check_;
  Collective collective_;
  Rank rank_;
  std::size_t width_;
  std::uint64_t shards_;
  std::uint64_t count_, whole_;
  Buffer input_, output_;
};

/// One rank's numbers of a measurement, exchanged as raw bytes between equal programs.
struct Share {
  double seconds;
  std::uint64_t wrong;
  std::uint64_t digest;
};

Measurement combine(runtime::Bootstrap& bootstrap, const Share& mine, runtime::Deadline deadline) {
  const std::string blob(reinterpret_cast<const char*>(&mine), sizeof mine);
  Measurement all;
  all.digest = kDigestStart;
  for (const std::string& other : bootstrap.all_gather(blob, deadline)) {
    Share share{};
    std::memcpy(&share, other.data(), std::min(other.size(), sizeof share));
    all.seconds += share.seconds / bootstrap.size();
    all.wrong += share.wrong;
    all.digest = digest(all.digest, &share.digest, sizeof share.digest);
  }
  return all;
}

/// Runs again and again. `observer`: looks at the last of the iterations; or null. \returns what
/// they took together
Clock::duration repeat(Case& test, Communicator& communicator, std::uint32_t iterations,
                       bool in_place, Observer* observer) {
  // In place a result is the next input, and sums grow until they are no numbers.
  const bool anew = in_place && communicator.looks_through();
  Clock::duration elapsed{};
  for (std::uint32_t i = 0; i < iterations;) {
    if (anew) test.fill(in_place);
    const auto start = Clock::now();
    do {
      if (observer != nullptr && i + 1 == iterations) observer->start();
      test.run(communicator, in_place);
    } while (++i < iterations && !anew);
    elapsed += Clock::now() - start;
  }
  return elapsed;
}

/// `observer`: as repeat()
Measurement measure(Case& test, Communicator& communicator, runtime::Bootstrap& bootstrap,
                    const BenchmarkOptions& options, bool in_place, Observer* observer) {
  test.fill(in_place);
  repeat(test, communicator, options.warmup, in_place, nullptr);
  communicator.barrier();
  const std::chrono::duration<double> elapsed =
      repeat(test, communicator, options.iterations, in_place, observer);
  if (observer != nullptr) observer->stop();
  Share mine{options.iterations > 0 ? elapsed.count() / options.iterations : 0, 0, 0};
  if (options.check) {
    // Timing in place has reduced results again and again: check one run on fresh inputs.
    test.fill(in_place);
    communicator.barrier();
    test.run(communicator, in_place);
    test.fetch();
    mine.wrong = test.wrong(in_place);
    mine.digest = test.result_digest(in_place);
  }
  Measurement all = combine(bootstrap, mine, options.communicator.timeout);
  if (all.seconds > 0) all.algbw = static_cast<double>(test.bytes()) / all.seconds / 1e9;
  all.busbw = all.algbw * busbw_factor(options.collective, bootstrap.size());
  return all;
}

Row measure_row(Case& test, Communicator& communicator, runtime::Bootstrap& bootstrap,
                const BenchmarkOptions& options, const CheckCase& check, Observer& observer) {
  std::optional<Progress> progress;
  if (bootstrap.seat() == runtime::Seat{0}) {
    progress.emplace(fmt::format("{} of {} {}", to_string(check.call.collective),
                                 format_bytes(test.bytes()), runtime::to_string(check.call.type)));
  }
  Row row{{check.call.type, check.call.op, test.bytes()}, test.count(), {}, {}};
  row.out_of_place = measure(test, communicator, bootstrap, options, false, &observer);
  row.in_place = measure(test, communicator, bootstrap, options, true, nullptr);
  return row;
}

std::vector<RowKey> keys_of(const BenchmarkOptions& options) {
  std::vector<RowKey> keys;
  for (const runtime::DataType type : options.types) {
    for (const runtime::ReduceOp op : options.ops) {
      for (const std::uint64_t bytes : options.sizes) keys.push_back({type, op, bytes});
    }
  }
  return keys;
}

void measure_rows(const std::vector<RowKey>& keys, const SizedSchedules& schedules,
                  const Crew& crew, const BenchmarkOptions& options, Observer& observer,
                  const std::function<void(const Row&, const RowDetails&)>& on_row, Done& done) {
  const std::shared_ptr<runtime::Bootstrap>& job = crew.job();
  const Rank root = has_root(options.collective) ? crew.now(options.root) : Rank{0};
  const SizedSchedules fitting = crew.fit(schedules, options.collective, root);
  std::vector<SizedSchedules> plans;
  if (!fitting.empty()) plans.push_back(fitting);
  runtime::check_agreement(plans, *job, options.communicator.timeout);
  runtime::CommunicatorOptions wanted = options.communicator;
  // A run executes what it was told to: a schedule by messages even on one host.
  wanted.host_path = schedules.empty() ? runtime::HostPath::Required : runtime::HostPath::Off;
  wanted.root = root;
  wanted.recorder = observer.recorder();
  observer.join(*job, crew.network().network(), fitting, wanted.timeout);
  runtime::PlansBySize by_size(std::move(plans));
  by_size.remaking = std::make_shared<const runtime::Remaking>(
      runtime::Remaking{crew.network().network(), options.chosen, options.times});
  if (crew.survivors().is_all()) by_size.refining = options.refining;
  if (!schedules.empty() && options.summing != runtime::Summing::Floats) {
    // Exact sums of any collective begin with an all-reduce.
    by_size.on_demand = [&crew](Collective collective, Rank from) {
      return for_all_sizes(make_schedule("multitree", crew.network().network(), collective, from));
    };
  }
  Communicator communicator(job, std::move(by_size), wanted);
  if (options.on_device && wanted.device != nullptr) options.on_device(communicator.describe());
  for (; done.keys < keys.size(); ++done.keys) {
    const RowKey& key = keys[done.keys];
    const CheckCase check{{.collective = options.collective,
                           .type = key.type,
                           .op = key.op,
                           .wire = options.wire,
                           .summing = options.summing},
                          job->size(),
                          root,
                          options.seed,
                          options.data};
    Case test(check, communicator, key.bytes, {options.shared_buffers, wanted.device});
    const RowKey rounded{key.type, key.op, test.bytes()};
    if (!done.rows.empty() && done.rows.back().key == rounded) continue;
    observer.prepare(rounded);
    const Row row = measure_row(test, communicator, *job, options, check, observer);
    const RowDetails details = observer.collect(*job, wanted.timeout);
    done.rows.push_back(row);
    if (job->seat() == runtime::Seat{0}) on_row(row, details);
  }
  if (options.on_refined) options.on_refined(communicator.refined());
}

}  // namespace

std::vector<std::uint64_t> sizes_of(const SizeRange& range) {
  if (range.first > range.last) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("-b: expected a first size up to that of -e, {}, got {}",
                            format_bytes(range.last), format_bytes(range.first)));
  }
  if (range.increment == 0 && range.factor < 2) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("-f: expected a factor of 2 or more, got {}", range.factor));
  }
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = range.first; size <= range.last;) {
    sizes.push_back(size);
    // 0 bytes is a size too; nothing can be multiplied from there.
    const std::uint64_t next = range.increment > 0
                                   ? size + range.increment
                                   : std::max<std::uint64_t>(size * range.factor, 1);
    if (next <= size) break;
    size = next;
  }
  return sizes;
}

std::vector<Row> run_benchmark(const SizedSchedules& schedules, Crew& crew,
                               const BenchmarkOptions& options, Observer& observer,
                               History& history, std::size_t algorithm,
                               const std::function<void(const Row&, const RowDetails&)>& on_row,
                               const std::function<void()>& on_loss) {
  Done& done = history.done[algorithm];
  history.begun = std::max(history.begun, algorithm + 1);
  const std::vector<RowKey> keys = keys_of(options);
  while (done.keys < keys.size()) {
    try {
      measure_rows(keys, schedules, crew, options, observer, on_row, done);
    } catch (const Error& error) {
      recover(error, crew, history, options.communicator.timeout);
      if (crew.job()->seat() == runtime::Seat{0}) on_loss();
    }
  }
  return done.rows;
}

}  // namespace multitree::tools
