// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Starting collectives on device memory, and their progress.
#include "runtime/device/collectives_internal.hpp"
#include "topologies/thread.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>

namespace multitree::runtime::device {
namespace {

using Clock = std::chrono::steady_clock;

/// Rounds without any movement before the thread sleeps between them, and for how long: a device
/// takes some microseconds to do anything, and streams may be far behind.
constexpr std::uint32_t kEagerRounds = 2000;
constexpr std::chrono::microseconds kNap{20};
/// Between two looks for failures while only graphs may be running.
constexpr std::chrono::milliseconds kWatch{10};
/// Rounds after the last collective in which the network has nothing to do: what was sent may not
/// have left yet, and nobody else would see to that.
constexpr std::uint32_t kQuietRounds = 200;

constexpr std::array kPlaces{"pageable host memory", "pinned host memory", "device memory",
                             "managed memory"};

struct Named {
  const char* name;
  const void* pointer;
};

/// The buffers that this rank's call uses.
std::array<Named, 2> buffers_of(const Call& call) {
  return {{{"send", call.count == 0 ? nullptr : call.send},
           {"recv", call.count == 0 ? nullptr : call.recv}}};
}

}  // namespace

Collectives::Collectives(std::shared_ptr<Engine> engine, std::shared_ptr<const Device> device,
                         Routes routes, std::shared_ptr<Walking> walking, Deadline timeout)
    : engine_(std::move(engine)),
      device_(std::move(device)),
      routes_(std::move(routes)),
      walking_(std::move(walking)),
      timeout_(timeout) {}

Collectives::~Collectives() { stop("the communicator was destroyed"); }

bool Collectives::takes(const Call& call) const {
  int on_device = 0, on_host = 0;
  for (const Named& buffer : buffers_of(call)) {
    if (buffer.pointer == nullptr) continue;
    const Location location = device_->locate(buffer.pointer);
    const bool device = location.place == Place::Device || location.place == Place::Managed;
    ++(device ? on_device : on_host);
    if (location.place == Place::Device && location.device != device_->table().ordinal) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("{}: {} lies on device {}, but the communicator's is {}",
                              to_string(call.collective), buffer.name, location.device,
                              device_->table().ordinal));
    }
  }
  if (on_device != 0 && on_host != 0) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{}: send and recv must both be device memory or both host memory",
                            to_string(call.collective)));
  }
  return on_device != 0;
}

void Collectives::check_streamed(const Call& call) const {
  for (const Named& buffer : buffers_of(call)) {
    if (buffer.pointer == nullptr) continue;
    const Location location = device_->locate(buffer.pointer);
    const bool elsewhere =
        location.place == Place::Device && location.device != device_->table().ordinal;
    if (location.place != Place::Pageable && !elsewhere) continue;
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{}: {} lies in {}; a collective in the order of a stream takes memory "
                            "of device {} and pinned host memory",
                            to_string(call.collective), buffer.name,
                            elsewhere ? fmt::format("memory of device {}", location.device)
                                      : kPlaces[static_cast<std::size_t>(location.place)],
                            device_->table().ordinal));
  }
}

std::shared_ptr<StreamOperation> Collectives::start(std::shared_ptr<const LoadedProgram> program,
                                                    const Call& call, std::uint64_t sequence,
                                                    Stream stream, bool hold) {
  const bool captured = device_->capturing(stream);
  if (!thread_.joinable()) {
    workspace_ = std::make_shared<Workspace>(device_, routes_, walking_);
    engine_->share();
    thread_ = start_thread("streams", [this] { run(); });
  }
  auto operation =
      std::make_shared<StreamOperation>(engine_, workspace_, std::move(program), call, sequence);
  while (!make_room(*operation)) {
  }
  {
    const auto guard = engine_->guard();
    engine_->check_usable();
    if (captured) {
      operation->record(stream, timeout_);
    } else {
      operation->enqueue(stream, hold);
      operations_.push_back(operation);
      engine_->add({operation.get(), to_string(call.collective), sequence},
                   shared_call(call, operation->loaded()), true);
    }
  }
  {
    const std::scoped_lock lock(mutex_);
    (captured ? recorded_ : busy_) = true;
  }
  changed_.notify_all();
  return operation;
}

