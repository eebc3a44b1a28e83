// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The coordinator's event loop.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "runtime/job/coordinator_server_internal.hpp"
#include "runtime/job/interfaces_internal.hpp"
#include "runtime/job/log_internal.hpp"
#include "runtime/job/tcp_internal.hpp"
#include "topologies/error.hpp"
#include "topologies/exception_words.hpp"
#include "topologies/thread.hpp"

namespace multitree::runtime {
namespace {

/// The longest frame of one who has not joined yet: who comes again tells all members that it
/// knows.
constexpr std::size_t kNewcomerBytes = std::size_t{16} << 20;
/// How long a connection may take to begin something.
constexpr std::chrono::seconds kBeginning{10};
/// Of those who have not said yet who they are so many are heard at a time, and no more than this
/// share of the descriptors that the process may have.
constexpr std::size_t kMostStrangers = 4096, kShareOfDescriptors = 4;
/// Between two looks at those who have to say who they are.
constexpr std::chrono::milliseconds kSweep{500};

std::size_t most_strangers() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMostStrangers / kShareOfDescriptors;
  const std::size_t share = limit.rlim_cur / kShareOfDescriptors;
  return std::clamp<std::size_t>(share, 1, kMostStrangers);
}

/// \pre a system call has failed
[[noreturn]] void fail(const char* call) {
  throw Error(ErrorCode::Io,
              fmt::format("cannot open a rendezvous: {}: {}", call, std::strerror(errno)));
}

}  // namespace

