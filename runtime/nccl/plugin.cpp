// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The functions that NCCL calls, and the tables that it looks for, one for each version of its
/// interface. Exceptions end here.
#include <cstring>
#include <exception>
#include <limits>
#include <string>
#include <type_traits>

#include "runtime/nccl/abi_internal.hpp"
#include "runtime/nccl/connections_internal.hpp"
#include "runtime/nccl/group_internal.hpp"
#include "runtime/nccl/interface_internal.hpp"
#include "runtime/nccl/log_internal.hpp"

namespace multitree::nccl {
namespace {

constexpr const char* kName = "multitree";
constexpr std::size_t kMostMessageBytes = std::size_t{1} << 30;
constexpr std::size_t kMostCollectiveBytes = std::size_t{1} << 29;
char device_name[] = "multitree";

/// \returns what the call returns; what it throws, in words of NCCL's log.
template <typename Call>
int guarded(const char* what, Call call) {
  try {
    return call();
  } catch (const Failed& failed) {
    // From the ninth result on the numbers are ours: a deadline, an abort, what is not served.
    const bool known = failed.result <= mtRemoteError;
    const char* const words = mtGetLastError(nullptr);
    return fail(known ? static_cast<Result>(failed.result) : kRemoteError, what,
                *words == '\0' ? mtGetErrorString(failed.result) : words);
  } catch (const std::exception& error) {
    return fail(kSystemError, what, error.what());
  }
}

// ---- what both kinds begin with ----

int start(Logger log) {
  set_logger(log);
  return guarded("init", [] {
    network_interface();
    return kSuccess;
  });
}
int start_profiled(Logger log, Profiler) { return start(log); }
int start_with_context(void** context, std::uint64_t, void*, Logger log, Profiler) {
  *context = nullptr;
  return start(log);
}
int start_collectives_with_context(void** context, std::uint64_t, Logger log) {
  *context = nullptr;
  return start(log);
}
int finalize(void*) { return kSuccess; }

int devices(int* count) {
  *count = 1;
  return kSuccess;
}

template <typename P>
void fill(P& p) {
  p.name = device_name;
  p.pointers = kHostMemory;
  p.speed = network_interface().speed;
  p.most_communicators = std::numeric_limits<int>::max();
  p.most_receives = 1;
}
template <int kMost>
void fill_sizes(Properties<kMost>& p) {
  fill(p);
  p.made_of.count = 1;
  p.most_message_bytes = kMostMessageBytes;
  p.most_collective_bytes = kMostCollectiveBytes;
}
void fill_all(Properties8& p) { fill(p); }
void fill_all(Properties9& p) { fill_sizes(p); }
void fill_all(Properties11& p) {
  fill_sizes(p.common);
  p.most_requests_together = 1;
}
void fill_all(Properties12& p) {
  fill_sizes(p.common);
  p.most_requests_together = 1;
  p.rail = p.plane = -1;
}

template <typename P>
int properties(int device, P* p) {
  if (device != 0) return fail(kInvalidArgument, "getProperties", "expected device 0");
  return guarded("getProperties", [p] {
    *p = P{};
    fill_all(*p);
    return kSuccess;
  });
}

int register_memory(void*, void*, std::size_t, int type, void** registration) {
  *registration = nullptr;
  return type == kHostMemory ? kSuccess : fail(kInvalidArgument, "regMr", "expected host memory");
}
int deregister(void*, void*) { return kSuccess; }

template <typename Object>
int close(void* object) {
  return guarded("close", [object] {
    delete static_cast<Object*>(object);
    return kSuccess;
  });
}

// ---- messages ----

int listen(int, void* handle, void** listener) {
  *listener = nullptr;
  return guarded("listen", [&] {
    *listener = new Listener(handle);
    return kSuccess;
  });
}
int listen_with_context(void*, int device, void* handle, void** listener) {
  return listen(device, handle, listener);
}

int connect(int, void* handle, void** connection, void**) {
  *connection = nullptr;
  return guarded("connect", [&] {
    *connection = connect_to(handle).release();
    return kSuccess;
  });
}
int connect_configured(int device, void*, void* handle, void** connection, void** offload) {
  return connect(device, handle, connection, offload);
}
int connect_with_context(void*, int device, void* handle, void** connection, void** offload) {
  return connect(device, handle, connection, offload);
}

int accept(void* listener, void** connection, void**) {
  *connection = nullptr;
  return guarded("accept", [&] {
    *connection = static_cast<Listener*>(listener)->accept().release();
    return kSuccess;
  });
}

template <typename Size>
int send(void* connection, void* data, Size size, int, void*, void** request) {
  *request = static_cast<Connection*>(connection)->post(data, static_cast<std::size_t>(size));
  return kSuccess;
}
int send_profiled(void* connection, void* data, std::size_t size, int tag, void* registration,
                  void*, void** request) {
  return send(connection, data, size, tag, registration, request);
}

template <typename Size>
int receive(void* connection, int count, void** data, Size* sizes, int*, void**, void** request) {
  if (count != 1)
    return fail(kInternalError, "irecv", "expected one buffer, as getProperties() says");
  *request =
      static_cast<Connection*>(connection)->post(data[0], static_cast<std::size_t>(sizes[0]));
  return kSuccess;
}
int receive_profiled(void* connection, int count, void** data, std::size_t* sizes, int* tags,
                     void** registrations, void**, void** request) {
  return receive(connection, count, data, sizes, tags, registrations, request);
}

/// Of host memory there is nothing to flush.
int flush(void*, int, void**, int*, void**, void** request) {
  *request = nullptr;
  return kSuccess;
}

int test_message(void* request, int* done, int* size) {
  auto& message = *static_cast<Message*>(request);
  return message.connection->test(message, done, size);
}

// ---- collectives ----

int listen_collective(int, void* handle, void** listener) {
  *listener = nullptr;
  return guarded("listen", [&] {
    make_handle(handle);
    *listener = handle;  // there is nothing to keep, but NCCL wants to see something
    return kSuccess;
  });
}
int listen_collective_with_context(void*, int device, void* handle, void** listener) {
  return listen_collective(device, handle, listener);
}
int close_collective_listener(void*) { return kSuccess; }

int connect_collective(void** handles, int ranks, int rank, void*, void** group) {
  *group = nullptr;
  return guarded("connect", [&] {
    *group = new Group(handles, ranks, rank);
    return kSuccess;
  });
}

int reduce_support(int type, int op, int* supported) {
  *supported = reduces(type, op) ? 1 : 0;
  return kSuccess;
}

/// The window that a call describes; its one part has to be as long.
template <typename Count>
bool is_one_window(int count, const Part* parts, const Window& window) {
  return count == 1 && static_cast<Count>(parts[0].size) == static_cast<Count>(window.bytes);
}

int refuse_parts(const char* what) {
  return fail(kInternalError, what, "expected one part, as long as the window");
}

template <typename Count>
int all_reduce(void* group, void* send, void* receive, Count count, int type, int op, void*, void*,
               void** request) {
  *request = nullptr;
  if (!reduces(type, op))
    return fail(kInvalidArgument, "iallreduce", "a type that reduceSupport() refuses");
  return guarded("iallreduce", [&] {
    *request = static_cast<Group*>(group)
                   ->all_reduce(send, receive, static_cast<std::size_t>(count), type, op)
                   .release();
    return kSuccess;
  });
}

template <typename Count>
int all_gather(void* group, void* send, int count, Part* parts, std::size_t bytes_per_rank,
               std::size_t offset, std::size_t bytes, void*, void** request) {
  *request = nullptr;
  const Window window{bytes_per_rank, offset, bytes};
  if (!is_one_window<Count>(count, parts, window)) return refuse_parts("iallgather");
  return guarded("iallgather", [&] {
    *request = static_cast<Group*>(group)->all_gather(send, parts[0].address, window).release();
    return kSuccess;
  });
}

template <typename Count>
int reduce_scatter(void* group, int count, Part* parts, void* receive, std::size_t bytes_per_rank,
                   std::size_t offset, std::size_t bytes, int type, int op, void*, void** request) {
  *request = nullptr;
  const Window window{bytes_per_rank, offset, bytes};
  if (!is_one_window<Count>(count, parts, window)) return refuse_parts("ireducescatter");
  if (!reduces(type, op))
    return fail(kInvalidArgument, "ireducescatter", "a type that reduceSupport() refuses");
  return guarded("ireducescatter", [&] {
    *request = static_cast<Group*>(group)
                   ->reduce_scatter(parts[0].address, receive, window, type, op)
                   .release();
    return kSuccess;
  });
}

int flush_collective(void*, void*, int, void*, void** request) {
  *request = nullptr;
  return kSuccess;
}

int test_collective(void* request, int* done, int* size) {
  *done = 0;
  return guarded("test", [&] {
    auto* const work = static_cast<Work*>(request);
    if (!is_complete(*work)) return kSuccess;
    if (size != nullptr) *size = static_cast<int>(work->bytes);
    delete work;
    *done = 1;
    return kSuccess;
  });
}

// ---- tables ----

template <typename P>
constexpr Beginning<P> begin(int (*listen_function)(int, void*, void**)) {
  return {kName, start, devices, properties<P>, listen_function};
}

template <typename Size>
constexpr Messages<Size> messages() {
  return {register_memory,   nullptr,         deregister,   send<Size>,
          receive<Size>,     flush,           test_message, close<Connection>,
          close<Connection>, close<Listener>, nullptr,      nullptr};
}
constexpr ProfiledMessages profiled_messages() {
  return {register_memory,   nullptr,         deregister,   send_profiled,
          receive_profiled,  flush,           test_message, close<Connection>,
          close<Connection>, close<Listener>, nullptr,      nullptr};
}
template <typename P>
constexpr Net11<P> net11() {
  return {kName,
          start_with_context,
          devices,
          properties<P>,
          listen_with_context,
          connect_with_context,
          accept,
          profiled_messages(),
          nullptr,
          finalize,
          nullptr};
}

template <typename Count>
constexpr Collectives<Count> collectives() {
  return {connect_collective,
          reduce_support,
          register_memory,
          nullptr,
          deregister,
          all_reduce<Count>,
          all_gather<std::conditional_t<sizeof(Count) == 4, std::uint32_t, std::size_t>>,
          reduce_scatter<std::conditional_t<sizeof(Count) == 4, std::uint32_t, std::size_t>>,
          flush_collective,
          test_collective,
          close<Group>,
          close_collective_listener};
}
template <typename P>
constexpr CollNet11<P> coll_net11() {
  return {kName,
          start_collectives_with_context,
          devices,
          properties<P>,
          listen_collective_with_context,
          collectives<std::size_t>(),
          nullptr,
          finalize};
}

}  // namespace

// The names that NCCL looks for, newest first.
#define MULTITREE_NCCL_TABLE extern "C" __attribute__((visibility("default"))) const
MULTITREE_NCCL_TABLE Net11<Properties12> ncclNetPlugin_v12 = net11<Properties12>();
MULTITREE_NCCL_TABLE Net11<Properties11> ncclNetPlugin_v11 = net11<Properties11>();
MULTITREE_NCCL_TABLE Net10 ncclNetPlugin_v10{
    {kName, start_profiled, devices, properties<Properties9>, listen},
    connect_configured,
    accept,
    profiled_messages(),
    nullptr};
MULTITREE_NCCL_TABLE Net9 ncclNetPlugin_v9{begin<Properties9>(listen), connect, accept,
                                           messages<std::size_t>(), nullptr};
MULTITREE_NCCL_TABLE Net8 ncclNetPlugin_v8{begin<Properties8>(listen), connect, accept,
                                           messages<int>()};
MULTITREE_NCCL_TABLE CollNet11<Properties12> ncclCollNetPlugin_v12 = coll_net11<Properties12>();
MULTITREE_NCCL_TABLE CollNet11<Properties11> ncclCollNetPlugin_v11 = coll_net11<Properties11>();
MULTITREE_NCCL_TABLE CollNet9 ncclCollNetPlugin_v10{begin<Properties9>(listen_collective),
                                                    collectives<std::size_t>(), nullptr};
MULTITREE_NCCL_TABLE CollNet9 ncclCollNetPlugin_v9{begin<Properties9>(listen_collective),
                                                   collectives<std::size_t>(), nullptr};
MULTITREE_NCCL_TABLE CollNet8 ncclCollNetPlugin_v8{begin<Properties8>(listen_collective),
                                                   collectives<int>()};
#undef MULTITREE_NCCL_TABLE

}  // namespace multitree::nccl
