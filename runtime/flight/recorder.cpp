// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A mapped file that is written as calls are made.
#include "runtime/flight/recorder_internal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/job/log_internal.hpp"

namespace multitree::runtime::flight {
namespace {

constexpr const char* kFolder = "MULTITREE_FLIGHT";
constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t now(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

template <std::size_t kSize>
void put(Text<kSize>& text, const std::string& words) {
  text = {};
  std::copy_n(words.data(), std::min(words.size(), kSize - 1), text.data());
}

std::string host_name() {
  Text<64> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// Null: errno says why.
void* map_new(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  void* memory = MAP_FAILED;
  // A full file system is found out now, and not by a signal.
  const int error = ::posix_fallocate(file, 0, sizeof(Page));
  if (error == 0) {
    memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int reason = error != 0 ? error : errno;
  ::close(file);
  if (memory != MAP_FAILED) return memory;
  ::unlink(path.c_str());
  errno = reason;
  return nullptr;
}

CallEntry& entry_of(Page& page, std::uint64_t number) { return page.calls[number % kCalls]; }

/// Between writes that readers must not see half.
class Rewriting {
 public:
  explicit Rewriting(std::atomic<std::uint32_t>& version) : version_(version) {
    version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
  }
  ~Rewriting() {
    version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  Rewriting(const Rewriting&) = delete;
  Rewriting& operator=(const Rewriting&) = delete;

 private:
  std::atomic<std::uint32_t>& version_;
};

}  // namespace

std::unique_ptr<FlightRecorder> FlightRecorder::open(const Bootstrap& job) {
  const char* const folder = std::getenv(kFolder);
  if (folder == nullptr || *folder == 0) return nullptr;
  static std::atomic<std::uint32_t> made{0};
  std::string path = fmt::format("{}/{:016x}-{}-{}-{}.flight", folder, job.name(), job.seat(),
                                 ::getpid(), made.fetch_add(1));
  void* const memory = map_new(path);
  if (memory == nullptr) {
    logger().warn("{}={}: no flight record: {}", kFolder, folder, std::strerror(errno));
    return nullptr;
  }
  Page& page = *new (memory) Page;
  page.job = job.name();
  page.process = static_cast<std::uint64_t>(::getpid());
  page.made_ns = now(CLOCK_REALTIME);
  page.rank = index(job.seat());
  page.ranks = job.size();
  put(page.host, host_name());
  std::atomic_thread_fence(std::memory_order_release);
  page.magic = kMagic;
  return std::unique_ptr<FlightRecorder>(new FlightRecorder(std::move(path), page));
}

FlightRecorder::~FlightRecorder() {
  if (page_.failed.load() == 0) ::unlink(path_.c_str());
  ::munmap(&page_, sizeof page_);
}

void FlightRecorder::begin(std::uint64_t number, const CommonCall& call) {
  CallEntry& entry = entry_of(page_, number);
  entry.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  entry.count = call.count;
  entry.begun_ns = now(CLOCK_REALTIME_COARSE);
  entry.root = index(call.root);
  entry.several = static_cast<std::uint16_t>(call.several);
  entry.collective = static_cast<std::uint8_t>(call.collective);
  entry.exchange = static_cast<std::uint8_t>(call.exchange);
  entry.type = static_cast<std::uint8_t>(call.type);
  entry.op = static_cast<std::uint8_t>(call.op);
  entry.wire = static_cast<std::uint8_t>(call.wire);
  entry.ended.store(0, std::memory_order_relaxed);
  entry.number.store(number + 1, std::memory_order_release);
  page_.begun.store(number + 1, std::memory_order_release);
}

void FlightRecorder::end(std::uint64_t number) {
  CallEntry& entry = entry_of(page_, number);
  if (entry.number.load(std::memory_order_relaxed) != number + 1) return;  // so many came since
  entry.ended.store(1, std::memory_order_release);
}

void FlightRecorder::waits(const Whereabouts& where, std::chrono::nanoseconds since) {
  const Rewriting rewriting(page_.wait.version);
  WaitEntry& wait = page_.wait;
  wait.waits = 1;
  wait.call = where.call;
  wait.since_ns = now(CLOCK_REALTIME) - since.count();
  wait.awaited = 0;
  for (const Seat seat : where.awaits) {
    if (wait.awaited == kAwaited) break;
    wait.awaits[wait.awaited++] = index(seat);
  }
  put(wait.what, where.what);
  put(wait.how, where.how);
  put(wait.place, where.place);
}

void FlightRecorder::goes_on() {
  const Rewriting rewriting(page_.wait.version);
  page_.wait.waits = 0;
}

namespace {

/// That of a rank; of so many ranks the one with the least time makes room.
WaitedEntry& entry_for(Page& page, Seat seat) {
  WaitedEntry* least = page.waited.data();
  std::uint64_t least_ns = ~std::uint64_t{0};
  for (WaitedEntry& entry : page.waited) {
    const std::uint32_t rank = entry.rank.load(std::memory_order_relaxed);
    if (rank == index(seat) + 1) return entry;
    const std::uint64_t ns = rank == 0 ? 0
                                       : entry.received_ns.load(std::memory_order_relaxed) +
                                             entry.sent_ns.load(std::memory_order_relaxed);
    if (ns >= least_ns) continue;
    least = &entry;
    least_ns = ns;
  }
  least->received_ns.store(0, std::memory_order_relaxed);
  least->sent_ns.store(0, std::memory_order_relaxed);
  least->rank.store(index(seat) + 1, std::memory_order_relaxed);
  return *least;
}

/// Of one writer.
void add(std::atomic<std::uint64_t>& sum, std::uint64_t more) {
  sum.store(sum.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

void FlightRecorder::waited(std::chrono::nanoseconds time, std::span<const Seat> awaited,
                            std::span<const Seat> unsent) {
  const auto ns = static_cast<std::uint64_t>(time.count());
  add(page_.waited_ns, ns);
  for (const Seat seat : awaited) add(entry_for(page_, seat).received_ns, ns);
  for (const Seat seat : unsent) add(entry_for(page_, seat).sent_ns, ns);
}

void FlightRecorder::fail(const std::string& reason) {
  if (page_.failed.load() != 0) return;
  put(page_.failure, reason);
  page_.failed_ns = now(CLOCK_REALTIME);
  page_.failed.store(1, std::memory_order_release);
}

}  // namespace multitree::runtime::flight
