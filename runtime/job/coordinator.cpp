// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The coordinator's event loop.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/job/coordinator_server_internal.hpp"
#include "runtime/job/tcp_internal.hpp"

namespace multitree::runtime {
namespace {

constexpr std::size_t kStrangerBytes = std::size_t{1} << 20;
/// How long a connection may take to begin something.
constexpr std::chrono::seconds kBeginning{10};
constexpr std::size_t kMaxStrangers = 256;
constexpr std::uint32_t kMostRanks = 1U << 20;

}  // namespace

Coordinator::Server::Server(Socket listener, std::uint32_t ranks, std::string token, bool in_charge)
    : listener_(std::move(listener)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      token_(std::move(token)) {
  assembly(kFirstJob, ranks, in_charge);
  thread_ = std::thread([this] { run(); });
}

Coordinator::Server::~Server() {
  {
    const std::scoped_lock lock(mutex_);
    stops_ = true;
  }
  wake();
  thread_.join();
}

Assembly& Coordinator::Server::assembly(JobNumber job, std::uint32_t ranks, bool in_charge) {
  return assemblies_.try_emplace(job, ranks, token_, in_charge).first->second;
}

void Coordinator::Server::wake() const {
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_.fd(), &one, sizeof one) == sizeof one);
}

void Coordinator::Server::order(std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    orders_.push_back(std::move(work));
  }
  wake();
}

void Coordinator::Server::order(JobNumber job, std::function<void(Assembly&)> work) {
  order([this, job, work = std::move(work)] {
    const auto it = assemblies_.find(job);
    if (it != assemblies_.end()) work(it->second);
  });
}

void Coordinator::Server::open_part(JobNumber job, std::uint32_t ranks, bool in_charge) {
  order([this, job, ranks, in_charge] { assembly(job, ranks, in_charge); });
}

void Coordinator::Server::run() {
  while (wait()) {
    accept_all();
    for (Caller& caller : callers_) receive(caller);
    serve_all();
    callers_.remove_if([this](const Caller& caller) { return is_over(caller); });
  }
  say_goodbye();
}

void Coordinator::Server::serve_all() {
  for (auto& [job, assembly] : assemblies_) assembly.serve();
  std::erase_if(assemblies_,
                [](const auto& entry) { return entry.first != kFirstJob && entry.second.over(); });
}

/// False when it is time to stop.
bool Coordinator::Server::wait() {
  std::vector<pollfd> events{{wake_.fd(), POLLIN, 0}, {listener_.fd(), POLLIN, 0}};
  for (const Caller& caller : callers_) {
    const bool output = !caller.trunk->flushed();
    events.push_back(
        {caller.trunk->fd(), static_cast<short>(output ? POLLIN | POLLOUT : POLLIN), 0});
  }
  ::poll(events.data(), events.size(), patience());
  return (events[0].revents & POLLIN) == 0 || take_orders();
}

/// What other threads want. False: to stop.
bool Coordinator::Server::take_orders() {
  std::uint64_t count = 0;
  static_cast<void>(::read(wake_.fd(), &count, sizeof count));
  std::vector<std::function<void()>> orders;
  bool stops = false;
  {
    const std::scoped_lock lock(mutex_);
    stops = stops_;
    orders.swap(orders_);
  }
  // What the ranks of this process sent before they gave an order comes first: one that fails and
  // then leaves is to be heard by the others in that order.
  for (Caller& caller : callers_) receive(caller);
  for (const auto& work : orders) work();
  return !stops;
}

int Coordinator::Server::patience() const {
  const bool strangers =
      std::ranges::any_of(callers_, [](const Caller& caller) { return !caller.trunk->trusted(); });
  int wait = strangers ? 500 : -1;
  for (const auto& [job, assembly] : assemblies_) {
    const int due = assembly.patience();
    if (due >= 0) wait = wait < 0 ? due : std::min(wait, due);
  }
  return wait;
}

