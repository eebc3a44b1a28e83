// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The public face of the runtime: collectives on real buffers, as their schedules say.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/schedule.hpp"
#include "runtime/device/stream_order.hpp"
#include "runtime/exchange/exchange.hpp"
#include "runtime/job/bootstrap.hpp"
#include "runtime/kernels/data_type.hpp"
#include "runtime/plans.hpp"
#include "runtime/refining.hpp"

namespace multitree::runtime {

namespace device {
class Device;  // runtime/device/device.hpp
}
class Recorder;  // runtime/execution/recorder.hpp
namespace flight {
class FlightRecorder;  // runtime/flight/recorder_internal.hpp
}

/// Whether ranks of one host go without messages: through memory that they all map, in an order of
/// their own (sums in rank order).
enum class HostPath : std::uint8_t {
  Off,       ///< never
  Auto,      ///< where nobody asked for certain schedules, on one host, without devices
  Required,  ///< or it is an error; schedules are not used, device memory is refused
};

struct CommunicatorOptions {
  std::string transport = "auto";          ///< a name of transports()
  Deadline timeout{30'000};                ///< longest wait without any progress
  std::size_t segment_bytes = 256 * 1024;  ///< chunks are pipelined in pieces of at most this size
  /// The same of one kernel: a rank has room for four from every other, at most 512 MiB together.
  std::size_t kernel_segment_bytes = std::size_t{4} << 20;
  /// Longest silence of a link between hosts, as at all ranks, before it counts as dead; 0: none is
  /// watched. Nor is any within a host, or where UCX may use something else than TCP. Empty: as the
  /// environment variable MULTITREE_LINK_TIMEOUT says, in seconds, else 5 s.
  std::optional<Deadline> link_timeout = std::nullopt;
  /// When nothing passes over a link any more. Continue: messages between its two ends take another
  /// way if their hosts have one, and go back when the link has spoken for `link_timeout`. What has
  /// left and not come is sent again, so calls are none the wiser. Of transport "tcp", between
  /// ranks that both say so; elsewhere it is Stop. Empty: as the environment variable
  /// MULTITREE_ON_LINK_FAILURE names, else Stop.
  std::optional<OnLinkFailure> on_link_failure = std::nullopt;
  /// Messages between processes are encrypted, by keys that this communicator's ranks have just
  /// made: of transport "tcp", and as at all ranks. What stays in the memory of a host is not.
  /// Empty: as the environment variable MULTITREE_ENCRYPT says (1 or 0), else no.
  std::optional<bool> encrypt = std::nullopt;
  bool checksums = false;  ///< every message is checked on arrival; all ranks alike
  /// Before a collective of floats this rank looks through its input, in host memory: an infinity
  /// or NaN is an error at all ranks, which names this one. Empty: as the environment variable
  /// MULTITREE_CHECK_FINITE says (1 or 0), else no. Of this rank alone.
  std::optional<bool> check_finite = std::nullopt;
  HostPath host_path = HostPath::Auto;
  Rank root{};          ///< of broadcast and reduce where no schedule says it
  bool devices = true;  ///< false: all buffers are host memory, and nobody looks; as at all ranks
  /// The device of this rank; null: the CUDA device that is current in this thread, if the process
  /// uses CUDA by now.
  std::shared_ptr<const device::Device> device = nullptr;
  /// Who moves what was started without waiting, host memory, while the caller is away: "on", a
  /// thread of the process, started with the first such call; the number of a core that it may
  /// use alone; "off": calls of test() and wait() alone. Empty: as the environment variable
  /// MULTITREE_PROGRESS says, else "on". Of this rank alone.
  std::string progress = "";
  /// While it is started, told of every message and phase on host memory; may be null. Of this rank
  /// alone.
  std::shared_ptr<Recorder> recorder = nullptr;
};

/// What the survivors of a communicator run, made at every one of them alike. `survivors`: by new
/// rank, the rank that it had.
using Replan = std::function<PlansBySize(std::span<const Seat> survivors)>;

/// The same for those who can avoid links. A schedule that uses a dead one ends in LinkError again.
using ReplanAround = std::function<PlansBySize(const Shrunk& shrunk)>;

/// What a collective is called with. `count` is in elements, of a shard where the collective has
/// shards; what a rank neither puts in nor gets out (algorithms/collective.hpp) may be null.
struct Call {
  Collective collective{};
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;
  DataType type{};
  ReduceOp op = ReduceOp::Sum;  ///< where the collective reduces
  /// Of a collective that has one: where schedules run, theirs, which is also the default, or one
  /// that PlansBySize::on_demand serves; where none do, any, by default CommunicatorOptions::root.
  std::optional<Rank> root = std::nullopt;
  /// What PreMulSum and Custom need.
  std::shared_ptr<const CustomOp> custom = nullptr;
  /// Of a call that stands for several: a digest of them, which all ranks compare; else 0.
  std::uint16_t several = 0;
  /// Where calls share a connection the least goes first, from message to message; small
  /// collectives go before large ones whatever theirs is. Of this rank alone, and of messages
  /// alone: on one host calls go in their order.
  std::uint32_t priority = 0;
  /// How floats travel in messages: sums are floats, which are rounded where they are sent on and,
  /// at their root, once more, so that all ranks get the same bits. Of calls of type Float32 with
  /// operators other than Custom, by schedules in which each chunk is summed at one rank
  /// (Error(Unsupported) otherwise). On one host without messages nothing is rounded.
  WireType wire = WireType::AsIs;
  /// Of sums and averages of floats in host memory, with nothing else on the wire. Exact ones take
  /// two collectives: start() returns when the first, an all-reduce of exponents, is complete.
  Summing summing = Summing::Floats;