Coordinator::Server::Server(Socket listener, std::uint32_t ranks, const std::string& token,
                            bool in_charge)
    : listener_(std::move(listener)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      key_(key_of(token)),
      most_strangers_(most_strangers()) {
  if (!wake_.open()) fail("eventfd");
  if (!epoll_.open()) fail("epoll_create1");
  assembly(kFirstJob, ranks, in_charge);
  if (!watch(wake_.fd(), EPOLLIN) || !watch(listener_.fd(), EPOLLIN)) fail("epoll_ctl");
  thread_ = start_thread("the rendezvous", [this] { run(); });
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
  return assemblies_.try_emplace(job, ranks, in_charge).first->second;
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

bool Coordinator::Server::watch(int fd, std::uint32_t events) const {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  return ::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Coordinator::Server::run() {
  try {
    serve_all();
  } catch (const std::exception& error) {
    give_up(error);
  }
}

/// As memory is exhausted: of what was being done half is missing. All connections end, by which
/// every rank knows that the meeting point is gone.
void Coordinator::Server::give_up(const std::exception& cause) {
  listener_.close();
  assemblies_.clear();
  ledgers_.clear();
  strangers_.clear();
  callers_.clear();
  try {
    logger().error("the rendezvous has ended: {}", plain_words(cause));
  } catch (const std::exception&) {  // no memory for words either
  }
}

void Coordinator::Server::serve_all() {
  while (true) {
    const int due = patience();
    const Ready ready = wait(due);
    if (ready.orders && !take_orders()) break;
    if (ready.listener) accept_all();
    for (const int fd : ready.callers) {
      // One may have had to make room for another, which then has its descriptor.
      if (const auto it = callers_.find(fd); it != callers_.end()) receive(it->second);
    }
    for (const int caller : ready.callers) remove_if_over(caller);
    const bool late = due >= 0 && Clock::now() - swept_ >= std::chrono::milliseconds(due);
    if (ready.orders || late) sweep();
  }
  say_goodbye();
}

/// Callers are told of by edges: each is asked for all that it has said, and given all that it
/// takes.
Coordinator::Server::Ready Coordinator::Server::wait(int milliseconds) {
  std::array<epoll_event, 256> events;
  const int count =
      ::epoll_wait(epoll_.fd(), events.data(), static_cast<int>(events.size()), milliseconds);
  Ready ready;
  for (int i = 0; i < count; ++i) {
    const int fd = events[static_cast<std::size_t>(i)].data.fd;
    ready.orders = ready.orders || fd == wake_.fd();
    ready.listener = ready.listener || fd == listener_.fd();
    if (fd != wake_.fd() && fd != listener_.fd()) ready.callers.push_back(fd);
  }
  return ready;
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
  receive_all();
  for (const auto& work : orders) work();
  return !stops;
}

int Coordinator::Server::patience() const {
  int wait = unsettled_ ? static_cast<int>(kSweep.count()) : -1;
  for (const auto& [job, assembly] : assemblies_) {
    const int due = assembly.patience();
    if (due >= 0) wait = wait < 0 ? due : std::min(wait, due);
  }
  return wait;
}

void Coordinator::Server::accept_all() {
  while (true) {
    Socket socket = accept_from(listener_);
    if (socket.open()) {
      accept(std::move(socket));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      if (let_the_oldest_stranger_go()) continue;
      // Whoever is at the door stays there, and the door would call for ever.
      ::epoll_ctl(epoll_.fd(), EPOLL_CTL_DEL, listener_.fd(), nullptr);
      hears_knocks_ = false;
      unsettled_ = true;
      return;
    } else if (errno != ECONNABORTED && errno != EINTR) {
      return;
    }
  }
}

void Coordinator::Server::accept(Socket socket) {
  if (!may_be_met_at(local_address(socket))) return;
  if (strangers_.size() >= most_strangers_) let_the_oldest_stranger_go();
  const int fd = socket.fd();
  auto trunk = std::make_shared<Trunk>(std::move(socket), key_, Trunk::Welcomes::Jobs);
  trunk->set_limit(kNewcomerBytes);
  callers_.insert_or_assign(fd, Caller{.trunk = std::move(trunk), .number = came_});
  strangers_.emplace(came_++, fd);
  unsettled_ = true;
  if (!watch(fd, EPOLLIN | EPOLLOUT | EPOLLET)) forget(fd);  // it would never be heard
}

/// Those who come and say nothing, however many, are not to keep out those who do: a rank says at
/// once who it is, and one that was let go comes again. False: there is none.
bool Coordinator::Server::let_the_oldest_stranger_go() {
  while (!strangers_.empty()) {
    const int fd = strangers_.begin()->second;
    Caller& caller = callers_.at(fd);
    receive(caller);  // it may have said so meanwhile
    if (!caller.is_stranger) continue;
    forget(fd);
    return true;
  }
  return false;
}

/// No more is to be heard of it, even where another process has the socket as well, by a fork.
void Coordinator::Server::forget(int fd) {
  const auto it = callers_.find(fd);
  ::epoll_ctl(epoll_.fd(), EPOLL_CTL_DEL, fd, nullptr);
  if (it->second.is_stranger) strangers_.erase(it->second.number);
  callers_.erase(it);
}

void Coordinator::Server::receive_all() {
  for (auto& [fd, caller] : callers_) receive(caller);
}

void Coordinator::Server::receive(Caller& caller) {
  Trunk& trunk = *caller.trunk;
  trunk.fill();
  for (const auto& [job, has_line, first] : trunk.news()) {
    if (!has_line) begin(caller.trunk, job, first);
    serve(trunk, job);
  }
  caller.had_lines = caller.had_lines || trunk.has_lines();
  if (!caller.is_stranger) return;
  if (trunk.forged()) {
    logger().info("a process that came to the rendezvous was refused: {}", kWrongToken);
  }
  if (!trunk.known()) return;
  caller.is_stranger = false;
  strangers_.erase(caller.number);
}

void Coordinator::Server::serve(const Trunk& trunk, JobNumber job) {
  if (const auto ledger = ledgers_.find(job); ledger != ledgers_.end()) {
    ledger->second.serve(trunk);
    if (ledger->second.over()) ledgers_.erase(ledger);
    return;
  }
  const auto it = assemblies_.find(job);
  if (it == assemblies_.end()) return assemblies_.at(kFirstJob).serve(trunk, job);
  it->second.serve(trunk, job);
  if (job != kFirstJob && it->second.over()) assemblies_.erase(it);
}

void Coordinator::Server::sweep() {
  swept_ = Clock::now();
  unsettled_ = std::ranges::any_of(
      callers_, [](const auto& entry) { return !entry.second.trunk->trusted(); });
  if (!hears_knocks_) hears_knocks_ = watch(listener_.fd(), EPOLLIN);
  unsettled_ = unsettled_ || !hears_knocks_;
  for (auto& [job, assembly] : assemblies_) {
    assembly.serve();
    unsettled_ = unsettled_ || assembly.has_strangers();
  }
  std::erase_if(assemblies_,
                [](const auto& entry) { return entry.first != kFirstJob && entry.second.over(); });
  for (auto it = callers_.begin(); it != callers_.end();) remove_if_over((it++)->first);
}

/// Whoever may begin a part knows the key of the whole, and says how large it is.
void Coordinator::Server::begin(const std::shared_ptr<Trunk>& trunk, JobNumber job,
                                FrameType first) {
  auto it = assemblies_.find(job);
  const bool begins = first == FrameType::Hello || first == FrameType::Rejoin;
  if (it == assemblies_.end() && first == FrameType::Hello) {
    JobLine line(trunk, job);
    const auto frame = line.next();
    const auto hello = read_hello(frame->payload);
    if (hello && hello->size <= kMostRanks) {
      it = assemblies_.try_emplace(job, hello->size, true).first;
      return it->second.add(std::move(line), *frame);
    }
    return assemblies_.at(kFirstJob).add(std::move(line), *frame);
  }
  if (first == FrameType::OpenBook && it == assemblies_.end() && trunk->trusted()) {
    return ledgers_[job].add(JobLine(trunk, job));
  }
  if (it == assemblies_.end() && first == FrameType::Rejoin) {
    JobLine line(trunk, job);
    return line.send(FrameType::Elsewhere, {});
  }
  unsettled_ = true;
  // What is left of a line that was closed here.
  if (!begins && trunk->trusted()) return trunk->drop(job);
  if (it == assemblies_.end()) it = assemblies_.find(kFirstJob);
  it->second.add(JobLine(trunk, job));
}

void Coordinator::Server::remove_if_over(int fd) {
  const auto it = callers_.find(fd);
  if (it != callers_.end() && is_over(it->second)) forget(fd);
}

bool Coordinator::Server::is_over(const Caller& caller) const {
  if (caller.trunk->ended()) return true;
  if (caller.trunk->has_lines()) return false;
  const bool late = Clock::now() - caller.since > kBeginning;
  return caller.had_lines ? caller.trunk->flushed() : late;
}

void Coordinator::Server::say_goodbye() {
  receive_all();
  ::epoll_ctl(epoll_.fd(), EPOLL_CTL_DEL, listener_.fd(), nullptr);
  listener_.close();
  for (auto& [job, assembly] : assemblies_) assembly.leave();
  while (!std::ranges::all_of(assemblies_, [](const auto& entry) { return entry.second.over(); })) {
    for (const int caller : wait(5).callers) callers_.at(caller).trunk->fill();
    for (auto& [job, assembly] : assemblies_) assembly.serve();
  }
}

Coordinator::Coordinator(Socket listener, std::uint32_t ranks, const std::string& token,
                         bool in_charge)
    : port_(port_of(listener)),
      address_(local_address(listener)),
      server_(std::make_unique<Server>(std::move(listener), ranks, token, in_charge)) {}

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
