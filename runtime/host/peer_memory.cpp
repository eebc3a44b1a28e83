// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Copies between processes.
#include "runtime/host/peer_memory_internal.hpp"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "runtime/job/tcp_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::host {
namespace {

/// What a peer finds where this process says: numbers of processes mean something else elsewhere.
const std::string& probe() {
  static const std::string& token = *new std::string(make_token());  // there to the very end
  return token;
}

/// All of it, in as many calls as that takes. `copy`: process_vm_readv() or process_vm_writev().
template <typename Copy>
bool copy_all(const Copy& copy, pid_t process, std::byte* here, std::uint64_t there,
              std::uint64_t bytes) {
  while (bytes > 0) {
    const iovec local{here, bytes};
    const iovec remote{reinterpret_cast<void*>(there), bytes};
    const ssize_t done = copy(process, &local, 1, &remote, 1, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    here += done;
    there += static_cast<std::uint64_t>(done);
    bytes -= static_cast<std::uint64_t>(done);
  }
  return true;
}

[[noreturn]] void fail(Seat seat, std::string_view what) {
  throw Error(ErrorCode::Transport,
              fmt::format("cannot {} the memory of rank {}: {}", what, seat, std::strerror(errno)));
}

}  // namespace

std::string PeerMemory::describe() {
  return fmt::format("{} {} {}", ::getpid(), reinterpret_cast<std::uintptr_t>(probe().data()),
                     probe());
}

bool PeerMemory::can_reach(std::string_view description) {
  std::istringstream words{std::string(description)};
  pid_t process = 0;
  std::uint64_t address = 0;
  std::string token;
  words >> process >> address >> token;
  if (!words) return false;
  std::string found(token.size(), ' ');
  return copy_all(::process_vm_readv, process, reinterpret_cast<std::byte*>(found.data()), address,
                  found.size()) &&
         found == token;
}

void PeerMemory::read(Seat seat, std::byte* to, std::uint64_t address, std::uint64_t bytes) const {
  if (!copy_all(::process_vm_readv, process(seat), to, address, bytes)) fail(seat, "read");
}

void PeerMemory::write(Seat seat, std::uint64_t address, const std::byte* from,
                       std::uint64_t bytes) const {
  // The kernel's call takes where from without const.
  auto* const here = const_cast<std::byte*>(from);
  if (!copy_all(::process_vm_writev, process(seat), here, address, bytes)) fail(seat, "write");
}

}  // namespace multitree::runtime::host