/// Allocating may wait until the device is idle, which it never is while a stream is held for a
/// collective that needs the allocation. So memory is there before the stream is held; and where
/// there is not enough, it is allocated when all earlier collectives are over. False: look again.
bool Collectives::make_room(const StreamOperation& operation) {
  std::vector<std::shared_ptr<StreamOperation>> earlier;
  {
    const auto guard = engine_->guard();
    engine_->check_usable();
    Needs needs = operation.needs();
    bool alone = true;
    for (const auto& other : operations_) {
      if (other->over()) continue;
      alone = false;
      needs.add(other->needs());
    }
    if (workspace_->has(needs)) return true;
    // As much as these take together: the next time they need not wait for each other.
    wanted_.enlarge(needs);
    if (alone) {
      workspace_->reserve(wanted_);
      return true;
    }
    earlier = operations_;
  }
  for (const auto& other : earlier) {
    try {
      other->wait(timeout_);
    } catch (const Error& error) {
      if (other->over()) continue;
      const auto guard = engine_->guard();
      engine_->give_up(error.what());  // the other ranks' part of this one has begun
      throw;
    }
  }
  return false;
}

/// Sleeps until something is outstanding; false: stop.
bool Collectives::await_work() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return busy_ || recorded_ || stopping_; });
  while (!changed_.wait_for(lock, kWatch, [&] { return busy_ || stopping_; })) {
    lock.unlock();
    watch();
    lock.lock();
  }
  busy_ = false;
  return !stopping_;
}

/// Kernels of graphs wait for their peers until the host gives up, and nobody waits for them here.
void Collectives::watch() {
  const auto guard = engine_->guard();
  if (engine_->usable()) {
    if (const auto failure = engine_->bootstrap().failure()) {
      engine_->give_up(*failure);
    } else if (const auto seat = walking_->stranger()) {
      engine_->give_up(
          fmt::format("a graph waits for rank {}, which sends what belongs to another "
                      "call: all ranks have to launch the same, in one order",
                      *seat));
    }
  }
  if (!engine_->usable()) walking_->give_up();
}

void Collectives::run() {
  while (await_work()) {
    std::uint32_t idle = 0;
    // Leaves when nothing is outstanding and the network is quiet.
    while (true) {
      const bool moved = round();
      idle = moved ? 0 : idle + 1;
      {
        const std::scoped_lock lock(mutex_);
        if (stopping_) return;
      }
      {
        const auto guard = engine_->guard();
        if (operations_.empty() && idle > kQuietRounds) break;
      }
      while (engine_->contended()) ::sched_yield();
      if (idle > kEagerRounds) std::this_thread::sleep_for(kNap);
    }
  }
}

/// One round of progress; what goes wrong ends all that is outstanding.
bool Collectives::round() {
  const auto guard = engine_->guard();
  if (engine_->usable()) {
    try {
      const bool moved = operations_.empty() ? engine_->transport().progress() : engine_->poll();
      reap();
      return moved;
    } catch (const Error& error) {
      fail_all(error.code(), engine_->usable() ? error.what() : engine_->broken());
    } catch (const std::exception& error) {
      fail_all(ErrorCode::Transport, error.what());
    }
  } else {
    fail_all(ErrorCode::Transport, engine_->broken());
  }
  return false;
}

void Collectives::fail_all(ErrorCode code, const std::string& reason) {
  engine_->give_up(reason);
  if (walking_ != nullptr) walking_->give_up();
  for (const auto& operation : operations_) operation->fail(code, reason);
  reap();
}

void Collectives::reap() {
  std::erase_if(operations_, [&](const std::shared_ptr<StreamOperation>& operation) {
    if (!operation->over()) return false;
    engine_->remove(*operation);
    return true;
  });
}

void Collectives::join() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Collectives::finish(Deadline deadline) {
  std::vector<std::shared_ptr<StreamOperation>> outstanding;
  {
    const auto guard = engine_->guard();
    outstanding = operations_;
  }
  for (const auto& operation : outstanding) operation->wait(deadline);
  join();
  if (workspace_ != nullptr) workspace_->mappings.clear();
  const auto guard = engine_->guard();
  finished_ = engine_->usable();
  if (finished_ && walking_ != nullptr) walking_->let_go();
}

void Collectives::stop(const std::string& reason) {
  join();
  const auto guard = engine_->guard();
  // Waiters may have ended what the thread, asleep or late, has not looked at since.
  reap();
  if (!operations_.empty()) fail_all(ErrorCode::Transport, reason);
  // Kernels of graphs wait for their peers too, and no operation stands for them.
  if (walking_ != nullptr && !finished_) walking_->give_up();
  // A peer that has not noticed yet may have begun to send.
  if (walking_ != nullptr && !finished_) bury(std::move(walking_));
}

void Collectives::keep() {
  if (walking_ != nullptr) bury(std::move(walking_));
}

std::string Collectives::describe(const std::vector<Seat>& peers) const {
  return fmt::format("{} ({}; {}{})", device_->table().description, device_->table().name,
                     device::describe(routes_, peers), walking_ == nullptr ? "" : ", one kernel");
}

}  // namespace multitree::runtime::device
