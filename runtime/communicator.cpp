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

#include "runtime/checksum_internal.hpp"
#include "runtime/host/group_internal.hpp"
#include "runtime/host/host_request_internal.hpp"
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
bool Request::test() { return operation_ == nullptr || operation_->test(); }
void Request::wait() {
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
  CommunicatorOptions options;
  std::string description;
  /// By Collective, and ascending by size as in SizedSchedules; empty if none.
  std::array<std::vector<SizedLoaded>, 5> schedules;
  std::map<std::tuple<Collective, std::size_t, std::size_t>, std::shared_ptr<const LoadedProgram>>
      programs;  ///< by collective, elements, element size
  std::uint64_t sequence = 0;
  std::unique_ptr<host::Group> group;                        ///< null: by messages
  std::vector<std::shared_ptr<host::Mapping>> plain_memory;  ///< allocate() without it
  int exceptions = std::uncaught_exceptions();

  void load(SizedSchedules plan, const Bootstrap& bootstrap);
  void join_host(Bootstrap& job, bool wanted);
  void fill_in_for_one_rank();
  [[nodiscard]] std::vector<std::uint32_t> peers() const;
  void validate(const Call& call) const;
  [[nodiscard]] const std::shared_ptr<const LoadedSchedule>& schedule_for(const Call& call) const;
  std::shared_ptr<const LoadedProgram> program_for(const Call& call);
  [[nodiscard]] std::uint32_t root_of(Collective collective) const;
  /// `program`: where it is known already.
  std::unique_ptr<Operation> start(const Call& call,
                                   std::shared_ptr<const LoadedProgram> program = nullptr);
  /// Starts and waits.
  void run(const Call& call);
};

struct Prepared::State {
  Call call;
  std::shared_ptr<const LoadedProgram> program;
};
Prepared::Prepared() = default;
Prepared::Prepared(Prepared&&) noexcept = default;
Prepared& Prepared::operator=(Prepared&&) noexcept = default;
Prepared::~Prepared() = default;

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
  const Schedule& schedule = loaded->source->schedule;
  const bool sharded =
      call.collective == Collective::ReduceScatter || call.collective == Collective::AllGather;
  const std::vector<ElementRange> ranges =
      chunk_ranges(schedule, sharded ? call.count * schedule.ranks : call.count);
  const TransportLimits limits = engine->transport().limits();
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

std::unique_ptr<Operation> Communicator::Impl::start(const Call& call,
                                                     std::shared_ptr<const LoadedProgram> program) {
  engine->check_usable();
  validate(call);
  if (group != nullptr) {
    auto request = std::make_unique<host::HostRequest>(engine, *group, call,
                                                       root_of(call.collective), sequence++);
    engine->poll();
    return request;
  }
  if (program == nullptr) program = program_for(call);
  auto operation = std::make_unique<MessageOperation>(engine, std::move(program), call, sequence++);
  operation->start();
  return operation;
}

void Communicator::Impl::run(const Call& call) {
  if (group == nullptr) return start(call)->wait();
  engine->check_usable();
  validate(call);
  host::HostRequest(engine, *group, call, root_of(call.collective), sequence++).wait();
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
  impl_->join_host(job, impl_->options.host_path == HostPath::Required ||
                            (impl_->options.host_path == HostPath::Auto && free_to_choose));
  std::unique_ptr<Transport> transport =
      impl_->group != nullptr
          ? host::make_no_transport()
          : open_transport(impl_->options.transport, job, {impl_->peers(), impl_->options.timeout});
  if (impl_->options.checksums) transport = with_checksums(std::move(transport));
  impl_->description = fmt::format("rank {} of {}, {}, started by {}", job.rank(), job.size(),
                                   transport->describe(), job.describe());
  impl_->engine =
      std::make_shared<Engine>(std::move(bootstrap), std::move(transport), impl_->options.timeout);
  if (impl_->group != nullptr) impl_->engine->allow_naps();
}

