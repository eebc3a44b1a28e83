// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From its making to its end.
#include "runtime/communicator_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>

#include "runtime/execution/custom_op_internal.hpp"
#include "runtime/execution/exact_sum_internal.hpp"
#include "runtime/host/host_path_internal.hpp"
#include "runtime/host/mail_internal.hpp"
#include "runtime/messages/checksum_internal.hpp"
#include "topologies/error.hpp"
#include "topologies/exception_words.hpp"

namespace multitree::runtime {
namespace {

[[noreturn]] void reject(const std::string& message) {
  throw Error(ErrorCode::InvalidArgument, message);
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
    const std::string what = fmt::format("rank {}: {} ({})", job.seat(), *cause, error.what());
    if (const auto link = job.dead_link()) throw LinkError(*link, what);
    throw Error(ErrorCode::Transport, what);
  }
}

void Communicator::Impl::check_usable() const {
  const auto guard = engine->guard();
  engine->check_usable();
}

void Communicator::Impl::check_wire(const Call& call, bool on_device) {
  const bool any_float = call.wire == WireType::Lossless;
  const bool fits = any_float ? !is_integer(call.type) : call.type == DataType::Float32;
  if (call.wire == WireType::AsIs || (fits && !on_device)) return;
  throw Error(
      ErrorCode::Unsupported,
      fmt::format("{} with {} on the wire: expected {} in host memory, found {}{}",
                  to_string(call.collective), to_string(call.wire), any_float ? "floats" : "float",
                  to_string(call.type), on_device ? " on a device" : ""));
}

void Communicator::Impl::check_summing(const Call& call, bool on_device) {
  if (!is_exact_sum(call) || (call.wire == WireType::AsIs && !on_device)) return;
  throw Error(ErrorCode::Unsupported,
              fmt::format("{} with {} sums: expected host memory and numbers as they are on the "
                          "wire, found {}",
                          to_string(call.collective), to_string(call.summing),
                          on_device ? "memory of a device" : to_string(call.wire)));
}

std::uint64_t Communicator::Impl::own_calls_before(std::uint64_t number) const {
  const auto first = std::ranges::lower_bound(maxima, number);
  return host->own_calls_before(number) + static_cast<std::uint64_t>(first - maxima.begin());
}

Path& Communicator::Impl::path_of(const Call& call) {
  check_operator(call);
  const bool on_device = device != nullptr && device->takes(call);
  check_wire(call, on_device);
  check_summing(call, on_device);
  if (on_device) return *device;
  if (host->sends_messages() && engine->bootstrap().size() > 1) check_operator_by_messages(call);
  return *host;
}

std::unique_ptr<Operation> Communicator::Impl::start(const Call& call, Path& path,
                                                     std::shared_ptr<const LoadedProgram> program) {
  if (is_exact_sum(call)) {
    maxima.push_back(sequence);
    return std::make_unique<ExactSum>(*host, call, sequence, engine);
  }
  if (reduces(call.collective) && call.op == ReduceOp::PreMulSum) {
    return std::make_unique<PreMultiplied>(path, call, std::move(program), sequence++, engine);
  }
  return path.start(call, std::move(program), sequence++);
}

device::Identities Communicator::Impl::find_devices(Bootstrap& job) {
  if (!options.devices) return {};
  if (options.device == nullptr && device::cuda_is_loaded()) {
    std::string why;  // a process with the driver and no device has host memory only
    options.device = device::open_cuda(-1, why);
  }
  return device::gather_identities(job, options.device.get(), options.timeout);
}

void Communicator::Impl::open_device(Bootstrap& job, const device::Identities& identities,
                                     Planned planned) {
  if (!options.devices) return;
  const bool sends_messages = host->sends_messages();
  device::Routes routes;
  if (sends_messages) {
    routes = device::agree_on_routes(job, options.device.get(), identities,
                                     engine->transport().takes_device_memory(), options.timeout);
  }
  if (options.device == nullptr) return;
  auto walking = device::Walking::join(job, options.device, identities, routes,
                                       options.kernel_segment_bytes, options.timeout);
  if (walking != nullptr) planned.cut_into(walking->message_bytes());
  auto collectives = std::make_unique<device::Collectives>(
      engine, options.device, std::move(routes), std::move(walking), options.timeout);
  device = std::make_unique<device::DevicePath>(std::move(planned), std::move(collectives),
                                                sends_messages, options.timeout);
  if (sends_messages) description += fmt::format(", on {}", device->describe());
}

void Communicator::Impl::close_device(bool finish, const std::string& reason) {
  if (device != nullptr) device->close(finish, reason);
}

/// Decided alike by all ranks: they have the same options, and join() answers the same to all.
std::unique_ptr<host::Group> Communicator::Impl::join_host(Bootstrap& job, bool wanted) const {
  if (job.size() == 1 || !wanted) return nullptr;
  std::string why_not;
  auto group = host::Group::join(job, options.timeout, why_not);
  if (group == nullptr && options.host_path == HostPath::Required) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("rank {}: cannot go without messages: {}", job.seat(), why_not));
  }
  return group;
}

std::unique_ptr<Replanner> Communicator::Impl::make_replanner(
    const Planned& planned, std::shared_ptr<const Remaking> remaking) const {
  const bool adapts = on_link_failure(options.on_link_failure) == OnLinkFailure::Adapt;
  const std::uint32_t ranks = engine->bootstrap().size();
  if (!adapts || ranks == 1 || remaking == nullptr || remaking->network.num_ranks() != ranks) {
    return nullptr;
  }
  return std::make_unique<Replanner>(planned, std::move(remaking), options.timeout);
}

