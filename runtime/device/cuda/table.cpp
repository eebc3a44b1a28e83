// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The table of functions over the CUDA runtime: libmultitree_cuda.so. The driver's own functions
/// are asked for at run time, so that the library loads, and says what is missing, without a
/// driver.
#include "runtime/device/table.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/device/cuda/kernels_internal.hpp"

namespace multitree::runtime::device::cuda {
namespace {

using WaitValue32 = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned int);

struct Context {
  int device = 0;
  std::string description;
  std::array<Launchers, kTypes> launchers;  ///< by DataType
  std::uint32_t multiprocessors = 1;
  WaitValue32 wait_value = nullptr;
  bool holds = false;  ///< streams, by wait_value
};

Context& context(void* self) { return *static_cast<Context*>(self); }

/// The words of an error, which is also cleared: cudaErrorNotReady and the like would stay behind
/// as the thread's last error, where the caller's program would find them.
Status words(cudaError_t error) {
  if (error == cudaSuccess) return nullptr;
  cudaGetLastError();
  return cudaGetErrorString(error);
}

/// Makes the device current in this thread for a while: the caller's choice is not ours to change.
/// Nor does what we ask of it break the capture of a graph, in this thread or another's: nothing of
/// it belongs to the graph but the kernels that are put on its stream.
class Current {
 public:
  explicit Current(void* self) {
    cudaThreadExchangeStreamCaptureMode(&mode_);
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = -1;
    if (before_ == context(self).device) {
      before_ = -1;
    } else {
      cudaSetDevice(context(self).device);
    }
  }
  ~Current() {
    if (before_ >= 0) cudaSetDevice(before_);
    cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  int before_ = -1;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

cudaStream_t stream_of(Stream stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(Event event) { return static_cast<cudaEvent_t>(event); }

Status allocate(void* self, std::size_t bytes, void** memory) {
  const Current current(self);
  return words(cudaMalloc(memory, bytes));
}
Status free_memory(void* self, void* memory) {
  const Current current(self);
  return words(cudaFree(memory));
}
Status allocate_pinned(void* self, std::size_t bytes, void** memory) {
  const Current current(self);
  return words(cudaHostAlloc(memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
}
Status free_pinned(void* self, void* memory) {
  const Current current(self);
  return words(cudaFreeHost(memory));
}

Status locate(void* self, const void* pointer, Location* location) {
  const Current current(self);
  cudaPointerAttributes attributes{};
  if (const Status status = words(cudaPointerGetAttributes(&attributes, pointer))) return status;
  location->device = -1;
  switch (attributes.type) {
    case cudaMemoryTypeDevice:
      *location = {Place::Device, attributes.device};
      break;
    case cudaMemoryTypeManaged:
      *location = {Place::Managed, attributes.device};
      break;
    case cudaMemoryTypeHost:
      location->place = Place::Pinned;
      break;
    default:
      location->place = Place::Pageable;
  }
  return nullptr;
}

Status create_stream(void* self, bool urgent, Stream* stream) {
  const Current current(self);
  int lowest = 0, highest = 0;
  if (const Status s = words(cudaDeviceGetStreamPriorityRange(&lowest, &highest))) return s;
  cudaStream_t made = nullptr;
  const Status status =
      words(cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, urgent ? highest : lowest));
  *stream = made;
  return status;
}
Status destroy_stream(void* self, Stream stream) {
  const Current current(self);
  return words(cudaStreamDestroy(stream_of(stream)));
}
Status create_event(void* self, Event* event) {
  const Current current(self);
  cudaEvent_t made = nullptr;
  const Status status = words(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
  *event = made;
  return status;
}
Status destroy_event(void* self, Event event) {
  const Current current(self);
  return words(cudaEventDestroy(event_of(event)));
}
Status record(void* self, Event event, Stream stream) {
  const Current current(self);
  return words(cudaEventRecord(event_of(event), stream_of(stream)));
}
Status query(void* self, Event event, bool* done) {
  const Current current(self);
  const cudaError_t error = cudaEventQuery(event_of(event));
  *done = error == cudaSuccess;
  if (error != cudaErrorNotReady) return words(error);
  cudaGetLastError();
  return nullptr;
}
Status wait_event(void* self, Stream stream, Event event) {
  const Current current(self);
  return words(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0));
}

Status wait_value(void* self, Stream stream, const std::uint32_t* flag, std::uint32_t value) {
  const Current current(self);
  if (context(self).wait_value == nullptr) return "streams cannot wait for values";
  // Pinned memory is mapped at its own address.
  const CUresult result = context(self).wait_value(static_cast<CUstream>(stream_of(stream)),
                                                   reinterpret_cast<CUdeviceptr>(flag), value,
                                                   CU_STREAM_WAIT_VALUE_GEQ);
  return result == CUDA_SUCCESS ? nullptr : "cuStreamWaitValue32 failed";
}

/// The same for all streams, as none has a queue to itself.
Status can_hold(void* self, Stream, bool* can) {
  *can = context(self).holds;
  return nullptr;
}

Status capturing(void* self, Stream stream, bool* result) {
  const Current current(self);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const Status failed = words(cudaStreamIsCapturing(stream_of(stream), &status));
  *result = status != cudaStreamCaptureStatusNone;
  return failed;
}

Status copy(void* self, void* to, const void* from, std::size_t bytes, Stream stream) {
  const Current current(self);
  return words(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(stream)));
}

Status reduce(void* self, const Reduction* reduction, Stream stream) {
  const Current current(self);
  const Context& c = context(self);
  if (reduction->input_count < 2 || reduction->input_count > kMaxInputs) {
    return "a reduction needs 2 to 9 inputs";
  }
  const Launchers& launchers = c.launchers[static_cast<std::size_t>(reduction->type)];
  return words(launchers.reduce[static_cast<std::size_t>(reduction->op)](
      *reduction, {stream_of(stream), c.multiprocessors}));
}

Status divide(void* self, void* data, std::size_t count, DataType type, std::uint32_t ranks,
              Stream stream) {
  const Current current(self);
  const Context& c = context(self);
  return words(c.launchers[static_cast<std::size_t>(type)].divide(
      data, count, ranks, {stream_of(stream), c.multiprocessors}));
}

/// Enough to fill the links between two devices; each needs a multiprocessor to itself.
constexpr std::uint32_t kWalkBlocks = 32;

Status walk(void* self, const Walk* call, DataType type, ReduceOp op, Stream stream) {
  const Current current(self);
  const Launchers& launchers = context(self).launchers[static_cast<std::size_t>(type)];
  return words(launchers.walk[static_cast<std::size_t>(op)](*call, stream_of(stream)));
}

static_assert(sizeof(cudaIpcMemHandle_t) <= sizeof(Handle::bytes));

Status share(void* self, void* memory, Handle* handle) {
  const Current current(self);
  handle->address = reinterpret_cast<std::uint64_t>(memory);
  handle->process = static_cast<std::uint64_t>(::getpid());
  cudaIpcMemHandle_t made;
  const Status status = words(cudaIpcGetMemHandle(&made, memory));
  std::memcpy(handle->bytes.data(), &made, sizeof made);
  return status;
}

/// The device with another rank's address on the bus, as this process numbers it; -1: not visible.
int ordinal_of(const Identity& identity) {
  int ordinal = -1;
  if (cudaDeviceGetByPCIBusId(&ordinal, identity.unit.data()) == cudaSuccess) return ordinal;
  cudaGetLastError();
  return -1;
}

bool can_map(void* self, const Identity* other) {
  const Current current(self);
  const Context& c = context(self);
  std::array<char, 64> host{};
  std::ifstream("/proc/sys/kernel/random/boot_id").read(host.data(), host.size() - 1);
  if (host[0] == '\0' || std::strncmp(host.data(), other->host.data(), host.size()) != 0) {
    return false;
  }
  const int ordinal = ordinal_of(*other);
  if (ordinal < 0) return false;
  // Within a process pointers are good as they are, but another device's only with peer access,
  // which the caller's program decides on.
  if (ordinal != c.device && other->process == static_cast<std::uint64_t>(::getpid())) return false;
  if (ordinal == c.device) return true;
  int reachable = 0;
  return cudaDeviceCanAccessPeer(&reachable, c.device, ordinal) == cudaSuccess && reachable != 0;
}

Status map(void* self, const Handle* handle, void** memory) {
  const Current current(self);
  if (handle->process == static_cast<std::uint64_t>(::getpid())) {
    *memory = reinterpret_cast<void*>(handle->address);
    return nullptr;
  }
  cudaIpcMemHandle_t opened;
  std::memcpy(&opened, handle->bytes.data(), sizeof opened);
  return words(cudaIpcOpenMemHandle(memory, opened, cudaIpcMemLazyEnablePeerAccess));
}

Status unmap(void* self, const Handle* handle, void* memory) {
  const Current current(self);
  if (handle->process == static_cast<std::uint64_t>(::getpid())) return nullptr;
  return words(cudaIpcCloseMemHandle(memory));
}

/// A function of the driver; null where it has none of the name.
template <typename Function>
Function driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  if (cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found) !=
      cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  return reinterpret_cast<Function>(function);
}

/// Null where the driver has no such function or the device cannot.
WaitValue32 find_wait_value(int device) {
  using GetAttribute = CUresult (*)(int*, CUdevice_attribute, CUdevice);
  const auto attribute = driver_function<GetAttribute>("cuDeviceGetAttribute");
  int can = 0;
  // The 64-bit waits and the 32-bit ones came together; there is no attribute of the latter alone.
  if (attribute == nullptr ||
      attribute(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, device) != CUDA_SUCCESS ||
      can == 0) {
    return nullptr;
  }
  return driver_function<WaitValue32>("cuStreamWaitValue32");
}

/// Kernels stand still behind a held stream of their queue, whatever the priorities, and streams
/// take queues in turn: the most that there can be keep them apart unless streams are many.
bool has_queues() {
  constexpr long kQueues = 32;
  const char* const connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  return connections != nullptr && std::strtol(connections, nullptr, 10) >= kQueues;
}

/// A kernel that is loaded at its first launch keeps everything that is put on any stream behind it
/// waiting for what is held.
bool loads_eagerly() {
  using GetMode = CUresult (*)(CUmoduleLoadingMode*);
  const auto get = driver_function<GetMode>("cuModuleGetLoadingMode");
  CUmoduleLoadingMode mode{};
  return get != nullptr && get(&mode) == CUDA_SUCCESS && mode == CU_MODULE_EAGER_LOADING;
}

Status fill(Context& c, Table* table) {
  cudaDeviceProp properties{};
  if (const Status s = words(cudaGetDeviceProperties(&properties, c.device))) return s;
  std::array<char, 32> bus{};
  if (const Status s = words(cudaDeviceGetPCIBusId(bus.data(), bus.size(), c.device))) return s;
  if (properties.major * 10 + properties.minor < 75) {
    return "the kernels are compiled for compute capability 7.5 and above";
  }
  c.multiprocessors = static_cast<std::uint32_t>(properties.multiProcessorCount);
  c.description = std::string(properties.name) + " " + bus.data();
  c.launchers = {int8_launchers(), uint8_launchers(),  int32_launchers(), int64_launchers(),
                 half_launchers(), bfloat_launchers(), float_launchers(), double_launchers()};
  c.wait_value = find_wait_value(c.device);
  c.holds = c.wait_value != nullptr && has_queues() && loads_eagerly();
  table->name = "cuda";
  table->description = c.description.c_str();
  table->ordinal = c.device;
  table->identity.unit = bus;
  table->identity.process = static_cast<std::uint64_t>(::getpid());
  std::ifstream("/proc/sys/kernel/random/boot_id")
      .read(table->identity.host.data(),
            static_cast<std::streamsize>(table->identity.host.size()) - 1);
  // Loading a kernel at its first launch may wait for the device, which may be held.
  for (const Launchers& launchers : c.launchers) {
    if (const Status s = words(launchers.load())) return s;
  }
  return nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) Status multitree_device_open(
    std::uint32_t version, std::int32_t ordinal, Table* table) {
  if (version != kTableVersion) return "libmultitree_cuda.so is of another version of multitree";
  int devices = 0;
  if (const Status s = words(cudaGetDeviceCount(&devices))) return s;
  if (devices == 0) return "no CUDA device";
  int chosen = ordinal;
  if (ordinal < 0) {
    if (const Status s = words(cudaGetDevice(&chosen))) return s;
  }
  if (chosen >= devices) return "no CUDA device of this number";
  auto made = std::make_unique<Context>();
  made->device = chosen;
  if (const Status s = fill(*made, table)) return s;
  table->self = made.release();
  table->close = [](void* self) { delete static_cast<Context*>(self); };
  table->allocate = allocate;
  table->free = free_memory;
  table->allocate_pinned = allocate_pinned;
  table->free_pinned = free_pinned;
  table->locate = locate;
  table->create_stream = create_stream;
  table->destroy_stream = destroy_stream;
  table->create_event = create_event;
  table->destroy_event = destroy_event;
  table->record = record;
  table->query = query;
  table->wait_event = wait_event;
  table->wait_value = wait_value;
  table->can_hold = can_hold;
  table->capturing = capturing;
  table->copy = copy;
  table->reduce = reduce;
  table->divide = divide;
  table->walk = walk;
  table->walk_blocks = std::min(kWalkBlocks, context(table->self).multiprocessors);
  table->share = share;
  table->can_map = can_map;
  table->map = map;
  table->unmap = unmap;
  return nullptr;
}

}  // namespace multitree::runtime::device::cuda
