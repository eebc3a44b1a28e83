// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fibers by ucontext(3), and their turns.
#include "tests/world/world.hpp"

#include <cxxabi.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "tests/world/stacks.hpp"

namespace multitree::runtime::world {
namespace {

constexpr std::size_t kStack = 256 * 1024;

/// Of fibers that have ended, for the next.
std::vector<void*>& spare_stacks() {
  static std::vector<void*> spare;
  return spare;
}

void* take_stack() {
  if (!spare_stacks().empty()) {
    void* const stack = spare_stacks().back();
    spare_stacks().pop_back();
    return stack;
  }
  void* const stack = ::mmap(nullptr, kStack, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) std::abort();
  return stack;
}

/// What a thread has of exceptions that are under way, of which each fiber has its own.
struct Exceptions {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};
Exceptions& exceptions_of_thread() {
  return *reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
}

World* current_world = nullptr;

}  // namespace

struct Fiber {
  std::uint64_t number = 0;
  std::uint32_t process = 0;
  std::function<void()> body;
  void* stack = nullptr;
  ucontext_t context{}, back{};
  SeenStack seen, seen_back;  ///< as sanitizers see the two
  Exceptions exceptions;
  int error = 0;  ///< errno
  std::uint64_t turn = 0;
  bool awaits = false;
  bool ended = false;

  ~Fiber() { spare_stacks().push_back(stack); }
};

Nanoseconds Random::delay(Nanoseconds most) {
  const std::uint64_t bits = below(64);
  const std::uint64_t scale = std::uint64_t{1}
                              << (bits % 16);  // an order of magnitude, then within
  const auto limit = static_cast<std::uint64_t>(std::max<std::int64_t>(1, most.count()));
  return Nanoseconds(static_cast<std::int64_t>(below(std::max<std::uint64_t>(1, limit / scale))));
}

World::World(std::uint64_t seed, bool tells) : random_(seed), tells_(tells) {}
World::~World() = default;
World* World::current() { return current_world; }

Fiber* World::find(std::uint64_t number) const {
  return number == 0 || number > fibers_.size() ? nullptr : fibers_[number - 1].get();
}

void World::push(Nanoseconds when, std::uint64_t fiber, std::function<void()> what) {
  // Of what happens at one time nobody knows what is first.
  const std::uint64_t order = random_.below(1U << 20) << 40 | count_++;
  Fiber* const meant = find(fiber);
  auto shared = what ? std::make_shared<std::function<void()>>(std::move(what)) : nullptr;
  events_.push({when, order, fiber, meant == nullptr ? 0 : meant->turn, std::move(shared)});
}

void World::enter(unsigned high, unsigned low) {
  const auto bits = std::uintptr_t{high} << 32 | low;
  Fiber& fiber = *reinterpret_cast<Fiber*>(bits);
  fiber.seen.arrive_from(fiber.seen_back);
  fiber.body();
  fiber.ended = true;
  --current_world->left_;
  fiber.seen.end_for(fiber.seen_back);
  ::swapcontext(&fiber.context, &fiber.back);
  std::abort();  // nobody comes back
}

std::uint64_t World::start(std::uint32_t process, std::function<void()> body) {
  auto fiber = std::make_unique<Fiber>();
  fiber->number = fibers_.size() + 1;
  fiber->process = process;
  fiber->body = std::move(body);
  fiber->stack = take_stack();
  fiber->seen.begin(fiber->stack, kStack);
  ::getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack;
  fiber->context.uc_stack.ss_size = kStack;
  fiber->context.uc_link = nullptr;
  const auto bits = reinterpret_cast<std::uintptr_t>(fiber.get());
  ::makecontext(&fiber->context, reinterpret_cast<void (*)()>(&World::enter), 2,
                static_cast<unsigned>(bits >> 32), static_cast<unsigned>(bits));
  const std::uint64_t number = fiber->number;
  fibers_.push_back(std::move(fiber));
  stopped_until_.resize(std::max<std::size_t>(stopped_until_.size(), process + 1));
  killed_.resize(stopped_until_.size());
  ++left_;
  push(now_, number, nullptr);
  return number;
}

void World::at(Nanoseconds when, std::function<void()> event) {
  push(std::max(when, now_), 0, std::move(event));
}

void World::resume(Fiber& fiber) {
  running_ = &fiber;
  ++fiber.turn;
  fiber.awaits = false;
  std::swap(exceptions_of_thread(), fiber.exceptions);
  errno = fiber.error;
  fiber.seen_back.begin_here();
  fiber.seen_back.leave_for(fiber.seen);
  ::swapcontext(&fiber.back, &fiber.context);
  fiber.seen_back.arrive_from(fiber.seen);
  fiber.error = errno;
  std::swap(exceptions_of_thread(), fiber.exceptions);
  running_ = nullptr;
}

void World::park() {
  Fiber& fiber = *running_;
  fiber.seen.leave_for(fiber.seen_back);
  ::swapcontext(&fiber.context, &fiber.back);
  fiber.seen.arrive_from(fiber.seen_back);
}

bool World::run(Nanoseconds limit) {
  current_world = this;
  while (left_ != 0 && !events_.empty() && events_.top().when <= limit) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.when;
    if (event.fiber == 0) {
      (*event.what)();
      continue;
    }
    Fiber& fiber = *find(event.fiber);
    if (fiber.ended || fiber.turn != event.turn || killed_[fiber.process]) continue;
    if (stopped_until_[fiber.process] > now_) {
      push(stopped_until_[fiber.process], fiber.number, nullptr);
      continue;
    }
    resume(fiber);
  }
  current_world = nullptr;
  return left_ == 0;
}

void World::sleep(Nanoseconds time) {
  push(now_ + std::max(time, Nanoseconds(1)), running_->number, nullptr);
  park();
}

void World::pause() {
  sleep(random_.chance(90) ? Nanoseconds(200 + random_.below(800)) : random_.delay(longest_pause_));
}

void World::await(Nanoseconds time) {
  running_->awaits = true;
  sleep(time);
}

void World::wake(std::uint32_t process) {
  for (const auto& fiber : fibers_) {
    if (fiber->process == process && fiber->awaits && !fiber->ended) {
      push(now_, fiber->number, nullptr);
    }
  }
}

std::uint64_t World::fiber() const { return running_ == nullptr ? 0 : running_->number; }
std::uint32_t World::process() const { return running_->process; }
bool World::has_ended(std::uint64_t fiber) const { return find(fiber)->ended; }
bool World::lives(std::uint32_t process) const { return !killed_[process]; }

void World::kill(std::uint32_t process) {
  if (killed_[process]) return;
  killed_[process] = true;
  note("dies", process);
  for (const auto& fiber : fibers_) {
    if (fiber->process != process || fiber->ended) continue;
    fiber->ended = true;
    --left_;
  }
  if (running_ != nullptr && running_->process == process) park();
}

void World::stop(std::uint32_t process, Nanoseconds time) {
  note("stops", process, static_cast<std::uint64_t>(time.count()));
  stopped_until_[process] = std::max(stopped_until_[process], now_ + time);
}

void World::note(std::string_view what, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  for (const std::uint64_t part : {static_cast<std::uint64_t>(now_.count()), a, b, c}) {
    history_ = (history_ ^ part) * 0x9e3779b97f4a7c15U;
    history_ ^= history_ >> 29;
  }
  for (const char letter : what)
    history_ = (history_ ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  if (tells_)
    fmt::print("{:12.6f} ms  {} {} {} {}\n", static_cast<double>(now_.count()) / 1e6, what, a, b,
               c);
}

}  // namespace multitree::runtime::world