namespace {

/// The root follows its process; where that is lost the lowest rank is the root.
Rank root_after(Rank root, const Shrunk& shrunk) {
  const auto found = std::ranges::find(shrunk.survivors, seat_of(root));
  if (found == shrunk.survivors.end()) return Rank{0};
  return Rank{static_cast<std::uint32_t>(found - shrunk.survivors.begin())};
}

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
  if (options.kernel_segment_bytes == 0) reject("kernel_segment_bytes must be at least 1");
  static_cast<void>(find_transport(options.transport));  // also where none is needed
  impl_->progress = progress_choice(options.progress);
  impl_->looks_through = checks_finite(options.check_finite);
  if (index(options.root) >= job.size()) {
    reject(fmt::format("root {} of {} ranks: expected less", options.root, job.size()));
  }
  const std::shared_ptr<const Refining> refining = plans.refining;
  const std::shared_ptr<const Remaking> remaking = plans.remaking;
  const bool free_to_choose = plans.plans.empty() || plans.replaceable;
  const auto programs =
      std::make_shared<Programs>(std::move(plans), rank_at(job.seat()), job.size());
  impl_->options = std::move(options);
  const device::Identities devices = impl_->find_devices(job);
  // Vectors on a device would have to be copied to the host and back as a whole.
  const bool on_hosts = std::ranges::all_of(devices, &std::string::empty);
  const HostPath wanted = impl_->options.host_path;
  std::shared_ptr<host::Group> group =
      impl_->join_host(job, wanted == HostPath::Required ||
                                (wanted == HostPath::Auto && free_to_choose && on_hosts));
  std::unique_ptr<Transport> transport =
      group != nullptr ? host::make_mail(group)
                       : open_transport(impl_->options.transport, job,
                                        {programs->peers(), impl_->options.timeout,
                                         link_timeout(impl_->options.link_timeout),
                                         on_link_failure(impl_->options.on_link_failure),
                                         encrypts(impl_->options.encrypt)});
  std::vector<Seat> peers;
  if (group == nullptr) peers = programs->peers();
  if (impl_->options.checksums) transport = with_checksums(std::move(transport));
  impl_->description = fmt::format("rank {} of {}, {}, started by {}", job.seat(), job.size(),
                                   transport->describe(), job.describe());
  impl_->engine = std::make_shared<Engine>(std::move(bootstrap), std::move(transport), peers,
                                           impl_->options.timeout);
  impl_->record = flight::FlightRecorder::open(impl_->engine->bootstrap());
  impl_->engine->keep_record(impl_->record);
  Planned planned(impl_->engine, programs, impl_->options);
  if (on_hosts) planned.coalesce();
  if (group != nullptr) {
    impl_->engine->allow_naps(job.size() / group->processors());
    impl_->host =
        std::make_unique<host::HostPath>(impl_->engine, std::move(group), programs, impl_->options);
  } else {
    impl_->host = std::make_unique<MessagePath>(planned, impl_->options.recorder, refining,
                                                impl_->make_replanner(planned, remaking));
  }
  impl_->open_device(job, devices, planned);
  impl_->exchanges = std::make_unique<Exchanges>(impl_->engine, *impl_->host);
}

namespace {

/// Most often another communicator has thrown it just now.
std::string words_of_exception() {
  const std::string cause = recent_failure();
  return "left by an exception" + (cause.empty() ? "" : ": " + cause);
}

}  // namespace

Communicator::~Communicator() {
  Engine& engine = *impl_->engine;
  if (engine.forked()) {
    static_cast<void>(impl_.release());  // all of it is the other process's
    return;
  }
  try {
    engine.stop_progress();
    impl_->close_device(std::uncaught_exceptions() == impl_->exceptions,
                        "the communicator was destroyed");
    if (!engine.usable()) return;
    if (std::uncaught_exceptions() > impl_->exceptions) {
      engine.give_up(words_of_exception());
      return;
    }
    engine.wait_all();
    engine.drain();
    // Nobody closes while a peer may still need this end.
    engine.barrier();
  } catch (const std::exception& error) {
    engine.give_up(plain_words(error));
    if (impl_->device != nullptr) impl_->device->keep();
  }
}

void Communicator::settle() {
  Engine& engine = *impl_->engine;
  engine.stop_progress();
  impl_->close_device(true, "the communicator is being shrunk");  // and with it the other thread
  if (engine.usable()) {
    try {
      engine.wait_all();
      engine.drain();
    } catch (const Error&) {  // what could not be finished is given up, as after any other failure
    }
  }
}

std::unique_ptr<Communicator> Communicator::shrink(const Replan& replan, Deadline deadline) {
  return shrink([&](const Shrunk& shrunk) { return replan(shrunk.survivors); }, deadline);
}

std::unique_ptr<Communicator> Communicator::shrink(const ReplanAround& replan, Deadline deadline) {
  Engine& engine = *impl_->engine;
  if (engine.forked()) engine.check_usable();  // it throws: the job is another process's
  settle();
  // Not earlier: a rank that gives up cancels what others may still be waiting for.
  const Shrunk shrunk = engine.bootstrap().shrink(deadline);
  engine.give_up("it was shrunk to another");
  const std::uint64_t finished = agree_on_finished(*shrunk.job, engine, impl_->sequence, deadline);
  CommunicatorOptions options = impl_->options;
  options.root = root_after(options.root, shrunk);
  auto communicator =
      std::make_unique<Communicator>(shrunk.job, replan(shrunk), std::move(options));
  communicator->impl_->finished_before = finished - impl_->own_calls_before(finished);
  return communicator;
}

}  // namespace multitree::runtime