Communicator::~Communicator() {
  Engine& engine = *impl_->engine;
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

std::unique_ptr<Communicator> Communicator::shrink(const Replan& replan, Deadline deadline) {
  Engine& engine = *impl_->engine;
  if (engine.usable()) {
    try {
      engine.wait_all();
      engine.transport().drain(impl_->options.timeout);
    } catch (const Error&) {  // what could not be finished is given up, as after any other failure
    }
  }
  // Not earlier: a rank that gives up cancels what others may still be waiting for.
  Shrunk shrunk = engine.bootstrap().shrink(deadline);
  engine.give_up("it was shrunk to another");
  return std::make_unique<Communicator>(std::move(shrunk.job), replan(shrunk.survivors),
                                        impl_->options);
}

std::uint32_t Communicator::rank() const { return impl_->engine->bootstrap().rank(); }
std::uint32_t Communicator::size() const { return impl_->engine->bootstrap().size(); }
std::string Communicator::describe() const { return impl_->description; }
std::shared_ptr<Bootstrap> Communicator::bootstrap() const { return impl_->engine->job(); }
void Communicator::abort(const std::string& reason) { impl_->engine->give_up(reason); }

Prepared Communicator::prepare(Collective collective, const void* send, void* recv,
                               std::size_t count, DataType type, ReduceOp op) {
  const Call call{
      collective, static_cast<const std::byte*>(send), static_cast<std::byte*>(recv), count, type,
      op};
  impl_->engine->check_usable();
  impl_->validate(call);
  Prepared prepared;
  prepared.state_ = std::make_shared<const Prepared::State>(
      Prepared::State{call, impl_->group == nullptr ? impl_->program_for(call) : nullptr});
  return prepared;
}

Request Communicator::start(const Prepared& prepared) {
  Request request;
  request.operation_ = impl_->start(prepared.state_->call, prepared.state_->program);
  return request;
}

bool Communicator::on_one_host() const { return impl_->group != nullptr; }

void Communicator::barrier() {
  if (impl_->group == nullptr) return impl_->engine->barrier();
  impl_->engine->wait_all();
  impl_->run({Collective::AllReduce, nullptr, nullptr, 0, DataType::Uint8});
}

void* Communicator::allocate(std::size_t bytes) {
  Engine& engine = *impl_->engine;
  engine.check_usable();
  if (impl_->group == nullptr) {
    impl_->plain_memory.push_back(host::Mapping::create_private(bytes));
    return impl_->plain_memory.back()->data();
  }
  try {
    return impl_->group->allocate(engine.bootstrap(), bytes, impl_->options.timeout);
  } catch (const Error& error) {
    // Without memory the ranks go on; after anything else they are out of step.
    if (error.code() != ErrorCode::Io) engine.give_up(fmt::format("allocate: {}", error.what()));
    throw;
  }
}

void Communicator::deallocate(void* memory) {
  impl_->engine->wait_all();
  const bool shared = impl_->group != nullptr && impl_->group->deallocate(memory);
  const auto plain =
      std::erase_if(impl_->plain_memory, [&](const auto& one) { return one->data() == memory; });
  if (!shared && plain == 0)
    reject("deallocate: expected memory of allocate(), got another address");
}

Request Communicator::start_all_reduce(const void* send, void* recv, std::size_t count,
                                       DataType type, ReduceOp op) {
  Request request;
  request.operation_ = impl_->start({Collective::AllReduce, static_cast<const std::byte*>(send),
                                     static_cast<std::byte*>(recv), count, type, op});
  return request;
}

Request Communicator::start_reduce_scatter(const void* send, void* recv, std::size_t count,
                                           DataType type, ReduceOp op) {
  Request request;
  request.operation_ = impl_->start({Collective::ReduceScatter, static_cast<const std::byte*>(send),
                                     static_cast<std::byte*>(recv), count, type, op});
  return request;
}

Request Communicator::start_all_gather(const void* send, void* recv, std::size_t count,
                                       DataType type) {
  Request request;
  request.operation_ = impl_->start({Collective::AllGather, static_cast<const std::byte*>(send),
                                     static_cast<std::byte*>(recv), count, type});
  return request;
}

Request Communicator::start_broadcast(const void* send, void* recv, std::size_t count,
                                      DataType type) {
  Request request;
  request.operation_ = impl_->start({Collective::Broadcast, static_cast<const std::byte*>(send),
                                     static_cast<std::byte*>(recv), count, type});
  return request;
}

Request Communicator::start_reduce(const void* send, void* recv, std::size_t count, DataType type,
                                   ReduceOp op) {
  Request request;
  request.operation_ = impl_->start({Collective::Reduce, static_cast<const std::byte*>(send),
                                     static_cast<std::byte*>(recv), count, type, op});
  return request;
}

void Communicator::all_reduce(const void* send, void* recv, std::size_t count, DataType type,
                              ReduceOp op) {
  impl_->run({Collective::AllReduce, static_cast<const std::byte*>(send),
              static_cast<std::byte*>(recv), count, type, op});
}
void Communicator::reduce_scatter(const void* send, void* recv, std::size_t count, DataType type,
                                  ReduceOp op) {
  impl_->run({Collective::ReduceScatter, static_cast<const std::byte*>(send),
              static_cast<std::byte*>(recv), count, type, op});
}
void Communicator::all_gather(const void* send, void* recv, std::size_t count, DataType type) {
  impl_->run({Collective::AllGather, static_cast<const std::byte*>(send),
              static_cast<std::byte*>(recv), count, type});
}
void Communicator::broadcast(const void* send, void* recv, std::size_t count, DataType type) {
  impl_->run({Collective::Broadcast, static_cast<const std::byte*>(send),
              static_cast<std::byte*>(recv), count, type});
}
void Communicator::reduce(const void* send, void* recv, std::size_t count, DataType type,
                          ReduceOp op) {
  impl_->run({Collective::Reduce, static_cast<const std::byte*>(send),
              static_cast<std::byte*>(recv), count, type, op});
}

}  // namespace multitree::runtime
