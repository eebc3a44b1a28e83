// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What NCCL reads of a network plugin, versions 8 to 12: for each a table of functions for
/// messages between two ranks (Net) and one for collectives (CollNet). Only layouts, as facts of an
/// interface; docs/c-api.md says which NCCL reads which version. Enumerations of NCCL are ints
/// here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace multitree::nccl {

/// ncclResult_t. The C API's first eight results have the same numbers.
enum Result : int {
  kSuccess = 0,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6
};

inline constexpr std::size_t kHandleBytes = 128;  ///< of what listen() gives to the other ranks
inline constexpr int kHostMemory = 1;             ///< a bit of Properties::pointers

enum LogLevel : int { kWarn = 2, kInfo = 3 };
inline constexpr unsigned long kLogNetwork = 16;
using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);
using Profiler = int (*)(void** event, int type, void* parent, std::int64_t id, void* data);

struct Properties8 {
  char* name;
  char* pci_path;  ///< null: a virtual device
  std::uint64_t guid;
  int pointers;  ///< kinds of memory
  int registers_globally;
  int speed;  ///< Mbit/s
  int port;
  float latency;  ///< us
  int most_communicators;
  int most_receives;  ///< that one receive can group
  int device_type;
  int device_version;
};

template <int kMost>
struct VirtualDevice {
  int count;
  int devices[kMost];
};

/// From version 9 on: a device can be made of several.
template <int kMost>
struct Properties {
  char* name;
  char* pci_path;
  std::uint64_t guid;
  int pointers;
  int registers_globally;
  int forces_flush;
  int speed;
  int port;
  float latency;
  int most_communicators;
  int most_receives;
  int device_type;
  int device_version;
  VirtualDevice<kMost> made_of;
  std::size_t most_message_bytes;
  std::size_t most_collective_bytes;
};
using Properties9 = Properties<4>;
struct Properties11 {
  Properties<4> common;
  int most_requests_together;
};
struct Properties12 {
  Properties<8> common;
  int most_requests_together;
  std::int16_t rail;
  std::int16_t plane;
};

/// A piece of the vector of a gathering or scattering collective. In version 8 `size` has 32 bits,
/// followed by padding of no known value.
struct Part {
  void* registration;
  void* address;
  std::size_t size;
};

using Register = int (*)(void* comm, void* data, std::size_t size, int type, void** registration);
using RegisterDmaBuf = int (*)(void* comm, void* data, std::size_t size, int type,
                               std::uint64_t offset, int file, void** registration);
using Deregister = int (*)(void* comm, void* registration);
using Test = int (*)(void* request, int* done, int* size);
using Close = int (*)(void* object);

/// What begins the tables of both kinds: how versions up to 10 are initialized, and those from 11
/// on.
template <typename P>
struct Beginning {
  const char* name;
  int (*init)(Logger log);
  int (*devices)(int* count);
  int (*properties)(int device, P* properties);
  int (*listen)(int device, void* handle, void** listener);
};
template <typename P>
struct ProfiledBeginning {
  const char* name;
  int (*init)(Logger log, Profiler profiler);
  int (*devices)(int* count);
  int (*properties)(int device, P* properties);
  int (*listen)(int device, void* handle, void** listener);
};

/// The part of Net from regMr to irecvConsumed, up to version 9 and from 10 on. `Size` is int in
/// version 8.
template <typename Size>
struct Messages {
  Register register_memory;
  RegisterDmaBuf register_dma_buf;
  Deregister deregister;
  int (*send)(void* connection, void* data, Size size, int tag, void* registration, void** request);
  int (*receive)(void* connection, int count, void** data, Size* sizes, int* tags,
                 void** registrations, void** request);
  int (*flush)(void* connection, int count, void** data, int* sizes, void** registrations,
               void** request);
  Test test;
  Close close_send, close_receive, close_listen;
  void* device_registration;
  void* receive_consumed;
};
struct ProfiledMessages {
  Register register_memory;
  RegisterDmaBuf register_dma_buf;
  Deregister deregister;
  int (*send)(void* connection, void* data, std::size_t size, int tag, void* registration,
              void* event, void** request);
  int (*receive)(void* connection, int count, void** data, std::size_t* sizes, int* tags,
                 void** registrations, void** events, void** request);
  int (*flush)(void* connection, int count, void** data, int* sizes, void** registrations,
               void** request);
  Test test;
  Close close_send, close_receive, close_listen;
  void* device_registration;
  void* receive_consumed;
};

using Connect = int (*)(int device, void* handle, void** connection, void** offload);
using Accept = int (*)(void* listener, void** connection, void** offload);

struct Net8 {
  Beginning<Properties8> begin;
  Connect connect;
  Accept accept;
  Messages<int> messages;
};
struct Net9 {
  Beginning<Properties9> begin;
  Connect connect;
  Accept accept;
  Messages<std::size_t> messages;
  void* make_virtual_device;
};
struct Net10 {
  ProfiledBeginning<Properties9> begin;
  int (*connect)(int device, void* config, void* handle, void** connection, void** offload);
  Accept accept;
  ProfiledMessages messages;
  void* make_virtual_device;
};
template <typename P>
struct Net11 {
  const char* name;
  int (*init)(void** context, std::uint64_t id, void* config, Logger log, Profiler profiler);
  int (*devices)(int* count);
  int (*properties)(int device, P* properties);
  int (*listen)(void* context, int device, void* handle, void** listener);
  int (*connect)(void* context, int device, void* handle, void** connection, void** offload);
  Accept accept;
  ProfiledMessages messages;
  void* make_virtual_device;
  Close finalize;
  void* set_attributes;
};

/// The part of CollNet from connect to closeListen. `Count` is int in version 8.
template <typename Count>
struct Collectives {
  int (*connect)(void** handles, int ranks, int rank, void* listener, void** comm);
  int (*reduce_support)(int type, int op, int* supported);
  Register register_memory;
  RegisterDmaBuf register_dma_buf;
  Deregister deregister;
  int (*all_reduce)(void* comm, void* send, void* receive, Count count, int type, int op,
                    void* send_registration, void* receive_registration, void** request);
  int (*all_gather)(void* comm, void* send, int count, Part* parts, std::size_t bytes_per_rank,
                    std::size_t offset, std::size_t bytes, void* registration, void** request);
  int (*reduce_scatter)(void* comm, int count, Part* parts, void* receive,
                        std::size_t bytes_per_rank, std::size_t offset, std::size_t bytes, int type,
                        int op, void* registration, void** request);
  int (*flush)(void* comm, void* data, int size, void* registration, void** request);
  Test test;
  Close close, close_listen;
};

struct CollNet8 {
  Beginning<Properties8> begin;
  Collectives<int> collectives;
};
struct CollNet9 {
  Beginning<Properties9> begin;
  Collectives<std::size_t> collectives;
  void* make_virtual_device;
};
template <typename P>
struct CollNet11 {
  const char* name;
  int (*init)(void** context, std::uint64_t id, Logger log);
  int (*devices)(int* count);
  int (*properties)(int device, P* properties);
  int (*listen)(void* context, int device, void* handle, void** listener);
  Collectives<std::size_t> collectives;
  void* make_virtual_device;
  Close finalize;
};

}  // namespace multitree::nccl