  [[nodiscard]] const ReduceFunction* function() const {
    return custom == nullptr ? nullptr : &custom->function;
  }
};

class Operation;  // internal: one started collective

/// A stream of the communicator's device: for CUDA a cudaStream_t; null is the default stream.
struct Stream {
  void* handle = nullptr;
};

/// A started collective. Dropping an unfinished one waits for it; prefer wait(). Not so with a
/// stream: there it may be dropped, and wait() is for hosts that want to know, also of several
/// threads at once.
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
  void note_end() const;

  std::unique_ptr<Operation> operation_;
  /// The communicator's; none: nothing is noted. Never written again, for threads that wait at
  /// once.
  std::weak_ptr<flight::FlightRecorder> record_;
  std::uint64_t number_ = 0;  ///< of the call in it
};

/// A collective with its arguments checked and its plan made: starts again and again without
/// either.
class Prepared {
 public:
  Prepared();
  Prepared(Prepared&&) noexcept;
  Prepared& operator=(Prepared&&) noexcept;
  ~Prepared();

 private:
  friend class Communicator;
  struct State;
  std::shared_ptr<const State> state_;
};

/// A group of ranks that execute schedules together. Not thread-safe; every rank makes the same
/// calls in the same order. `count` is in elements. send == recv (or, for reduce-scatter and
/// all-gather, the shard inside the whole) is in place.
///
/// Buffers are host memory, or both are memory of the communicator's device. Without a stream a
/// collective on device memory comes after what the default stream holds, and its end is the end of
/// the call or Request. With one it is ordered as a kernel on that stream would be, and the call
/// returns at once: docs/runtime.md says how, and what happens to the stream when a peer dies.
///
/// Collectives throw Error(Transport) if a peer dies, LinkError if a link does (at every rank, the
/// first naming the ends) and Error(Timeout) if nothing moves for options.timeout; the message
/// names this rank, the peer, the step and the chunk. After an error the communicator is unusable.
///
/// A call that has returned, or a request that has said it is complete, is complete at this rank.
/// After an error the receive buffers of all others hold unspecified values, and their send buffers
/// what they held (except in place, where they are the receive buffers). A call may have returned
/// at some ranks and thrown at others: see finished_before().
class Communicator {
 public:
  /// Collective. `schedules`: at most one a collective, all for bootstrap->size() ranks. Without
  /// any, all collectives run if the ranks share a host and none has a device (HostPath::Auto).
  /// \throws Error(Unsupported) saying why not with HostPath::Required, Error as
  /// make_transport().
  Communicator(std::shared_ptr<Bootstrap> bootstrap, std::vector<Schedule> schedules,
               CommunicatorOptions options = {});
  /// The same with plans: of each collective's schedules, the one for the size of the call runs.
  Communicator(std::shared_ptr<Bootstrap> bootstrap, PlansBySize plans,
               CommunicatorOptions options = {});
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] Rank rank() const;
  [[nodiscard]] std::uint32_t size() const;
  [[nodiscard]] std::string describe() const;
  /// Whether it looks through inputs (CommunicatorOptions::check_finite, or its variable).
  [[nodiscard]] bool looks_through() const;
  /// The job that it runs in: after shrink(), that of the survivors.
  [[nodiscard]] std::shared_ptr<Bootstrap> bootstrap() const;

