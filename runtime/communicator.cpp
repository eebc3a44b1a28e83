// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives on user buffers: checks, copies, and a program for the executor.
#include "runtime/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <tuple>

#include "runtime/device/collectives_internal.hpp"
#include "runtime/operation_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// Programs kept per communicator; a training step repeats a few dozen sizes.
constexpr std::size_t kMaxPrograms = 64;

[[noreturn]] void reject(const std::string& message) {
  throw Error(ErrorCode::InvalidArgument, message);
}

void check_disjoint(const Call& call, const std::byte* a, std::size_t a_bytes, std::size_t b_bytes,
                    const std::byte* in_place) {
  const std::byte* b = call.recv;
  if (a == in_place || a == nullptr || b == nullptr) return;
  if (std::less<>()(a, b + b_bytes) && std::less<>()(b, a + a_bytes)) {
    reject(fmt::format("{}: send and recv overlap without being in place",
                       to_string(call.collective)));
  }
}

}  // namespace

Request::Request() = default;
Request::Request(Request&&) noexcept = default;
Request& Request::operator=(Request&&) noexcept = default;
Request::~Request() = default;
bool Request::test() {
  if (on_device_ != nullptr) return on_device_->operation->test();
  return operation_ == nullptr || operation_->test();
}
void Request::wait() {
  if (on_device_ != nullptr) on_device_->operation->wait(on_device_->deadline);
  if (operation_ != nullptr) operation_->wait();
}

namespace {

/// As make_transport(), but where a rank has died meanwhile, the error says so.
std::unique_ptr<Transport> open_transport(const std::string& name, Bootstrap& job,
                                          const TransportOptions& options) {
  try {
    // Alone there is nobody to talk to, and no reason to start a network stack.
    return make_transport(job.size() == 1 ? "loopback" : name, job, options);
  } catch (const Error& error) {
    const bool transport = error.code() == ErrorCode::Transport;
    const std::optional<std::string> cause = transport ? await_failure(job) : std::nullopt;
    // A wrong argument is wrong at every rank; nobody is left waiting.
    if (error.code() != ErrorCode::InvalidArgument) job.report_failure(error.what());
    if (!cause) throw;
    throw Error(ErrorCode::Transport,
                fmt::format("rank {}: {} ({})", job.rank(), *cause, error.what()));
  }
}

/// A schedule made ready for this rank, and the largest vector that it is for.
struct SizedLoaded {
  std::shared_ptr<const LoadedSchedule> loaded;
  std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace

struct Communicator::Impl {
  std::shared_ptr<Engine> engine;
  std::unique_ptr<device::Collectives> device;  ///< null without one
  CommunicatorOptions options;
  std::string description;
  /// By Collective, and ascending by size as in SizedSchedules; empty if none.
  std::array<std::vector<SizedLoaded>, 5> schedules;
  std::map<std::tuple<Collective, std::size_t, std::size_t>, std::shared_ptr<const LoadedProgram>>
      programs;  ///< by collective, elements, element size
  std::uint64_t sequence = 0;
  int exceptions = std::uncaught_exceptions();

