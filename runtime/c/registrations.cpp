// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mtCommRegister(), mtCommDeregister().
#include "runtime/c/registrations_internal.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <vector>

#include "runtime/c/comm_internal.hpp"
#include "runtime/device/device.hpp"

namespace multitree::runtime::c {
namespace {

constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20;
/// Looked at by one system call, a byte of answer a page.
constexpr std::uintptr_t kPagesAtATime = 65'536;
/// Of Linux 6.1; other kernels refuse it.
constexpr int kCollapse = 25;

/// Where no memory is within `bytes` from `begin`; null if there is everywhere.
const void* first_hole(std::uintptr_t begin, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> answer(std::min(bytes / page + 2, kPagesAtATime));
  const std::uintptr_t end = begin + bytes;
  for (std::uintptr_t at = begin / page * page; at < end;) {
    const std::uintptr_t most = std::min(answer.size() * page, end - at);
    if (::mincore(reinterpret_cast<void*>(at), most, answer.data()) == 0) {
      at += (most + page - 1) / page * page;
    } else if (errno != ENOMEM || answer.size() == 1) {
      return reinterpret_cast<const void*>(std::max(at, begin));
    } else {
      answer.resize(answer.size() / 2);  // down to the page that is not there
    }
  }
  return nullptr;
}

/// Peers look up every page that they read: of huge ones there are 512 times fewer. Best effort,
/// and no byte changes.
void make_pages_huge(std::uintptr_t begin, std::size_t bytes) {
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const std::uintptr_t last = (begin + bytes) / kHugePage * kHugePage;
  if (first >= last) return;
  auto* const whole = reinterpret_cast<void*>(first);
  if (::madvise(whole, last - first, MADV_HUGEPAGE) != 0) return;
  static_cast<void>(::madvise(whole, last - first, kCollapse));
}

/// Far from small numbers and addresses, as the handles of communicators.
std::uintptr_t next_handle() {
  static std::atomic<std::uintptr_t> last{0};
  return (std::uintptr_t{0x6d72} << 32) + 2 * ++last + 1;
}

}  // namespace

std::uintptr_t Registrations::add(const void* buffer, std::size_t bytes, bool on_host) {
  const auto begin = reinterpret_cast<std::uintptr_t>(buffer);
  if (bytes == 0) throw Failure(mtInvalidArgument, "size: expected 1 byte or more, found 0");
  if (begin + bytes < begin) {
    throw Failure(mtInvalidArgument,
                  fmt::format("size: {} bytes do not fit the address space", bytes));
  }
  if (on_host) {
    if (const void* const hole = first_hole(begin, bytes)) {
      throw Failure(mtInvalidArgument,
                    fmt::format("buffer: expected {} bytes of this process from {}, found no "
                                "memory at {}",
                                bytes, buffer, hole));
    }
    make_pages_huge(begin, bytes);
  }
  const std::uintptr_t handle = next_handle();
  const std::scoped_lock lock(mutex_);
  handles_.insert(handle);
  return handle;
}

void Registrations::remove(std::uintptr_t handle) {
  const std::scoped_lock lock(mutex_);
  if (handles_.erase(handle) != 0) return;
  throw Failure(mtInvalidArgument,
                "handle: expected one of mtCommRegister() with this communicator, found another, "
                "or one that was given back");
}

void* Comm::enroll(const void* buffer, std::size_t bytes) {
  check_usable();
  const auto& device = settings_.options.device;
  const bool on_host = device == nullptr || device->locate(buffer).place == device::Place::Pageable;
  return reinterpret_cast<void*>(registrations_.add(buffer, bytes, on_host));
}

void Comm::strike(const void* handle) {
  registrations_.remove(reinterpret_cast<std::uintptr_t>(handle));
}

}  // namespace multitree::runtime::c

using namespace multitree::runtime::c;

mtResult_t mtCommRegister(mtComm_t comm, void* buffer, size_t size, void** handle) {
  return guarded([&] {
    require(handle, "handle");
    *handle = nullptr;
    const auto found = find(comm);
    require(buffer, "buffer");
    *handle = found->enroll(buffer, size);
  });
}

mtResult_t mtCommDeregister(mtComm_t comm, void* handle) {
  return guarded([&] {
    const auto found = find(comm);
    require(handle, "handle");
    found->strike(handle);
  });
}
