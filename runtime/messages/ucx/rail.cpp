// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Opens contexts as their wires need it.
///
/// Two kinds of settings: UCP's own go through ucp_config_modify(); those of single transports
/// through the environment, as UCX 1.13 accepts them there and ignores them.
#include "runtime/messages/ucx/rail_internal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/host/file_limit_internal.hpp"
#include "runtime/job/log_internal.hpp"
#include "runtime/job/wire_internal.hpp"
#include "runtime/messages/network/devices_internal.hpp"
#include "runtime/messages/ucx/ucx_check_internal.hpp"

namespace multitree::runtime {
namespace {

/// What Rail::exact hangs on.
constexpr std::array kExact{"UCX_TCP_SNDBUF", "UCX_TCP_TX_SEG_SIZE", "UCX_ZCOPY_THRESH",
                            "UCX_RNDV_THRESH"};
/// That UCX opens before the first connection, and as many that other threads may take meanwhile.
constexpr std::size_t kDescriptors = 16;
/// Bytes that its pools take at the least.
constexpr std::size_t kRoom = 16 << 20;
constexpr const char* kSharedMemory = "/dev/shm";

/// Whether UCX_TLS lets shared memory in.
bool wants_shared_memory() {
  const char* variable = std::getenv("UCX_TLS");
  if (variable == nullptr) return true;
  std::string_view rest = variable;
  const bool excludes = rest.starts_with('^');
  if (excludes) rest.remove_prefix(1);
  bool listed = false;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    constexpr std::array kNames{"all", "shm", "sm", "mm", "posix", "sysv"};
    listed |= std::find(kNames.begin(), kNames.end(), name) != kNames.end();
  }
  return listed || excludes;
}

/// Variables that are set while a context is opened, unless the user has set them.
class Environment {
 public:
  Environment() = default;
  ~Environment() {
    for (const char* name : ours_) ::unsetenv(name);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  void set(const char* name, const std::string& value) {
    if (std::getenv(name) != nullptr) return;
    ::setenv(name, value.c_str(), 1);
    ours_.push_back(name);
  }

 private:
  std::vector<const char*> ours_;
};

void modify(ucp_config_t* config, const char* name, const char* value) {
  if (std::getenv(fmt::format("UCX_{}", name).c_str()) != nullptr) return;
  ucx_check(ucp_config_modify(config, name, value), name);
}

void apply(ucp_config_t* config, const RailSettings& settings) {
  if (!settings.device.empty()) modify(config, "NET_DEVICES", settings.device.c_str());
  if (!settings.without.empty()) modify(config, "TLS", settings.without.c_str());
  // Large messages by rendezvous cost a round trip each, and UCX 1.13 emulates the zero-copy part
  // over TCP by reads: half the bandwidth of a slow link is lost.
  if (settings.slow) modify(config, "RNDV_THRESH", "inf");
  // What is not copied has left when UCX says so.
  if (settings.slow) modify(config, "ZCOPY_THRESH", std::to_string(kCopiedBytes).c_str());
}

void open_context(Rail& rail) {
  ucp_config_t* config = nullptr;
  ucx_check(ucp_config_read(nullptr, nullptr, &config), "configuration");
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_TAG;
  if (rail.settings.wakeup) params.features |= UCP_FEATURE_WAKEUP;
  ucs_status_t status = UCS_OK;
  try {
    apply(config, rail.settings);
    status = ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &rail.context);
  } catch (...) {
    ucp_config_release(config);
    throw;
  }
  ucp_config_release(config);
  ucx_check(status, "start");
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  ucx_check(ucp_context_query(rail.context, &attributes), "memory types");
  rail.cuda = (attributes.memory_types & (std::uint64_t{1} << UCS_MEMORY_TYPE_CUDA)) != 0;
}

void open_worker(Rail& rail) {
  const host::FileLimitIsAnError limit;
  open_context(rail);
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  // Collectives on device memory are progressed by a thread of their own.
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucx_check(ucp_worker_create(rail.context, &worker, &rail.worker), "worker");
}

/// "UCX: worker: Out of memory" is what a full file system for shared memory looks like.
std::string with_room_left(const std::string& complaint) {
  struct statvfs room {};
  if (::statvfs(kSharedMemory, &room) != 0) return complaint;
  return fmt::format("{} ({} has {} of {} bytes left)", complaint, kSharedMemory,
                     room.f_bavail * room.f_frsize, room.f_blocks * room.f_frsize);
}

/// Memory of System V first: the kernel gives it back with the last process that has it, and needs
/// no file for it. UCX's POSIX memory is a file in /dev/shm until all of it is there, which stays
/// if the process ends meanwhile, and does not fit where /dev/shm is full (64 MB in containers).
void open_with_some_memory(Rail& rail) {
  std::string complaint;
  for (const char* without : {"^posix", "^sysv", "^shm"}) {
    rail.settings.without = without;
    try {
      open_worker(rail);
      if (rail.settings.without == "^shm") {
        logger().warn("no shared memory for messages, TCP instead: {}", complaint);
      }
      return;
    } catch (const Error& error) {
      close_rail(rail);
      if (complaint.empty()) complaint = with_room_left(error.what());
    }
  }
  throw Error(ErrorCode::Transport, complaint);
}

/// As the user has set UCX_TLS.
void open_as_told(Rail& rail) {
  try {
    open_worker(rail);
  } catch (const Error& error) {
    if (!wants_shared_memory()) throw;
    throw Error(error.code(), with_room_left(error.what()));
  }
}

/// With too few, UCX ends the process by an assertion, or tells of an input/output error.
/// \throws Error(Transport)
void check_descriptors() {
  std::array<Socket, kDescriptors> taken;  // any descriptor will do
  for (std::size_t i = 0; i < taken.size(); ++i) {
    taken[i] = Socket(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (taken[i].open()) continue;
    throw Error(ErrorCode::Transport,
                fmt::format("UCX: expected room for {} more descriptors, found it for {}: {}",
                            taken.size(), i, std::strerror(errno)));
  }
}

/// With too little address space (`ulimit -v`), UCX ends the process by an assertion that its
/// thread has begun. \throws Error(Transport)
void check_memory() {
  void* const room =
      ::mmap(nullptr, kRoom, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  std::string why = room == MAP_FAILED ? std::strerror(errno) : "";
  if (room != MAP_FAILED) {
    try {
      std::thread([] {}).join();
    } catch (const std::system_error& error) {
      why = error.what();
    }
    ::munmap(room, kRoom);
  }
  if (why.empty()) return;
  throw Error(ErrorCode::Transport,
              fmt::format("UCX: expected memory for a thread and {} MiB more, found less: {}",
                          kRoom >> 20, why));
}

}  // namespace

void open_rail(Rail& rail, const RailSettings& settings) {
  static std::mutex mutex;  // of the environment, between communicators of several threads
  const std::scoped_lock lock(mutex);
  check_descriptors();
  check_memory();
  rail.settings = settings;
  // UCX tells of a dead peer only through transports that can detect one. Shared memory can, but
  // not by default, and would silently be left out for TCP.
  if (settings.device.empty() && wants_shared_memory()) ::setenv("UCX_MM_ERROR_HANDLING", "y", 0);
  Environment environment;
  rail.exact = settings.slow && std::ranges::all_of(kExact, [](const char* name) {
                 return std::getenv(name) == nullptr;
               });
  if (settings.slow) {
    environment.set("UCX_TCP_SNDBUF", std::to_string(settings.send_buffer));
    environment.set("UCX_TCP_RCVBUF", std::to_string(settings.receive_buffer));
    environment.set("UCX_TCP_TX_SEG_SIZE", std::to_string(kCopiedBytes));
  }
  // UCX 1.13 takes several events at once, and an error in the first may end the connection that
  // the second is of: uct_tcp_iface_handle_events() asserts that none is. It happens where a peer
  // with several connections dies, as while they are made. One at a time, an event is not taken any
  // more once its connection has ended.
  if (settings.wakeup) environment.set("UCX_TCP_MAX_POLL", "1");
  // Else a worker waits for two minutes in connect(2) where the link to a peer swallows packets.
  if (settings.wakeup) environment.set("UCX_TCP_CONN_NB", "y");
  if (!settings.device.empty()) {
    rail.settings.without = "^shm";  // another host is at the other end
    open_worker(rail);
  } else if (std::getenv("UCX_TLS") == nullptr) {
    open_with_some_memory(rail);
  } else {
    open_as_told(rail);
  }
  if (settings.wakeup) {
    ucx_check(ucp_worker_get_efd(rail.worker, &rail.event_fd), "wake-up descriptor");
  }
}

void close_rail(Rail& rail) {
  if (rail.worker != nullptr) ucp_worker_destroy(rail.worker);
  if (rail.context != nullptr) ucp_cleanup(rail.context);
  rail.worker = nullptr;
  rail.context = nullptr;
  rail.event_fd = -1;
  rail.armed = false;
}

std::string address_of(const Rail& rail) {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  ucx_check(ucp_worker_get_address(rail.worker, &address, &bytes), "worker address");
  std::string text(reinterpret_cast<const char*>(address), bytes);
  ucp_worker_release_address(rail.worker, address);
  return text;
}

}  // namespace multitree::runtime
