// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From its making to its end, and how calls on user buffers are checked and started.
#include "runtime/communicator_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <functional>
#include <limits>

#include "runtime/checksum_internal.hpp"
#include "runtime/host/host_request_internal.hpp"
#include "runtime/merge_internal.hpp"
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
    const std::string what = fmt::format("rank {}: {} ({})", job.rank(), *cause, error.what());
    if (const auto link = job.dead_link()) throw LinkError(*link, what);
    throw Error(ErrorCode::Transport, what);
  }
}

/// Collective: how many calls have ended at every rank, before the first that has not at some.
std::uint64_t agree_on_finished(Bootstrap& job, const Engine& engine, std::uint64_t started,
                                Deadline deadline) {
  std::uint64_t least = engine.first_unfinished().value_or(started);
  for (const std::string& text : job.all_gather(std::to_string(least), deadline)) {
    std::uint64_t other = 0;
    std::from_chars(text.data(), text.data() + text.size(), other);
    least = std::min(least, other);
  }
  return least;
}

}  // namespace

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
  if (loaded.empty() && group == nullptr)
    reject(fmt::format("the communicator has no {} schedule", name));
  const std::size_t ranks = engine->bootstrap().size();
  const std::uint32_t rank = engine->bootstrap().rank();
  if (call.count > std::numeric_limits<std::size_t>::max() / 16 / size_of(call.type) / ranks) {
    reject(fmt::format("{}: {} elements do not fit the address space", name, call.count));
  }
  if (call.count == 0) return;
  const bool root = rank == root_of(call.collective);
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
  const bool sharded =
      call.collective == Collective::ReduceScatter || call.collective == Collective::AllGather;
  const std::uint64_t count =
      sharded ? call.count * engine->bootstrap().size() : std::uint64_t{call.count};
  std::vector<ElementRange> ranges = chunk_ranges(loaded->source->schedule, count);
  const TransportLimits limits = engine->transport().limits();
  if (limits.merge_bytes != 0) {
    if (auto merged = merge_chunks(loaded->source->schedule, ranges, element, limits.merge_bytes)) {
      Plan own = make_plan(*merged, engine->bootstrap().rank());
      loaded->source = std::make_shared<const LoadedSchedule>(std::move(*merged), std::move(own));
      ranges = chunk_ranges(loaded->source->schedule, count);
    }
  }
  const Schedule& schedule = loaded->source->schedule;
  const std::size_t segment = std::min(options.segment_bytes, limits.segment_bytes);
  loaded->program =
      compile(loaded->source->plan, schedule, ranges, {element, segment, limits.window_bytes});
  if (programs.size() >= kMaxPrograms) programs.clear();
  programs.emplace(key, loaded);
  return loaded;
}

std::uint32_t Communicator::Impl::root_of(Collective collective) const {
  const auto& loaded = schedules[static_cast<std::size_t>(collective)];
  if (!has_root(collective)) return 0;
  return loaded.empty() ? options.root : index(loaded.front().loaded->schedule.root);
}

bool Communicator::Impl::on_device(const Call& call) const {
  if (device == nullptr || !device->takes(call)) return false;
  if (group != nullptr) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: device memory, but the communicator goes without messages",
                            to_string(call.collective)));
  }
  return true;
}

Request Communicator::Impl::start(const Call& call, std::shared_ptr<const LoadedProgram> program) {
  if (on_device(call)) return start_on_device(call, std::move(program), {}, false);
  const auto guard = engine->guard();
  engine->check_usable();
  validate(call);
  Request request;
  if (group != nullptr) {
    request.operation_ = std::make_unique<host::HostRequest>(
        engine, *group, call, root_of(call.collective), sequence++, options.recorder.get());
    engine->poll();
    return request;
  }
  if (program == nullptr) program = program_for(call);
  auto operation = std::make_unique<MessageOperation>(engine, std::move(program), call, sequence++,
                                                      options.recorder.get());
  operation->start();
  request.operation_ = std::move(operation);
  return request;
}

Request Communicator::Impl::start(const Call& call, Stream stream) {
  if (device == nullptr || group != nullptr) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: a stream, but the communicator {}", to_string(call.collective),
                            device == nullptr ? "has no device" : "goes without messages"));
  }
  device->check_streamed(call);
  return start_on_device(call, nullptr, stream, true);
}

Request Communicator::Impl::start_on_device(const Call& call,
                                            std::shared_ptr<const LoadedProgram> program,
                                            Stream stream, bool in_order) {
  {
    const auto guard = engine->guard();
    engine->check_usable();
  }
  validate(call);
  if (program == nullptr) program = program_for(call);
  const bool hold = in_order && device->can_hold(stream.handle);
  Request request;
  request.operation_ = std::make_unique<device::StreamRequest>(
      device->start(std::move(program), call, sequence++, stream.handle, hold), options.timeout,
      !in_order);
  if (in_order && !hold) request.wait();
  return request;
}

