// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Calls of the system that fail: each is a line of kinds, name, arguments and the error it has.
#include <dlfcn.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>

#include "tests/faults/failing.hpp"

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

namespace {

using namespace failing;

/// The system's function of a name, to be called as that. Found without a lock of its own: a thread
/// may hold the dynamic linker's meanwhile, and call the same.
template <typename F>
class Next {
 public:
  constexpr explicit Next(const char* name) : name_(name) {}
  operator F*() const {
    F* found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      found = reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name_));
      found_.store(found, std::memory_order_relaxed);
    }
    return found;
  }

 private:
  const char* name_;
  mutable std::atomic<F*> found_{nullptr};
};

int fail_with(int error) {
  errno = error;
  return -1;
}

/// Not of an eventfd: that neither waits nor fails, and takes all 8 bytes.
bool has_data(int fd) {
  struct stat status {};
  return ::syscall(SYS_fstat, fd, &status) == 0 && (status.st_mode & S_IFMT) != 0;
}

}  // namespace

// NAME(parameters) with arguments; fails with ERROR by -1 and errno.
#define FAILS(KIND, RESULT, NAME, PARAMETERS, ARGUMENTS, ERROR)                   \
  EXPORTED RESULT NAME PARAMETERS {                                               \
    static constinit Next<RESULT PARAMETERS> real{#NAME};                         \
    if (fails(KIND, CALLER, #NAME)) return static_cast<RESULT>(fail_with(ERROR)); \
    return real ARGUMENTS;                                                        \
  }
// The same, and it may be interrupted by a signal.
#define WAITS(KIND, RESULT, NAME, PARAMETERS, ARGUMENTS, ERROR)                      \
  EXPORTED RESULT NAME PARAMETERS {                                                  \
    static constinit Next<RESULT PARAMETERS> real{#NAME};                            \
    if (fails(KIND, CALLER, #NAME)) return static_cast<RESULT>(fail_with(ERROR));    \
    if (fails(kSignal, CALLER, #NAME)) return static_cast<RESULT>(fail_with(EINTR)); \
    return real ARGUMENTS;                                                           \
  }
// The same, and it may move half of its `size` bytes.
#define MOVES(KIND, RESULT, NAME, PARAMETERS, ARGUMENTS, ERROR)                      \
  EXPORTED RESULT NAME PARAMETERS {                                                  \
    static constinit Next<RESULT PARAMETERS> real{#NAME};                            \
    if (fails(KIND, CALLER, #NAME)) return static_cast<RESULT>(fail_with(ERROR));    \
    if (fails(kSignal, CALLER, #NAME)) return static_cast<RESULT>(fail_with(EINTR)); \
    if (size > 1 && fails(kShort, CALLER, #NAME)) size /= 2;                         \
    return real ARGUMENTS;                                                           \
  }
// Its result is the error. Parameters are in parentheses of their own.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define TELLS(KIND, NAME, PARAMETERS, ARGUMENTS, ERROR) \
  EXPORTED int NAME PARAMETERS {                        \
    static constinit Next<int PARAMETERS> real{#NAME};  \
    if (fails(KIND, CALLER, #NAME)) return ERROR;       \
    return real ARGUMENTS;                              \
  }
// NOLINTEND(bugprone-macro-parentheses)

EXPORTED void* mmap(void* at, std::size_t size, int protection, int flags, int fd,
                    off_t offset) noexcept {
  static constinit Next<void*(void*, std::size_t, int, int, int, off_t)> real{"mmap"};
  if (fails(kMapping, CALLER, "mmap")) return errno = ENOMEM, MAP_FAILED;
  return real(at, size, protection, flags, fd, offset);
}
FAILS(kMapping, int, memfd_create, (const char* name, unsigned flags) noexcept, (name, flags),
      EMFILE)
FAILS(kMapping, int, ftruncate, (int fd, off_t size) noexcept, (fd, size), ENOSPC)
FAILS(kMapping, int, madvise, (void* at, std::size_t size, int advice) noexcept, (at, size, advice),
      EINVAL)
TELLS(kMapping, posix_fallocate, (int fd, off_t begin, off_t size), (fd, begin, size), ENOSPC)

EXPORTED int open(const char* path, int flags, ...) {
  static constinit Next<int(const char*, int, mode_t)> real{"open"};
  __builtin_va_list list;
  __builtin_va_start(list, flags);
  const auto mode = __builtin_va_arg(list, mode_t);
  __builtin_va_end(list);
  return fails(kOpen, CALLER, "open") ? fail_with(EMFILE) : real(path, flags, mode);
}
EXPORTED FILE* fopen(const char* path, const char* mode) {
  static constinit Next<FILE*(const char*, const char*)> real{"fopen"};
  if (fails(kOpen, CALLER, "fopen")) return errno = EMFILE, nullptr;
  return real(path, mode);
}
EXPORTED FILE* fopen64(const char* path, const char* mode) {
  static constinit Next<FILE*(const char*, const char*)> real{"fopen64"};
  if (fails(kOpen, CALLER, "fopen64")) return errno = EMFILE, nullptr;
  return real(path, mode);
}
FAILS(kOpen, int, pipe2, (int* ends, int flags) noexcept, (ends, flags), EMFILE)
FAILS(kOpen, int, eventfd, (unsigned first, int flags) noexcept, (first, flags), EMFILE)
FAILS(kOpen, int, epoll_create1, (int flags) noexcept, (flags), EMFILE)
FAILS(kOpen, int, dup, (int fd) noexcept, (fd), EMFILE)
FAILS(kOpen, int, epoll_ctl, (int at, int what, int fd, epoll_event* event) noexcept,
      (at, what, fd, event), ENOSPC)
WAITS(kOpen, int, poll, (pollfd * all, nfds_t count, int time), (all, count, time), ENOMEM)
WAITS(kOpen, int, ppoll, (pollfd * all, nfds_t count, const timespec* time, const sigset_t* mask),
      (all, count, time, mask), ENOMEM)
EXPORTED int epoll_wait(int at, epoll_event* events, int most, int time) {
  static constinit Next<int(int, epoll_event*, int, int)> real{"epoll_wait"};
  return fails(kSignal, CALLER, "epoll_wait") ? fail_with(EINTR) : real(at, events, most, time);
}

FAILS(kSocket, int, socket, (int domain, int type, int protocol) noexcept, (domain, type, protocol),
      EMFILE)
// A signal does not end it: the connection is made all the same.
EXPORTED int connect(int fd, const sockaddr* to, socklen_t size) {
  static constinit Next<int(int, const sockaddr*, socklen_t)> real{"connect"};
  if (fails(kSocket, CALLER, "connect")) return fail_with(ECONNREFUSED);
  const bool interrupted = fails(kSignal, CALLER, "connect");
  const int result = real(fd, to, size);
  return interrupted && (result == 0 || errno == EINPROGRESS) ? fail_with(EINTR) : result;
}
FAILS(kSocket, int, bind, (int fd, const sockaddr* at, socklen_t size) noexcept, (fd, at, size),
      EADDRINUSE)
FAILS(kSocket, int, listen, (int fd, int most) noexcept, (fd, most), EADDRINUSE)
WAITS(kSocket, int, accept4, (int fd, sockaddr* from, socklen_t* size, int flags),
      (fd, from, size, flags), EMFILE)
FAILS(kSocket, int, getsockname, (int fd, sockaddr* name, socklen_t* size) noexcept,
      (fd, name, size), ENOBUFS)
FAILS(kSocket, int, getpeername, (int fd, sockaddr* name, socklen_t* size) noexcept,
      (fd, name, size), ENOBUFS)
FAILS(kSocket, int, setsockopt,
      (int fd, int level, int what, const void* value, socklen_t size) noexcept,
      (fd, level, what, value, size), ENOBUFS)
FAILS(kSocket, int, getsockopt,
      (int fd, int level, int what, void* value, socklen_t* size) noexcept,
      (fd, level, what, value, size), ENOBUFS)
TELLS(kSocket, getaddrinfo,
      (const char* node, const char* service, const addrinfo* hints, addrinfo** found),
      (node, service, hints, found), EAI_MEMORY)
FAILS(kSocket, int, getifaddrs, (ifaddrs * *all) noexcept, (all), EMFILE)

MOVES(kTransfer, ssize_t, send, (int fd, const void* data, std::size_t size, int flags),
      (fd, data, size, flags), ECONNRESET)
MOVES(kTransfer, ssize_t, recv, (int fd, void* data, std::size_t size, int flags),
      (fd, data, size, flags), ECONNRESET)
WAITS(kTransfer, ssize_t, sendmsg, (int fd, const msghdr* message, int flags), (fd, message, flags),
      ECONNRESET)
FAILS(kTransfer, ssize_t, process_vm_readv,
      (pid_t pid, const iovec* to, unsigned long count, const iovec* from, unsigned long parts,
       unsigned long flags) noexcept,
      (pid, to, count, from, parts, flags), EPERM)

TELLS(kProcess, pthread_create,
      (pthread_t * thread, const pthread_attr_t* attributes, void* (*work)(void*),
       void* argument) noexcept,
      (thread, attributes, work, argument), EAGAIN)
FAILS(kProcess, pid_t, fork, () noexcept, (), EAGAIN)
FAILS(kProcess, int, execve, (const char* path, char* const argv[], char* const envp[]) noexcept,
      (path, argv, envp), ENOMEM)
EXPORTED pid_t waitpid(pid_t pid, int* status, int flags) {
  static constinit Next<pid_t(pid_t, int*, int)> real{"waitpid"};
  const bool waits = (flags & 1) == 0;  // WNOHANG
  return waits && fails(kSignal, CALLER, "waitpid") ? fail_with(EINTR) : real(pid, status, flags);
}

EXPORTED ssize_t write(int fd, const void* data, std::size_t size) {
  static constinit Next<ssize_t(int, const void*, std::size_t)> real{"write"};
  if (!has_data(fd)) return real(fd, data, size);
  if (fails(kFile, CALLER, "write")) return fail_with(ENOSPC);
  if (fails(kSignal, CALLER, "write")) return fail_with(EINTR);
  if (size > 1 && fails(kShort, CALLER, "write")) size /= 2;
  return real(fd, data, size);
}
EXPORTED ssize_t read(int fd, void* data, std::size_t size) {
  static constinit Next<ssize_t(int, void*, std::size_t)> real{"read"};
  if (!has_data(fd)) return real(fd, data, size);
  if (fails(kFile, CALLER, "read")) return fail_with(EIO);
  if (fails(kSignal, CALLER, "read")) return fail_with(EINTR);
  if (size > 1 && fails(kShort, CALLER, "read")) size /= 2;
  return real(fd, data, size);
}
FAILS(kFile, int, rename, (const char* from, const char* to) noexcept, (from, to), EIO)
FAILS(kFile, int, fstat, (int fd, struct stat* status) noexcept, (fd, status), EIO)
FAILS(kFile, int, stat, (const char* path, struct stat* status) noexcept, (path, status), EIO)
FAILS(kFile, int, fchmod, (int fd, mode_t mode) noexcept, (fd, mode), EPERM)
EXPORTED int close(int fd) {
  static constinit Next<int(int)> real{"close"};
  const int result = real(fd);
  return fails(kFile, CALLER, "close") ? fail_with(EIO) : result;
}

FAILS(kAsk, int, gethostname, (char* name, std::size_t size) noexcept, (name, size), EFAULT)
FAILS(kAsk, ssize_t, readlink, (const char* path, char* to, std::size_t size) noexcept,
      (path, to, size), EACCES)
FAILS(kAsk, int, sched_getaffinity, (pid_t pid, std::size_t size, cpu_set_t* set) noexcept,
      (pid, size, set), EINVAL)
FAILS(kAsk, int, getrlimit, (__rlimit_resource_t what, rlimit* limit) noexcept, (what, limit),
      EPERM)
EXPORTED int fcntl(int fd, int what, ...) {
  static constinit Next<int(int, int, void*)> real{"fcntl"};
  __builtin_va_list list;
  __builtin_va_start(list, what);
  void* const argument = __builtin_va_arg(list, void*);
  __builtin_va_end(list);
  return fails(kAsk, CALLER, "fcntl") ? fail_with(EMFILE) : real(fd, what, argument);
}
EXPORTED int prctl(int what, ...) {
  static constinit Next<int(int, unsigned long, unsigned long, unsigned long, unsigned long)> real{
      "prctl"};
  __builtin_va_list list;
  __builtin_va_start(list, what);
  unsigned long arguments[4];
  for (unsigned long& argument : arguments) argument = __builtin_va_arg(list, unsigned long);
  __builtin_va_end(list);
  return fails(kAsk, CALLER, "prctl")
             ? fail_with(EPERM)
             : real(what, arguments[0], arguments[1], arguments[2], arguments[3]);
}
EXPORTED long syscall(long number, ...) {
  static constinit Next<long(long, long, long, long, long, long, long)> real{"syscall"};
  __builtin_va_list list;
  __builtin_va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = __builtin_va_arg(list, long);
  __builtin_va_end(list);
  if (fails(kAsk, CALLER, "syscall")) return fail_with(ENOSYS);
  return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
              arguments[5]);
}