  /// Starts a collective, and waits for it.
  void run(const Call& call);
  /// The same without waiting. Several may be outstanding; they progress in test() and wait().
  Request start(const Call& call);
  /// Of a Probe: whose message could be received now; it waits for none. `sender` is not set.
  std::optional<Rank> probe(const ExchangeCall& call);
  /// A round of progress for all that is outstanding; if nothing moved, what to call with a longest
  /// time, also while others use this, to sleep until something may. \throws as Request::test()
  std::function<void(std::chrono::microseconds)> poll_or_nap();
  /// In the order of a stream, without waiting. Errors that show after the call has returned are
  /// thrown by the Request, and failure() has them; the stream goes on, with unspecified values in
  /// recv. While a graph is captured from the stream, the collective becomes part of it and the
  /// Request is complete. \throws Error(Unsupported) without a device, and while a graph is
  /// captured where it is not one kernel (docs/runtime.md).
  Request start(const Call& call, Stream stream);
  /// How start() has collectives in the order of this stream. \throws Error(Cuda)
  [[nodiscard]] StreamOrder order_on(Stream stream) const;

  // The same by name.
  void all_reduce(const void* send, void* recv, std::size_t count, DataType type, ReduceOp op) {
    run({Collective::AllReduce, send, recv, count, type, op});
  }
  /// send: count*size() elements; recv: count.
  void reduce_scatter(const void* send, void* recv, std::size_t count, DataType type, ReduceOp op) {
    run({Collective::ReduceScatter, send, recv, count, type, op});
  }
  /// send: count elements; recv: count*size().
  void all_gather(const void* send, void* recv, std::size_t count, DataType type) {
    run({Collective::AllGather, send, recv, count, type});
  }
  /// From and to the root of the schedule; send is read at the root only.
  void broadcast(const void* send, void* recv, std::size_t count, DataType type) {
    run({Collective::Broadcast, send, recv, count, type});
  }
  /// recv is written at the root only.
  void reduce(const void* send, void* recv, std::size_t count, DataType type, ReduceOp op) {
    run({Collective::Reduce, send, recv, count, type, op});
  }
  /// send: count elements; recv: count times the ranks, written at the root only.
  void gather(const void* send, void* recv, std::size_t count, DataType type) {
    run({Collective::Gather, send, recv, count, type});
  }
  /// send: count times the ranks, read at the root only; recv: count elements.
  void scatter(const void* send, void* recv, std::size_t count, DataType type) {
    run({Collective::Scatter, send, recv, count, type});
  }

  /// Without waiting; with a stream in its order: as start().
  Request start_all_reduce(const void* send, void* recv, std::size_t count, DataType type,
                           ReduceOp op) {
    return start({Collective::AllReduce, send, recv, count, type, op});
  }
  Request start_all_reduce(const void* send, void* recv, std::size_t count, DataType type,
                           ReduceOp op, Stream stream) {
    return start({Collective::AllReduce, send, recv, count, type, op}, stream);
  }
  Request start_reduce_scatter(const void* send, void* recv, std::size_t count, DataType type,
                               ReduceOp op) {
    return start({Collective::ReduceScatter, send, recv, count, type, op});
  }
  Request start_reduce_scatter(const void* send, void* recv, std::size_t count, DataType type,
                               ReduceOp op, Stream stream) {
    return start({Collective::ReduceScatter, send, recv, count, type, op}, stream);
  }
  Request start_all_gather(const void* send, void* recv, std::size_t count, DataType type) {
    return start({Collective::AllGather, send, recv, count, type});
  }
  Request start_all_gather(const void* send, void* recv, std::size_t count, DataType type,
                           Stream stream) {
    return start({Collective::AllGather, send, recv, count, type}, stream);
  }
  Request start_broadcast(const void* send, void* recv, std::size_t count, DataType type) {
    return start({Collective::Broadcast, send, recv, count, type});
  }
  Request start_broadcast(const void* send, void* recv, std::size_t count, DataType type,
                          Stream stream) {
    return start({Collective::Broadcast, send, recv, count, type}, stream);
  }
  Request start_reduce(const void* send, void* recv, std::size_t count, DataType type,
                       ReduceOp op) {
    return start({Collective::Reduce, send, recv, count, type, op});
  }
  Request start_reduce(const void* send, void* recv, std::size_t count, DataType type, ReduceOp op,
                       Stream stream) {
    return start({Collective::Reduce, send, recv, count, type, op}, stream);
  }
  Request start_gather(const void* send, void* recv, std::size_t count, DataType type) {
    return start({Collective::Gather, send, recv, count, type});
  }
  Request start_gather(const void* send, void* recv, std::size_t count, DataType type,
                       Stream stream) {
    return start({Collective::Gather, send, recv, count, type}, stream);
  }
  Request start_scatter(const void* send, void* recv, std::size_t count, DataType type) {
    return start({Collective::Scatter, send, recv, count, type});
  }
  Request start_scatter(const void* send, void* recv, std::size_t count, DataType type,
                        Stream stream) {
    return start({Collective::Scatter, send, recv, count, type}, stream);
  }

