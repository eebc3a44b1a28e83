// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A communicator of the library for the ranks of a process group.
#pragma once

#include <ATen/ATen.h>
#include <multitree.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace multitree_torch {

/// Options of the process group, in the names of mtConfig_t; empty: the variables
/// MULTITREE_TORCH_TOPOLOGY, _ALGORITHM, _PLAN, _TRANSPORT, else the library's defaults.
struct Network {
  std::string topology, algorithm, plan, transport;
  void fill_from_environment();
};

/// Where and as whom a rank meets the others.
struct Meeting {
  c10::intrusive_ptr<c10d::Store> store;
  std::string name;  ///< of the communicator, among those of the group
  int rank, size;
};

class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  /// Collective, blocking: the ranks meet through the store. `home`: whose memory buffers will be,
  /// the CPU's or that of the current device of CUDA. \throws DistBackendError
  Communicator(const Meeting& meeting, std::chrono::milliseconds timeout, const Network& network,
               at::Device home);
  /// Leaves without waiting for the others: the rest is done in the background.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] mtComm_t get() const { return comm_; }
  /// The others get an error that names this rank. Tensors of empty() keep their values.
  void abort();
  [[nodiscard]] bool aborted() const;
  /// Collective: a tensor in memory that the ranks of this host share, zeroed.
  at::Tensor empty(at::IntArrayRef shape, at::ScalarType type);

  /// Until all that were left in the background are closed, or `limit` has passed: then these are
  /// aborted.
  static void wait_for_closed(std::chrono::milliseconds limit);

 private:
  void release(void* memory);

  mtComm_t comm_ = nullptr;
  mutable std::mutex mutex_;
  bool aborted_ = false;
  std::map<void*, c10::weak_intrusive_ptr<c10::StorageImpl>> memory_;
};

}  // namespace multitree_torch