void Coordinator::Server::accept_all() {
  while (true) {
    Socket socket = accept_from(listener_);
    if (!socket.open()) return;
    const auto strangers = static_cast<std::size_t>(std::ranges::count_if(
        callers_, [](const Caller& caller) { return !caller.trunk->trusted(); }));
    if (strangers >= kMaxStrangers) continue;  // closes it
    callers_.push_back({std::make_shared<Trunk>(std::move(socket), Trunk::Welcomes::Jobs)});
    callers_.back().trunk->set_limit(kStrangerBytes);
  }
}

void Coordinator::Server::receive(Caller& caller) {
  caller.trunk->fill();
  for (const auto& [job, first] : caller.trunk->beginnings()) begin(caller.trunk, job, first);
  caller.had_lines = caller.had_lines || caller.trunk->has_lines();
}

/// Whoever may begin a part knows the token of the whole, and says how large it is.
void Coordinator::Server::begin(const std::shared_ptr<Trunk>& trunk, JobNumber job,
                                FrameType first) {
  auto it = assemblies_.find(job);
  const bool begins = first == FrameType::Hello || first == FrameType::Rejoin;
  if (it == assemblies_.end() && first == FrameType::Hello) {
    JobLine line(trunk, job);
    const auto frame = line.next();
    const auto hello = read_hello(frame->payload);
    if (hello && hello->token == token_ && hello->size <= kMostRanks) {
      it = assemblies_.try_emplace(job, hello->size, token_, true).first;
      return it->second.add(std::move(line), *frame);
    }
    return assemblies_.at(kFirstJob).add(std::move(line), *frame);
  }
  if (it == assemblies_.end() && first == FrameType::Rejoin) {
    JobLine line(trunk, job);
    return line.send(FrameType::Elsewhere, {});
  }
  // What is left of a line that was closed here.
  if (!begins && trunk->trusted()) return trunk->drop(job);
  if (it == assemblies_.end()) it = assemblies_.find(kFirstJob);
  it->second.add(JobLine(trunk, job));
}

bool Coordinator::Server::is_over(const Caller& caller) const {
  if (caller.trunk->ended()) return true;
  if (caller.trunk->has_lines()) return false;
  const bool late = Clock::now() - caller.since > kBeginning;
  return caller.had_lines ? caller.trunk->flushed() : late;
}

void Coordinator::Server::say_goodbye() {
  for (Caller& caller : callers_) receive(caller);
  listener_.close();
  for (auto& [job, assembly] : assemblies_) assembly.leave();
  while (!std::ranges::all_of(assemblies_, [](const auto& entry) { return entry.second.over(); })) {
    std::vector<pollfd> events;
    for (const Caller& caller : callers_) {
      if (!caller.trunk->ended()) events.push_back({caller.trunk->fd(), POLLIN, 0});
    }
    ::poll(events.data(), events.size(), 5);
    for (Caller& caller : callers_) caller.trunk->fill();
    for (auto& [job, assembly] : assemblies_) assembly.serve();
  }
}

Coordinator::Coordinator(Socket listener, std::uint32_t ranks, std::string token, bool in_charge)
    : port_(port_of(listener)),
      address_(local_address(listener)),
      server_(std::make_unique<Server>(std::move(listener), ranks, std::move(token), in_charge)) {}

Coordinator::~Coordinator() = default;

void Coordinator::died(Origin rank, const std::string& how) {
  server_->order(kFirstJob, [rank, how](Assembly& assembly) { assembly.died(rank, how); });
}

void Coordinator::open_part(JobNumber job, std::uint32_t ranks, bool in_charge) {
  server_->open_part(job, ranks, in_charge);
}

void Coordinator::stand_by(Standing standing, std::vector<Door> doors, JobNumber job) {
  server_->order(job, [standing = std::move(standing), doors = std::move(doors)](Assembly& one) {
    one.stand_by(standing, doors);
  });
}

void Coordinator::retire(JobNumber job) {
  server_->order(job, [](Assembly& assembly) { assembly.retire(); });
}

void Coordinator::leave(JobNumber job) {
  server_->order(job, [](Assembly& assembly) { assembly.leave(); });
}

}  // namespace multitree::runtime
