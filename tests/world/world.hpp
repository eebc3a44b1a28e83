// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A world of one thread: what would be threads of many processes are fibers, which take turns
/// where they wait; time is a number; all that may differ from run to run is drawn from one seed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace multitree::runtime::world {

using Nanoseconds = std::chrono::nanoseconds;
using namespace std::chrono_literals;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// Below `count`, which is not 0. The same with every standard library.
  std::uint64_t below(std::uint64_t count) { return engine_() % count; }
  bool chance(std::uint64_t percent) { return below(100) < percent; }
  template <typename Choices>
  auto& one_of(Choices& choices) {
    return choices[below(std::size(choices))];
  }
  /// From nothing to `most`, short ones more often than long ones.
  Nanoseconds delay(Nanoseconds most);

 private:
  std::mt19937_64 engine_;
};

struct Fiber;

class World {
 public:
  explicit World(std::uint64_t seed, bool tells = false);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// The one that this code runs in; null: none, as before and after run().
  static World* current();

  [[nodiscard]] Nanoseconds now() const { return now_; }
  Random& random() { return random_; }

  /// A thread of a process. Before run(), or from a fiber or an event.
  std::uint64_t start(std::uint32_t process, std::function<void()> body);
  /// Something that happens by itself.
  void at(Nanoseconds when, std::function<void()> event);
  void after(Nanoseconds delay, std::function<void()> event) { at(now_ + delay, std::move(event)); }
  /// Until no fiber is left. False: some still are at `limit`.
  bool run(Nanoseconds limit);

  // From a fiber.
  void sleep(Nanoseconds time);
  /// Others may take their turn; costs a little time, and sometimes more.
  void pause();
  /// Until wake(), or for `time`.
  void await(Nanoseconds time);
  [[nodiscard]] std::uint64_t fiber() const;
  [[nodiscard]] std::uint32_t process() const;
  [[nodiscard]] bool has_ended(std::uint64_t fiber) const;

  // Of a process.
  /// Its fibers run no more, as of a process that was killed: nothing is unwound. Does not come
  /// back to one of them.
  void kill(std::uint32_t process);
  /// They do not run until then.
  void stop(std::uint32_t process, Nanoseconds time);
  /// All of them that await something look again.
  void wake(std::uint32_t process);
  [[nodiscard]] bool lives(std::uint32_t process) const;

  /// How long a pause may be.
  void set_longest_pause(Nanoseconds most) { longest_pause_ = most; }

  /// What happens is part of the history, which the same seed repeats.
  void note(std::string_view what, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0);
  [[nodiscard]] std::uint64_t history() const { return history_; }
  [[nodiscard]] bool tells() const { return tells_; }

 private:
  struct Event {
    Nanoseconds when;
    std::uint64_t order;
    std::uint64_t fiber;  ///< 0: `what` is done
    std::uint64_t turn;   ///< of the fiber that is meant: it may have been woken before
    std::shared_ptr<std::function<void()>> what;
    bool operator>(const Event& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };

  void push(Nanoseconds when, std::uint64_t fiber, std::function<void()> what);
  void resume(Fiber& fiber);
  void park();
  [[nodiscard]] Fiber* find(std::uint64_t number) const;
  static void enter(unsigned high, unsigned low);

  Random random_;
  bool tells_;
  Nanoseconds now_{0};
  Nanoseconds longest_pause_ = 20us;
  std::uint64_t count_ = 0, history_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Nanoseconds> stopped_until_;  ///< by process
  std::vector<bool> killed_;                ///< the same
  Fiber* running_ = nullptr;
  std::size_t left_ = 0;  ///< fibers that have not ended
};

}  // namespace multitree::runtime::world