void Communicator::Impl::run(const Call& call) {
  if (group == nullptr) return start(call).wait();
  static_cast<void>(on_device(call));
  engine->check_usable();
  validate(call);
  host::HostRequest(engine, *group, call, root_of(call.collective), sequence++,
                    options.recorder.get())
      .wait();
}

device::Identities Communicator::Impl::find_devices(Bootstrap& job) {
  if (!options.devices) return {};
  if (options.device == nullptr && device::cuda_is_loaded()) {
    std::string why;  // a process with the driver and no device has host memory only
    options.device = device::open_cuda(-1, why);
  }
  return device::gather_identities(job, options.device.get(), options.timeout);
}

void Communicator::Impl::open_device(Bootstrap& job, const device::Identities& identities) {
  if (!options.devices) return;
  device::Routes routes;
  if (group == nullptr) {
    routes = device::agree_on_routes(job, options.device.get(), identities,
                                     engine->transport().takes_device_memory(), options.timeout);
  }
  if (options.device == nullptr) return;
  device = std::make_unique<device::Collectives>(engine, options.device, std::move(routes),
                                                 options.timeout);
  if (group == nullptr) description += fmt::format(", on {}", device->describe(peers()));
}

void Communicator::Impl::close_device(bool finish, const std::string& reason) {
  if (device == nullptr) return;
  try {
    if (finish) device->finish(options.timeout);
  } catch (const Error&) {  // stop() ends what is left
  }
  device->stop(reason);
}

/// Decided alike by all ranks: they have the same options, and join() answers the same to all.
void Communicator::Impl::join_host(Bootstrap& job, bool wanted) {
  if (job.size() == 1 || !wanted) return;
  std::string why_not;
  group = host::Group::join(job, options.timeout, why_not);
  if (group == nullptr && options.host_path == HostPath::Required) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("rank {}: cannot go without messages: {}", job.rank(), why_not));
  }
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
  static_cast<void>(find_transport(options.transport));  // also where none is needed
  if (options.root >= job.size()) {
    reject(fmt::format("root {} of {} ranks: expected less", options.root, job.size()));
  }
  const bool free_to_choose = plans.plans.empty() || plans.replaceable;
  for (SizedSchedules& plan : plans.plans) impl_->load(std::move(plan), job);
  if (job.size() == 1) impl_->fill_in_for_one_rank();
  impl_->options = std::move(options);
  const device::Identities devices = impl_->find_devices(job);
  // Vectors on a device would have to be copied to the host and back as a whole.
  const bool on_hosts = std::ranges::all_of(devices, &std::string::empty);
  const HostPath path = impl_->options.host_path;
  impl_->join_host(
      job, path == HostPath::Required || (path == HostPath::Auto && free_to_choose && on_hosts));
  std::unique_ptr<Transport> transport =
      impl_->group != nullptr
          ? host::make_no_transport()
          : open_transport(impl_->options.transport, job,
                           {impl_->peers(), impl_->options.timeout, impl_->options.link_timeout});
  if (impl_->options.checksums) transport = with_checksums(std::move(transport));
  impl_->description = fmt::format("rank {} of {}, {}, started by {}", job.rank(), job.size(),
                                   transport->describe(), job.describe());
  impl_->engine =
      std::make_shared<Engine>(std::move(bootstrap), std::move(transport), impl_->options.timeout);
  if (impl_->group != nullptr) impl_->engine->allow_naps();
  impl_->open_device(job, devices);
}

Communicator::~Communicator() {
  Engine& engine = *impl_->engine;
  impl_->close_device(std::uncaught_exceptions() == impl_->exceptions,
                      "the communicator was destroyed");
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

void Communicator::settle() {
  Engine& engine = *impl_->engine;
  impl_->close_device(true, "the communicator is being shrunk");  // and with it the other thread
  if (engine.usable()) {
    try {
      engine.wait_all();
      engine.transport().drain(impl_->options.timeout);
    } catch (const Error&) {  // what could not be finished is given up, as after any other failure
    }
  }
}

std::unique_ptr<Communicator> Communicator::shrink(const Replan& replan, Deadline deadline) {
  return shrink([&](const Remains& remains) { return replan(remains.survivors); }, deadline);
}

std::unique_ptr<Communicator> Communicator::shrink(const ReplanAround& replan, Deadline deadline) {
  settle();
  Engine& engine = *impl_->engine;
  // Not earlier: a rank that gives up cancels what others may still be waiting for.
  Shrunk shrunk = engine.bootstrap().shrink(deadline);
  engine.give_up("it was shrunk to another");
  const std::uint64_t finished = agree_on_finished(*shrunk.job, engine, impl_->sequence, deadline);
  auto communicator = std::make_unique<Communicator>(
      std::move(shrunk.job), replan({shrunk.survivors, shrunk.dead_links}), impl_->options);
  communicator->impl_->finished_before = finished;
  return communicator;
}

}  // namespace multitree::runtime
