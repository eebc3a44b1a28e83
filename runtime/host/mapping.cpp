// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Anonymous files, opened by other processes through /proc.
#include "runtime/host/mapping_internal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <sstream>

#include "runtime/host/file_limit_internal.hpp"
#include "runtime/job/tcp_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::host {
namespace {

/// In front of the memory is a token, by which whoever opens it knows that it is what was meant.
constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kFrontBytes = 4096;

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorCode::Io, fmt::format("{}: {}", what, std::strerror(errno)));
}

/// Mappings of this process that threads of it may share, by token. Two mappings of one piece would
/// do as well, but a thread sanitizer could not tell that they are one.
class Shared {
 public:
  static Shared& instance() {
    static Shared& shared = *new Shared;  // never destroyed: threads may use it
    return shared;
  }
  void add(const std::string& token, const std::shared_ptr<Mapping>& mapping) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(mappings_, [](const auto& entry) { return entry.second.expired(); });
    mappings_[token] = mapping;
  }
  std::shared_ptr<Mapping> find(const std::string& token) {
    const std::scoped_lock lock(mutex_);
    const auto it = mappings_.find(token);
    return it == mappings_.end() ? nullptr : it->second.lock();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Mapping>> mappings_;
};

std::byte* map(std::size_t bytes, int flags, int fd, const std::string& what) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (at == MAP_FAILED) {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    errno = error;
    fail(what);
  }
  ::madvise(at, bytes, MADV_HUGEPAGE);  // a hint; without it all works, with more pages
  return static_cast<std::byte*>(at);
}

/// Rounded up to whole pages. What would overflow stays larger than anybody can have.
std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t most = std::numeric_limits<std::size_t>::max() / 2;
  return (std::clamp<std::size_t>(bytes, 1, most) + page - 1) / page * page;
}

std::string words_of(std::size_t bytes) {
  return fmt::format("cannot reserve {} bytes of shared memory", bytes);
}

/// What the kernel could give now; it would rather kill a process than refuse a reservation.
std::uint64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name;) {
    std::uint64_t kilobytes = 0;
    if (name == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
  }
  return ~std::uint64_t{0};
}

}  // namespace

std::shared_ptr<Mapping> Mapping::create(std::size_t bytes) {
  std::shared_ptr<Mapping> mapping = create_unreserved(bytes);
  mapping->reserve(0, mapping->bytes());
  return mapping;
}

std::shared_ptr<Mapping> Mapping::create_unreserved(std::size_t bytes) {
  const std::size_t all = whole_pages(bytes) + kFrontBytes;
  const std::string what = words_of(all);
  if (all > available_bytes()) {
    errno = ENOMEM;
    fail(what);
  }
  const int fd = ::memfd_create("multitree", MFD_CLOEXEC);
  if (fd < 0) fail(what);
  const FileLimitIsAnError limit;
  if (::ftruncate(fd, static_cast<off_t>(all)) != 0) {
    ::close(fd);
    fail(what);
  }
  std::byte* const at = map(all, MAP_SHARED, fd, what);
  std::shared_ptr<Mapping> mapping(new Mapping(at + kFrontBytes, all - kFrontBytes, fd));
  mapping->reserve_file(0, kFrontBytes);
  mapping->token_ = make_token();
  std::memcpy(at, mapping->token_.data(), kTokenBytes);
  Shared::instance().add(mapping->token_, mapping);
  return mapping;
}

void Mapping::reserve(std::size_t offset, std::size_t bytes) {
  reserve_file(kFrontBytes + offset, bytes);
}

void Mapping::reserve_file(std::size_t offset, std::size_t bytes) const {
  const FileLimitIsAnError limit;
  errno = ::posix_fallocate(fd_, static_cast<off_t>(offset),
                            static_cast<off_t>(std::max<std::size_t>(bytes, 1)));
  if (errno != 0) fail(words_of(bytes));
}

std::shared_ptr<Mapping> Mapping::create_private(std::size_t bytes) {
  const std::size_t all = whole_pages(bytes) + kFrontBytes;
  std::byte* const at = map(all, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                            fmt::format("cannot reserve {} bytes of memory", all));
  return std::shared_ptr<Mapping>(new Mapping(at + kFrontBytes, all - kFrontBytes, -1));
}

std::shared_ptr<Mapping> Mapping::open(std::string_view description) {
  std::istringstream words{std::string(description)};
  long pid = 0;
  int remote = -1;
  std::size_t bytes = 0;
  std::string token;
  if (!(words >> pid >> remote >> bytes >> token) || token.size() != kTokenBytes) {
    throw Error(ErrorCode::Io, fmt::format("expected process, descriptor, size and token of shared "
                                           "memory, found \"{}\"",
                                           description));
  }
  if (auto mine = Shared::instance().find(token)) return mine;
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, remote);
  const std::string what = fmt::format("cannot map {}", path);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) fail(what);
  const std::size_t all = bytes + kFrontBytes;
  // An other process's descriptor of that number could be anything.
  if (::lseek(fd, 0, SEEK_END) != static_cast<off_t>(all)) {
    ::close(fd);
    throw Error(ErrorCode::Io,
                fmt::format("{}: expected {} bytes of shared memory there", what, all));
  }
  std::byte* const at = map(all, MAP_SHARED, fd, what);
  std::shared_ptr<Mapping> mapping(new Mapping(at + kFrontBytes, bytes, fd));
  if (std::memcmp(at, token.data(), kTokenBytes) != 0) {
    throw Error(ErrorCode::Io, fmt::format("{}: it is not the memory that was offered", what));
  }
  return mapping;
}

Mapping::~Mapping() {
  close_door();
  ::munmap(data_ - kFrontBytes, bytes_ + kFrontBytes);
}

std::string Mapping::describe() const {
  return fmt::format("{} {} {} {}", ::getpid(), fd_.load(), bytes_, token_);
}

void Mapping::close_door() {
  if (const int fd = fd_.exchange(-1); fd >= 0) ::close(fd);
}

std::string host_identity() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::string identity = boot.empty() ? make_token() : boot;  // unknown is unlike all others
  for (const char* kind : {"pid", "ipc", "net", "uts"}) {
    char name[64] = {};
    const std::string path = fmt::format("/proc/self/ns/{}", kind);
    const ssize_t length = ::readlink(path.c_str(), name, sizeof name - 1);
    identity += fmt::format(" {}", length > 0 ? name : kind);
  }
  return identity;
}

}  // namespace multitree::runtime::host
