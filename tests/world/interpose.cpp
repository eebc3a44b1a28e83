// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Time and threads of the C library, in place of its own: the runtime, which is compiled as
/// always, calls these. In a world they are the world's; outside they are the system's.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "tests/world/world.hpp"

using multitree::runtime::world::Nanoseconds;
using multitree::runtime::world::World;

namespace {

/// The one that would have been called.
template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

/// The world, where a fiber of it calls.
World* here() {
  World* const world = World::current();
  return world != nullptr && world->fiber() != 0 ? world : nullptr;
}

constexpr std::int64_t kSecond = 1'000'000'000;
/// Clocks begin late, as 0 is "never" here and there.
constexpr std::int64_t kBegin = 1'000 * kSecond;

timespec time_of(std::int64_t nanoseconds) {
  return {nanoseconds / kSecond, nanoseconds % kSecond};
}
std::int64_t count_of(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

}  // namespace

// NOLINTBEGIN: names and types of the C library
extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  World* const world = World::current();
  if (world == nullptr) return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  *time = time_of(world->now().count() + kBegin);
  return 0;
}

int nanosleep(const timespec* time, timespec* left) {
  if (World* const world = here()) {
    world->sleep(Nanoseconds(count_of(*time)));
    return 0;
  }
  return static_cast<int>(::syscall(SYS_nanosleep, time, left));
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  if (World* const world = here()) {
    const bool until = (flags & TIMER_ABSTIME) != 0;
    const std::int64_t now = until ? world->now().count() + kBegin : 0;
    world->sleep(Nanoseconds(count_of(*time) - now));
    return 0;
  }
  return ::syscall(SYS_clock_nanosleep, clock, flags, time, left) == 0 ? 0 : errno;
}

int sched_yield() noexcept {
  if (World* const world = here()) {
    world->pause();
    return 0;
  }
  return static_cast<int>(::syscall(SYS_sched_yield));
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) noexcept {
  World* const world = here();
  if (world == nullptr) {
    static const auto real = next<decltype(&pthread_create)>("pthread_create");
    return real(thread, attributes, body, argument);
  }
  *thread = world->start(world->process(), [body, argument] { body(argument); });
  return 0;
}

int pthread_join(pthread_t thread, void** result) {
  World* const world = here();
  if (world == nullptr) {
    static const auto real = next<decltype(&pthread_join)>("pthread_join");
    return real(thread, result);
  }
  while (!world->has_ended(thread)) world->pause();
  return 0;
}

}  // extern "C"
// NOLINTEND
