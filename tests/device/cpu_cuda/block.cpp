// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The threads of a CUDA block in one thread of the host.
#include "cpu_cuda/block.hpp"

#include <ucontext.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace multitree::runtime::test {
namespace {

constexpr std::size_t kStackBytes = std::size_t{128} << 10;

[[noreturn]] void die(const char* words) {
  std::fprintf(stderr, "a CUDA block on the host: %s\n", words);
  std::abort();
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kFibers = false;
#else
constexpr bool kFibers = true;
#endif

/// Threads that meet no barrier run one after the other in one fiber; one that meets one keeps its
/// fiber until it ends.
class Block {
 public:
  Block(unsigned threads, const std::function<void(unsigned)>& body)
      : threads_(threads), body_(body) {}

  void run() {
    Block* const before = current_;
    current_ = this;
    for (unsigned phase = 0; begun_ < threads_ || !waiting_.empty(); ++phase) turn(phase);
    current_ = before;
  }
  void wait() {
    if (threads_ == 1) return;
    if (!kFibers) die("sanitizers know no fibers: blocks of one thread only");
    waiting_.push_back(running_);
    swapcontext(&running_->context, &scheduler_);
  }
  static Block* current() { return current_; }

 private:
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<std::byte[]> stack = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
  };

  /// Up to the next barrier, or to the end.
  void turn(unsigned phase) {
    const std::vector<Fiber*> awake = std::move(waiting_);
    waiting_.clear();
    while (begun_ < threads_) {
      if (kFibers && threads_ > 1) {
        start();
      } else {
        body_(begun_++);
      }
    }
    const std::size_t count = awake.size();
    for (std::size_t i = 0; i < count; ++i) {
      // Once forwards and once backwards, beginning elsewhere each time.
      const std::size_t at = (phase / 2 + (phase % 2 == 0 ? i : count - 1 - i)) % count;
      resume(*awake[at]);
    }
    if (!waiting_.empty() && waiting_.size() != threads_) {
      die("some threads wait at a barrier that others do not meet");
    }
  }
  void start() {
    fibers_.push_back(std::make_unique<Fiber>());
    Fiber& fiber = *fibers_.back();
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = &scheduler_;
    makecontext(&fiber.context, &Block::begin, 0);
    resume(fiber);
  }
  void resume(Fiber& fiber) {
    running_ = &fiber;
    swapcontext(&scheduler_, &fiber.context);
  }
  static void begin() {
    Block& block = *current_;
    while (block.begun_ < block.threads_) block.body_(block.begun_++);
  }

  static inline thread_local Block* current_ = nullptr;
  unsigned threads_, begun_ = 0;
  const std::function<void(unsigned)>& body_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> waiting_;
  Fiber* running_ = nullptr;
  ucontext_t scheduler_;
};

}  // namespace

void run_block(unsigned threads, const std::function<void(unsigned)>& body) {
  Block(threads, body).run();
}

void sync_threads() { Block::current()->wait(); }

}  // namespace multitree::runtime::test