  /// Not collective: checks and plans a collective, to be started any number of times, one at a
  /// time, without a stream. `op` matters where there is one.
  Prepared prepare(const Call& call);
  Request start(const Prepared& prepared);
  /// The same for who will call test() or wait() until it is complete: nothing else is asked to.
  Request start_attended(const Prepared& prepared);
  /// run() for who will call test() or wait() until it is complete, and starts nothing else before:
  /// by what PlansBySize::refining has led to, after the comparisons that are due.
  Request start_run(const Call& call);

  /// What goes straight from rank to rank. Sends and receives are matched in order by pair; those
  /// that are collective count in the order of collectives. Host memory only. \throws as
  /// all_reduce(), Error(InvalidArgument) also where two ranks' counts or types differ: both are
  /// named.
  Request start(const ExchangeCall& call);
  /// The same for who will call test() or wait() until it is complete.
  Request start_attended(const ExchangeCall& call);
  /// run() for who will call test() or wait() until it is complete, and starts nothing else before.
  Request start_run(const ExchangeCall& call);
  void run(const ExchangeCall& call) { start_run(call).wait(); }
  /// Not collective: whether the arguments are good. \throws as start()
  void check(const ExchangeCall& call) const;

  void barrier();
  /// Why the communicator can no longer be used; empty while it can. From any thread once a
  /// collective was given a stream, as abort().
  [[nodiscard]] std::string failure() const;
  /// Not collective: gives up, tells the other ranks `reason`, and makes every later call fail;
  /// every stream that waits for a collective goes on. A rank that waits for a collective on host
  /// memory finishes that first.
  void abort(const std::string& reason);

  /// Collective over the ranks that are still there, after an error or without one: a communicator
  /// of just them, with the same options (`root` follows its process; if that is lost, rank 0 is
  /// it). What was outstanding here is given up (or, without an error, finished first). Ranks that
  /// do not call it within `deadline` of the first that does are left out. This communicator is of
  /// no use afterwards. \throws Error(Transport) if this rank was left out, the coordinator is gone
  /// or another rank dies meanwhile (shrink again), Error(Timeout).
  [[nodiscard]] std::unique_ptr<Communicator> shrink(const Replan& replan, Deadline deadline);
  /// The same, and around links that have died: `replan` is told of them. A rank all of whose links
  /// are dead is left out as if it had died.
  [[nodiscard]] std::unique_ptr<Communicator> shrink(const ReplanAround& replan, Deadline deadline);
  /// Of a communicator that shrink() returned: of the collectives of the one before, counted from 0
  /// in the order in which they were started, all below this number are complete at every rank of
  /// this one. Those from it on are to be repeated, by all ranks. 0 for any other communicator.
  [[nodiscard]] std::uint64_t finished_before() const;

  /// Not collective: the first part of shrink(), for whoever shrinks the job by itself and makes
  /// other communicators of it: finishes what is outstanding, or gives it up where that fails.
  void settle();

  /// Collective: `bytes` of zeroed memory, as much as this rank wants, that all ranks of one host
  /// map: collectives without messages use it in place, nothing is copied in or out. Elsewhere it
  /// is plain memory. Lives until deallocate() or the end of the communicator. \throws Error(Io) at
  /// every rank if one cannot have it.
  void* allocate(std::size_t bytes);
  /// Every rank gives back its part; waits for outstanding collectives. \throws
  /// Error(InvalidArgument) if `memory` is not of allocate().
  void deallocate(void* memory);
  /// Not collective: holds memory of allocate() in this rank's address space beyond deallocate()
  /// and the end of the communicator. \throws Error(InvalidArgument) as deallocate().
  [[nodiscard]] std::shared_ptr<const void> hold(const void* memory) const;
  /// What runs a vector of `bytes` (count times ranks for reduce-scatter's input and all-gather's
  /// output): the spec of its schedule, "host" without messages, "" if nothing does.
  [[nodiscard]] std::string algorithm(Collective collective, std::uint64_t bytes) const;
  /// What PlansBySize::refining has led to, in the order of the first calls; the same at every rank
  /// but for `calls` since the last comparison.
  [[nodiscard]] std::vector<Refined> refined() const;
  /// Whether collectives go without messages.
  [[nodiscard]] bool on_one_host() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace multitree::runtime
