// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What sanitizers have to be told where a thread goes from one stack to another: the address
/// sanitizer where the stack lies, as it looks after it where an exception is thrown; the thread
/// sanitizer which calls are under way there. Without one nothing is done.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define MULTITREE_ADDRESS_SANITIZER
#elif defined(__SANITIZE_THREAD__)
#define MULTITREE_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MULTITREE_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define MULTITREE_THREAD_SANITIZER
#endif
#endif

#if defined(MULTITREE_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#elif defined(MULTITREE_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

// Not a call of its own: the thread sanitizer would see it begin on one stack and end on another.
#define MULTITREE_INLINE inline __attribute__((always_inline))

namespace multitree::runtime::world {

/// Of a fiber, or the thread's own.
class SeenStack {
 public:
  SeenStack() = default;
  SeenStack(const SeenStack&) = delete;
  SeenStack& operator=(const SeenStack&) = delete;
#if defined(MULTITREE_THREAD_SANITIZER)
  ~SeenStack() {
    if (is_fiber_) __tsan_destroy_fiber(state_);
  }
#endif

  /// It is a fiber's.
  void begin([[maybe_unused]] const void* bottom, [[maybe_unused]] std::size_t bytes) {
#if defined(MULTITREE_ADDRESS_SANITIZER)
    bottom_ = bottom;
    bytes_ = bytes;
#elif defined(MULTITREE_THREAD_SANITIZER)
    state_ = __tsan_create_fiber(0);
    is_fiber_ = true;
#endif
  }
  /// It is the thread's own, on which this is called.
  void begin_here() {
#if defined(MULTITREE_THREAD_SANITIZER)
    state_ = __tsan_get_current_fiber();
#endif
  }

  /// To be followed by swapcontext(), and that, when this stack is gone on with, by arrive().
  MULTITREE_INLINE void leave_for([[maybe_unused]] const SeenStack& other) {
#if defined(MULTITREE_ADDRESS_SANITIZER)
    __sanitizer_start_switch_fiber(&state_, other.bottom_, other.bytes_);
#elif defined(MULTITREE_THREAD_SANITIZER)
    __tsan_switch_to_fiber(other.state_, 0);
#endif
  }
  /// The same for good.
  MULTITREE_INLINE void end_for([[maybe_unused]] const SeenStack& other) {
#if defined(MULTITREE_ADDRESS_SANITIZER)
    __sanitizer_start_switch_fiber(nullptr, other.bottom_, other.bytes_);
#elif defined(MULTITREE_THREAD_SANITIZER)
    __tsan_switch_to_fiber(other.state_, 0);
#endif
  }
  MULTITREE_INLINE void arrive_from([[maybe_unused]] SeenStack& other) {
#if defined(MULTITREE_ADDRESS_SANITIZER)
    __sanitizer_finish_switch_fiber(state_, &other.bottom_, &other.bytes_);
#endif
  }

#if defined(MULTITREE_ADDRESS_SANITIZER) || defined(MULTITREE_THREAD_SANITIZER)
 private:
  void* state_ = nullptr;  ///< the sanitizer's, of this stack
#endif
#if defined(MULTITREE_ADDRESS_SANITIZER)
  const void* bottom_ = nullptr;
  std::size_t bytes_ = 0;
#elif defined(MULTITREE_THREAD_SANITIZER)
  bool is_fiber_ = false;
#endif
};

}  // namespace multitree::runtime::world

#undef MULTITREE_INLINE
