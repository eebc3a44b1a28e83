// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Allocations that fail.
#include <malloc.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include "tests/faults/failing.hpp"

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

// The C library's own, under names that nobody else has.
// NOLINTBEGIN(bugprone-reserved-identifier): they are the C library's
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace {

using failing::fails;
using failing::kMemory;

void* none() {
  errno = ENOMEM;
  return nullptr;
}

/// For operator new; \throws std::bad_alloc
void* allocated(std::size_t size, std::size_t alignment, const void* caller) {
  void* const memory = fails(kMemory, caller, "new")    ? nullptr
                       : alignment <= sizeof(void*) * 2 ? __libc_malloc(size)
                                                        : __libc_memalign(alignment, size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

EXPORTED void* malloc(std::size_t size) {
  return fails(kMemory, CALLER, "malloc") ? none() : __libc_malloc(size);
}
EXPORTED void* calloc(std::size_t count, std::size_t size) {
  return fails(kMemory, CALLER, "calloc") ? none() : __libc_calloc(count, size);
}
EXPORTED void* realloc(void* memory, std::size_t size) {
  return fails(kMemory, CALLER, "realloc") ? none() : __libc_realloc(memory, size);
}
EXPORTED void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return fails(kMemory, CALLER, "aligned_alloc") ? none() : __libc_memalign(alignment, size);
}
EXPORTED int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  if (fails(kMemory, CALLER, "posix_memalign")) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

#pragma GCC visibility push(default)
void* operator new(std::size_t size) { return allocated(size, 1, CALLER); }
void* operator new[](std::size_t size) { return allocated(size, 1, CALLER); }
void* operator new(std::size_t size, std::align_val_t to) {
  return allocated(size, static_cast<std::size_t>(to), CALLER);
}
void* operator new[](std::size_t size, std::align_val_t to) {
  return allocated(size, static_cast<std::size_t>(to), CALLER);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return fails(kMemory, CALLER, "new") ? nullptr : __libc_malloc(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return fails(kMemory, CALLER, "new") ? nullptr : __libc_malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#pragma GCC visibility pop
