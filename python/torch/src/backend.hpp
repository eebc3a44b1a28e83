// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// torch's process group over the C library.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "communicator.hpp"
#include "lane.hpp"
#include "library.hpp"
#include "mailbox.hpp"
#include "work.hpp"

namespace multitree_torch {

using WorkPtr = c10::intrusive_ptr<c10d::Work>;
using Tensors = std::vector<at::Tensor>;

/// What is known while a call is being started.
class Starter {
 public:
  Starter(const Lane& lane, std::string what)
      : comm_(lane.comm()), stream_(lane.handle()), what_(std::move(what)) {}
  ~Starter();
  [[nodiscard]] mtComm_t comm() const { return comm_; }
  [[nodiscard]] mtStream_t stream() const { return stream_; }
  /// A new request, for the library to fill in.
  mtRequest_t* request();
  /// \throws what the library refuses.
  void took(mtResult_t result) { check(result, what_, comm_); }
  std::vector<mtRequest_t> take() { return std::exchange(requests_, {}); }
  void reserve(std::size_t count) { requests_.reserve(count); }

 private:
  mtComm_t comm_;
  mtStream_t stream_;
  std::string what_;
  std::vector<mtRequest_t> requests_;
};

class MultitreeBackend final : public c10d::Backend {
 public:
  struct MultitreeOptions : c10d::Backend::Options {
    explicit MultitreeOptions(std::chrono::milliseconds timeout = kBackendDefaultTimeout)
        : Options("multitree", timeout) {}
    Network network;
    bool buckets = true;  ///< whether torch may place its buckets in shared memory
    std::string sums;     ///< a name that Sums knows; empty: MULTITREE_TORCH_SUMS
  };

  MultitreeBackend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                   c10::intrusive_ptr<MultitreeOptions> options);
  ~MultitreeBackend() override;

  const std::string getBackendName() const override { return "multitree"; }
  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_coalesced(Tensors& tensors,
                              const c10d::AllreduceCoalescedOptions& options) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& options) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& options) override;
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs,
                 const c10d::GatherOptions& options) override;
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                  const c10d::ScatterOptions& options) override;
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override;
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& options) override;
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                        std::vector<int64_t>& input_splits,
                        const c10d::AllToAllOptions& options) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs,
                   const c10d::AllToAllOptions& options) override;
  WorkPtr send(Tensors& tensors, int destination, int tag) override;
  WorkPtr recv(Tensors& tensors, int source, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;
  WorkPtr barrier(const c10d::BarrierOptions& options) override;
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;

  void setTimeout(std::chrono::milliseconds timeout) override { options_->timeout = timeout; }
  uint64_t getSequenceNumberForGroup() override { return number_; }
  void abort() override;
  void shutdown() override;
  c10d::ErrorType getError() override;
  bool supportsSplitting() const override { return true; }
  c10::intrusive_ptr<Options> getBackendOptions() override { return options_; }
  c10::intrusive_ptr<Backend> split(const c10::intrusive_ptr<c10d::Store>& store,
                                    const std::vector<int>& ranks,
                                    const c10::intrusive_ptr<Options>& options) override;
  at::Tensor empty(at::IntArrayRef shape, at::ScalarType type);
  /// Whose memory the library reads and writes itself, since the first call on it.
  std::optional<at::Device> device();
  at::Tensor allocateTensor(long size, at::TensorOptions options) override;
  bool supportsTensorAlloc(c10::DeviceIndex) override { return options_->buckets; }

 private:
  /// `source` may be kAnySource.
  WorkPtr receive(Tensors& tensors, int source, int tag);
  /// Starts what `start` asks of the library, and hands it to the pump. \throws what is refused.
  WorkPtr launch(Call call, std::chrono::milliseconds timeout,
                 const std::function<void(Starter&)>& start);
  WorkPtr hand_over(Call call, std::unique_ptr<Pending> pending);
  /// Gives the call its lane: that of the tensor's device, where the library moves and, with `op`,
  /// reduces such tensors there, and else that of host memory. Collective with the first tensor of
  /// a device. \throws what is wrong with the tensor or the group.
  void place(Call& call, const at::Tensor& tensor, const c10d::ReduceOp* op = nullptr);
  /// Whether a device can: not what sums_ are for.
  [[nodiscard]] bool served_on_devices(const c10d::ReduceOp* op, const at::Tensor& tensor) const;
  /// The same of a list, for which one lane has to serve all.
  void place_all(Call& call, const Tensors& tensors, const c10d::ReduceOp* op = nullptr);
  /// Complete when `pending` is and all that this group has outstanding on its device.
  std::unique_ptr<Pending> behind_device(std::unique_ptr<Pending> pending);
  /// The lane of host memory, whatever the tensor's device.
  void place_on_host(Call& call, const at::Tensor& tensor);
  /// Null where not all ranks have a device.
  std::shared_ptr<Lane> lane_of(at::Device device);
  std::shared_ptr<Lane> open_lane(at::Device device);
  void set_timeout(Call& call, std::chrono::milliseconds timeout) const;
  void close(const std::string& why);

  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<MultitreeOptions> options_;
  Sums sums_;
  std::shared_ptr<Lane> host_;
  std::mutex device_mutex_;  ///< guards the next two
  std::optional<at::Device> device_;
  std::shared_ptr<Lane> on_device_;  ///< null with a device: its tensors go through host memory
  std::shared_ptr<Mailboxes> mailboxes_;
  std::atomic<std::uint64_t> number_{0};
  std::uint64_t barriers_ = 0;
};

}  // namespace multitree_torch
