// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A way that collectives take: messages from host memory, memory that the ranks of a host share, a
/// device. A communicator has those that its ranks have, and each call takes one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/communicator.hpp"
#include "runtime/execution/operation_internal.hpp"

namespace multitree::runtime {

struct Moves;  // runtime/exchange/moves_internal.hpp

class Path {
 public:
  Path() = default;
  virtual ~Path() = default;
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

  /// Whether the buffers of a call are of its kind. \throws Error: the buffers fit no path
  [[nodiscard]] virtual bool takes(const Call& call) const = 0;
  /// Checks a call, and plans what can be planned ahead; null if that is nothing.
  virtual std::shared_ptr<const LoadedProgram> prepare(const Call& call) = 0;
  /// Starts a call. `program`: what prepare() made of it. `sequence` numbers the calls of the
  /// communicator.
  virtual std::unique_ptr<Operation> start(const Call& call,
                                           std::shared_ptr<const LoadedProgram> program,
                                           std::uint64_t sequence) = 0;
  /// start(), then waits; for paths that can do so for less.
  virtual void run(const Call& call, std::shared_ptr<const LoadedProgram> program,
                   std::uint64_t sequence);

  /// prepare() and run(), of a call that nobody has prepared before: what is made of it may change
  /// from call to call.
  virtual void call(const Call& call, std::uint64_t& sequence);
  /// The same for who tests or waits until it is complete, and starts nothing else meanwhile;
  /// `sequence` stays where it is until then.
  virtual std::unique_ptr<Operation> start_call(const Call& call, std::uint64_t& sequence);

  /// "ring", or what else runs a vector of `bytes`; empty if nothing does.
  [[nodiscard]] virtual std::string algorithm(Collective collective, std::uint64_t bytes) const = 0;
};

/// A path of host memory: the communicator has exactly one, which takes every call that no device
/// does, and which all ranks have.
class HostMemoryPath : public Path {
 public:
  [[nodiscard]] bool takes(const Call&) const final { return true; }
  /// Of a call that has one; else any.
  [[nodiscard]] virtual Rank root_of(const Call& call) const = 0;
  /// Collective.
  virtual void barrier(std::uint64_t& sequence) = 0;
  /// Collective: memory of this rank that the path likes best. \throws Error(Io)
  virtual void* allocate(std::size_t bytes) = 0;
  /// False if `memory` is not of allocate().
  virtual bool deallocate(void* memory) = 0;
  /// What keeps memory of allocate() mapped; null if it is not of allocate().
  [[nodiscard]] virtual std::shared_ptr<const void> hold(const void* memory) const = 0;
  /// Starts an exchange of all ranks with this rank's moves. `number`: of its messages. `attended`:
  /// whether the caller waits for it at once; then null is returned if it is over already.
  /// \pre !sends_messages(): else exchanges are the communicator's messages
  virtual std::unique_ptr<Operation> exchange(const ExchangeCall&, Moves&& /*moves*/,
                                              std::uint32_t /*number*/, std::uint64_t /*sequence*/,
                                              bool /*attended*/) {
    return nullptr;
  }
  /// How many calls with lower numbers than this are the path's own, and nobody's collectives.
  [[nodiscard]] virtual std::uint64_t own_calls_before(std::uint64_t) const { return 0; }
  /// What was tried, and what came of it.
  [[nodiscard]] virtual std::vector<Refined> refined() const { return {}; }
  /// Whether messages are sent; then the path has peers.
  [[nodiscard]] virtual bool sends_messages() const = 0;
};

}  // namespace multitree::runtime
