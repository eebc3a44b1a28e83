// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The public face of the runtime: collectives on real buffers, as their schedules say.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/schedule.hpp"
#include "algorithms/tuning/plan.hpp"
#include "runtime/bootstrap.hpp"
#include "runtime/data_type.hpp"
#include "runtime/device/device.hpp"
#include "runtime/transport.hpp"

namespace multitree::runtime {

struct CommunicatorOptions {
  std::string transport = "ucx";           ///< a name of transports()
  Deadline timeout{30'000};                ///< longest wait without any progress
  std::size_t segment_bytes = 256 * 1024;  ///< chunks are pipelined in pieces of at most this size
  bool devices = true;  ///< false: all buffers are host memory, and nobody looks; as at all ranks
  /// The device of this rank; null: the CUDA device that is current in this thread, if the process
  /// uses CUDA by now.
  std::shared_ptr<const device::Device> device = nullptr;
};

/// Schedules by size, at most one list a collective.
struct PlansBySize {
  explicit PlansBySize(std::vector<SizedSchedules> lists) : plans(std::move(lists)) {}
  std::vector<SizedSchedules> plans;
};

class Operation;  // internal: one started collective
namespace device {
struct StreamRequest;  // internal: the same on device memory
}

/// A stream of the communicator's device: for CUDA a cudaStream_t; null is the default stream.
struct Stream {
  device::Stream handle = nullptr;
};

/// A started collective. Dropping an unfinished one waits for it; prefer wait(). Not so with a
/// stream: there it may be dropped, and wait() is for hosts that want to know.
class Request {
 public:
  Request();
  Request(Request&&) noexcept;
  Request& operator=(Request&&) noexcept;
  ~Request();
  /// Makes progress; true once complete. \throws as Communicator::all_reduce.
  bool test();
  void wait();

 private:
  friend class Communicator;
  std::unique_ptr<Operation> operation_;
  std::unique_ptr<device::StreamRequest> on_device_;
};

/// A group of ranks that execute schedules together. Not thread-safe; every rank makes the same
/// calls in the same order. `count` is in elements. send == recv (or, for reduce-scatter and
/// all-gather, the shard inside the whole) is in place.
///
/// Buffers are host memory, or both are memory of the communicator's device. Without a stream a
/// collective on device memory comes after what the default stream holds, and its end is the end of
/// the call or Request. With one it is ordered as a kernel on that stream would be, and the call
/// returns at once: docs/gpu.md says how, and what happens to the stream when a peer dies.
///
/// Collectives throw Error(Transport) if a peer dies and Error(Timeout) if nothing moves for
/// options.timeout; the message names this rank, the peer, the step and the chunk. After an error
/// the communicator is unusable and the receive buffers hold unspecified values.
class Communicator {
 public:
  /// Collective. `schedules`: at most one a collective, all for bootstrap->size() ranks.
  Communicator(std::shared_ptr<Bootstrap> bootstrap, std::vector<Schedule> schedules,
               CommunicatorOptions options = {});
  /// The same with plans: of each collective's schedules, the one for the size of the call runs.
  Communicator(std::shared_ptr<Bootstrap> bootstrap, PlansBySize plans,
               CommunicatorOptions options = {});
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] std::uint32_t rank() const;
  [[nodiscard]] std::uint32_t size() const;
  [[nodiscard]] std::string describe() const;

  void all_reduce(const void* send, void* recv, std::size_t count, DataType type, ReduceOp op);
  /// send: count*size() elements; recv: count.
  void reduce_scatter(const void* send, void* recv, std::size_t count, DataType type, ReduceOp op);
  /// send: count elements; recv: count*size().
  void all_gather(const void* send, void* recv, std::size_t count, DataType type);
  /// From and to the root of the schedule; send is read at the root only.
  void broadcast(const void* send, void* recv, std::size_t count, DataType type);
  /// recv is written at the root only.
  void reduce(const void* send, void* recv, std::size_t count, DataType type, ReduceOp op);

  /// The same without waiting. Several may be outstanding; they progress in test() and wait().
  Request start_all_reduce(const void* send, void* recv, std::size_t count, DataType type,
                           ReduceOp op);
  Request start_reduce_scatter(const void* send, void* recv, std::size_t count, DataType type,
                               ReduceOp op);
  Request start_all_gather(const void* send, void* recv, std::size_t count, DataType type);
  Request start_broadcast(const void* send, void* recv, std::size_t count, DataType type);
  Request start_reduce(const void* send, void* recv, std::size_t count, DataType type, ReduceOp op);

  /// In the order of a stream, without waiting. Errors that show after the call has returned are
  /// thrown by the Request, and failure() has them; the stream goes on, with unspecified values in
  /// recv. \throws Error(Unsupported) without a device, and while a graph is being captured.
  Request start_all_reduce(const void* send, void* recv, std::size_t count, DataType type,
                           ReduceOp op, Stream stream);
  Request start_reduce_scatter(const void* send, void* recv, std::size_t count, DataType type,
                               ReduceOp op, Stream stream);
  Request start_all_gather(const void* send, void* recv, std::size_t count, DataType type,
                           Stream stream);
  Request start_broadcast(const void* send, void* recv, std::size_t count, DataType type,
                          Stream stream);
  Request start_reduce(const void* send, void* recv, std::size_t count, DataType type, ReduceOp op,
                       Stream stream);

  void barrier();

  /// Why the communicator can no longer be used; empty while it can. From any thread once a
  /// collective was given a stream, as abort().
  [[nodiscard]] std::string failure() const;
  /// Gives up: the other ranks are told, and every stream that waits for a collective goes on. A
  /// rank that waits for a collective on host memory finishes that first.
  void abort(const std::string& reason);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace multitree::runtime