  void load(SizedSchedules plan, const Bootstrap& bootstrap);
  void fill_in_for_one_rank();
  [[nodiscard]] std::vector<std::uint32_t> peers() const;
  void validate(const Call& call) const;
  [[nodiscard]] const std::shared_ptr<const LoadedSchedule>& schedule_for(const Call& call) const;
  std::shared_ptr<const LoadedProgram> program_for(const Call& call);
  Request start(const Call& call);
  Request start(const Call& call, Stream stream);
  Request start_on_device(const Call& call, Stream stream, bool in_order);
  void open_device(Bootstrap& bootstrap, bool direct);
};

void Communicator::Impl::load(SizedSchedules plan, const Bootstrap& bootstrap) {
  check_sized(plan);
  const Collective collective = plan.front().schedule.collective;
  auto& place = schedules[static_cast<std::size_t>(collective)];
  if (!place.empty()) reject(fmt::format("two {} schedules", to_string(collective)));
  for (SizedSchedule& sized : plan) {
    Schedule& schedule = sized.schedule;
    if (schedule.ranks != bootstrap.size()) {
      reject(fmt::format("{} schedule \"{}\" is for {} ranks, but the job has {}",
                         to_string(collective), schedule.algorithm, schedule.ranks,
                         bootstrap.size()));
    }
    Plan own = make_plan(schedule, bootstrap.rank());
    place.push_back({std::make_shared<const LoadedSchedule>(std::move(schedule), std::move(own)),
                     sized.max_bytes});
  }
}

/// With one rank every collective is a copy; no schedule is needed to say so.
void Communicator::Impl::fill_in_for_one_rank() {
  for (const Collective collective : all_collectives()) {
    auto& place = schedules[static_cast<std::size_t>(collective)];
    if (!place.empty()) continue;
    LoadedSchedule loaded;
    loaded.schedule.collective = collective;
    loaded.schedule.ranks = 1;
    loaded.schedule.chunks = one_chunk_per_rank(1);
    place.push_back({std::make_shared<const LoadedSchedule>(std::move(loaded))});
  }
}

std::vector<std::uint32_t> Communicator::Impl::peers() const {
  std::vector<std::uint32_t> all;
  for (const auto& sized : schedules) {
    for (const SizedLoaded& one : sized) {
      all.insert(all.end(), one.loaded->plan.peers.begin(), one.loaded->plan.peers.end());
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

void Communicator::Impl::validate(const Call& call) const {
  const auto& loaded = schedules[static_cast<std::size_t>(call.collective)];
  const std::string_view name = to_string(call.collective);
  if (loaded.empty()) reject(fmt::format("the communicator has no {} schedule", name));
  const std::size_t ranks = engine->bootstrap().size();
  const std::uint32_t rank = engine->bootstrap().rank();
  if (call.count > std::numeric_limits<std::size_t>::max() / 16 / size_of(call.type) / ranks) {
    reject(fmt::format("{}: {} elements do not fit the address space", name, call.count));
  }
  if (call.count == 0) return;
  const bool root = rank == index(loaded.front().loaded->schedule.root);
  if (call.send == nullptr && (call.collective != Collective::Broadcast || root)) {
    reject(fmt::format("{}: send is null", name));
  }
  if (call.recv == nullptr && (call.collective != Collective::Reduce || root)) {
    reject(fmt::format("{}: recv is null", name));
  }
  const std::size_t bytes = call.count * size_of(call.type);
  if (call.collective == Collective::ReduceScatter) {
    check_disjoint(call, call.send, bytes * ranks, bytes,
                   call.recv == nullptr ? nullptr : call.recv - rank * bytes);
  } else if (call.collective == Collective::AllGather) {
    check_disjoint(call, call.send, bytes, bytes * ranks, call.recv + rank * bytes);
  } else if (!has_root(call.collective) || root) {
    check_disjoint(call, call.send, bytes, bytes, call.recv);
  }
}

const std::shared_ptr<const LoadedSchedule>& Communicator::Impl::schedule_for(
    const Call& call) const {
  const auto& sized = schedules[static_cast<std::size_t>(call.collective)];
  const bool sharded =
      call.collective == Collective::ReduceScatter || call.collective == Collective::AllGather;
  const std::size_t shards = sharded ? engine->bootstrap().size() : 1;
  const std::uint64_t bytes = std::uint64_t{call.count} * size_of(call.type) * shards;
  return std::ranges::lower_bound(sized, bytes, {}, &SizedLoaded::max_bytes)->loaded;
}

std::shared_ptr<const LoadedProgram> Communicator::Impl::program_for(const Call& call) {
  const std::size_t element = size_of(call.type);
  const std::tuple key{call.collective, call.count, element};
  if (const auto it = programs.find(key); it != programs.end()) return it->second;
  auto loaded = std::make_shared<LoadedProgram>();
  loaded->source = schedule_for(call);
  const Schedule& schedule = loaded->source->schedule;
  const bool sharded =
      call.collective == Collective::ReduceScatter || call.collective == Collective::AllGather;
  const std::vector<ElementRange> ranges =
      chunk_ranges(schedule, sharded ? call.count * schedule.ranks : call.count);
  loaded->program =
      compile(loaded->source->plan, schedule, ranges, {element, options.segment_bytes});
  if (programs.size() >= kMaxPrograms) programs.clear();
  programs.emplace(key, loaded);
  return loaded;
}

Request Communicator::Impl::start(const Call& call) {
  if (device != nullptr && device->takes(call)) return start_on_device(call, {}, false);
  const auto guard = engine->guard();
  engine->check_usable();
  validate(call);
  Request request;
  request.operation_ = std::make_unique<Operation>(engine, program_for(call), call, sequence++);
  request.operation_->start();
  return request;
}

Request Communicator::Impl::start(const Call& call, Stream stream) {
  if (device == nullptr) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: a stream, but the communicator has no device",
                            to_string(call.collective)));
  }
  device->check_streamed(call);
  return start_on_device(call, stream, true);
}

/// `in_order`: the stream waits for the end; otherwise the caller does.
Request Communicator::Impl::start_on_device(const Call& call, Stream stream, bool in_order) {
  validate(call);
  const bool hold = in_order && device->can_hold(stream.handle);
  Request request;
  request.on_device_ = std::make_unique<device::StreamRequest>(
      device->start(program_for(call), call, sequence++, stream.handle, hold), options.timeout,
      !in_order);
  if (in_order && !hold) request.wait();
  return request;
}

void Communicator::Impl::open_device(Bootstrap& bootstrap, bool direct) {
  if (!options.devices) return;
  device::Routes routes =
      device::agree_on_routes(bootstrap, options.device.get(), direct, options.timeout);
  if (options.device == nullptr) return;
  device = std::make_unique<device::Collectives>(engine, options.device, std::move(routes),
                                                 options.timeout);
  description += fmt::format(", on {}", device->describe(peers()));
}

namespace {

PlansBySize as_plans(std::vector<Schedule> schedules) {
  std::vector<SizedSchedules> plans;
  for (Schedule& schedule : schedules) plans.push_back(for_all_sizes(std::move(schedule)));
  return PlansBySize(std::move(plans));
}

}  // namespace

Communicator::Communicator(std::shared_ptr<Bootstrap> bootstrap, std::vector<Schedule> schedules,
                           CommunicatorOptions options)
    : Communicator(std::move(bootstrap), as_plans(std::move(schedules)), std::move(options)) {}

Communicator::Communicator(std::shared_ptr<Bootstrap> bootstrap, PlansBySize plans,
                           CommunicatorOptions options)
    : impl_(std::make_unique<Impl>()) {
  Bootstrap& job = *bootstrap;
  if (options.segment_bytes == 0) reject("segment_bytes must be at least 1");
  for (SizedSchedules& plan : plans.plans) impl_->load(std::move(plan), job);
  if (job.size() == 1) impl_->fill_in_for_one_rank();
  if (options.devices && options.device == nullptr && device::cuda_is_loaded()) {
    std::string why;  // a process with the driver and no device has host memory only
    options.device = device::open_cuda(-1, why);
  }
  const TransportOptions wanted{impl_->peers(), options.timeout, options.device != nullptr};
  std::unique_ptr<Transport> transport = open_transport(options.transport, job, wanted);
  impl_->description = fmt::format("rank {} of {}, {}, started by {}", job.rank(), job.size(),
                                   transport->describe(), job.describe());
  impl_->engine =
      std::make_shared<Engine>(std::move(bootstrap), std::move(transport), options.timeout);
  impl_->options = std::move(options);
  impl_->open_device(job, impl_->engine->transport().takes_device_memory());
}

Communicator::~Communicator() {
  Engine& engine = *impl_->engine;
  if (impl_->device != nullptr) {
    try {
      if (std::uncaught_exceptions() == impl_->exceptions) {
        impl_->device->finish(impl_->options.timeout);
      }
    } catch (const Error&) {  // stop() below ends what is left
    }
    impl_->device->stop("the communicator was destroyed");
  }
  if (!engine.usable()) return;
  if (std::uncaught_exceptions() > impl_->exceptions) {
    engine.give_up("left by an exception");
    return;
  }
  try {
    engine.wait_all();
    engine.transport().drain(impl_->options.timeout);
    // Nobody closes while a peer may still need this end.
    engine.barrier();
  } catch (const std::exception& error) {
    engine.give_up(error.what());
  }
}

std::uint32_t Communicator::rank() const { return impl_->engine->bootstrap().rank(); }
std::uint32_t Communicator::size() const { return impl_->engine->bootstrap().size(); }
std::string Communicator::describe() const { return impl_->description; }
void Communicator::barrier() {
  const auto guard = impl_->engine->guard();
  impl_->engine->barrier();
}

std::string Communicator::failure() const {
  const auto guard = impl_->engine->guard();
  return impl_->engine->broken();
}

void Communicator::abort(const std::string& reason) {
  const auto guard = impl_->engine->guard();
  impl_->engine->give_up(reason);
}

namespace {

Call call_of(Collective collective, const void* send, void* recv, std::size_t count, DataType type,
             ReduceOp op = ReduceOp::Sum) {
  return {
      collective, static_cast<const std::byte*>(send), static_cast<std::byte*>(recv), count, type,
      op};
}

}  // namespace

Request Communicator::start_all_reduce(const void* send, void* recv, std::size_t count,
                                       DataType type, ReduceOp op) {
  return impl_->start(call_of(Collective::AllReduce, send, recv, count, type, op));
}

Request Communicator::start_reduce_scatter(const void* send, void* recv, std::size_t count,
                                           DataType type, ReduceOp op) {
  return impl_->start(call_of(Collective::ReduceScatter, send, recv, count, type, op));
}

Request Communicator::start_all_gather(const void* send, void* recv, std::size_t count,
                                       DataType type) {
  return impl_->start(call_of(Collective::AllGather, send, recv, count, type));
}

Request Communicator::start_broadcast(const void* send, void* recv, std::size_t count,
                                      DataType type) {
  return impl_->start(call_of(Collective::Broadcast, send, recv, count, type));
}

Request Communicator::start_reduce(const void* send, void* recv, std::size_t count, DataType type,
                                   ReduceOp op) {
  return impl_->start(call_of(Collective::Reduce, send, recv, count, type, op));
}

Request Communicator::start_all_reduce(const void* send, void* recv, std::size_t count,
                                       DataType type, ReduceOp op, Stream stream) {
  return impl_->start(call_of(Collective::AllReduce, send, recv, count, type, op), stream);
}

Request Communicator::start_reduce_scatter(const void* send, void* recv, std::size_t count,
                                           DataType type, ReduceOp op, Stream stream) {
  return impl_->start(call_of(Collective::ReduceScatter, send, recv, count, type, op), stream);
}

Request Communicator::start_all_gather(const void* send, void* recv, std::size_t count,
                                       DataType type, Stream stream) {
  return impl_->start(call_of(Collective::AllGather, send, recv, count, type), stream);
}

Request Communicator::start_broadcast(const void* send, void* recv, std::size_t count,
                                      DataType type, Stream stream) {
  return impl_->start(call_of(Collective::Broadcast, send, recv, count, type), stream);
}

Request Communicator::start_reduce(const void* send, void* recv, std::size_t count, DataType type,
                                   ReduceOp op, Stream stream) {
  return impl_->start(call_of(Collective::Reduce, send, recv, count, type, op), stream);
}

void Communicator::all_reduce(const void* send, void* recv, std::size_t count, DataType type,
                              ReduceOp op) {
  start_all_reduce(send, recv, count, type, op).wait();
}
void Communicator::reduce_scatter(const void* send, void* recv, std::size_t count, DataType type,
                                  ReduceOp op) {
  start_reduce_scatter(send, recv, count, type, op).wait();
}
void Communicator::all_gather(const void* send, void* recv, std::size_t count, DataType type) {
  start_all_gather(send, recv, count, type).wait();
}
void Communicator::broadcast(const void* send, void* recv, std::size_t count, DataType type) {
  start_broadcast(send, recv, count, type).wait();
}
void Communicator::reduce(const void* send, void* recv, std::size_t count, DataType type,
                          ReduceOp op) {
  start_reduce(send, recv, count, type, op).wait();
}

}  // namespace multitree::runtime
