// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which communicator a call goes to: that of host memory, or that of a device.
#include <algorithm>

#include "backend.hpp"
#include "library.hpp"

namespace multitree_torch {
namespace {

void note_device(Call& call, const at::Tensor& tensor) {
  if (!tensor.is_cuda()) return;
  const c10::impl::VirtualGuardImpl guard(tensor.device().type());
  call.device = DeviceSide{guard.getStream(tensor.device())};
}

/// Something of one lane that comes after what another has outstanding.
class Behind final : public Pending {
 public:
  Behind(std::unique_ptr<Pending> own, std::shared_ptr<Pump> other)
      : own_(std::move(own)), other_(std::move(other)), latest_(other_->latest()) {}
  bool test() override { return own_->test() && other_->passed(latest_); }

 private:
  std::unique_ptr<Pending> own_;
  std::shared_ptr<Pump> other_;
  std::uint64_t latest_;
};

/// Whether all ranks' libraries have opened a device; collective.
bool all_have_devices(mtComm_t comm) {
  int number = -1;
  check(mtCommCuDevice(comm, &number), "init_process_group", comm);
  std::int32_t found = number >= 0 ? 1 : 0;
  check(mtAllReduce(&found, &found, 1, mtInt32, mtMin, comm, nullptr), "init_process_group", comm);
  if (number < 0) {
    TORCH_WARN(
        "multitree: tensors of CUDA go through host memory, as the library has not found its CUDA "
        "part, libmultitree_cuda.so; it is built where nvcc is, and MULTITREE_CUDA_LIBRARY names "
        "it");
  }
  return found == 1;
}

}  // namespace

void MultitreeBackend::place_on_host(Call& call, const at::Tensor& tensor) {
  check_tensor(tensor, call.what);
  call.lane = host_;
  note_device(call, tensor);
}

bool MultitreeBackend::served_on_devices(const c10d::ReduceOp* op, const at::Tensor& tensor) const {
  return op == nullptr || (reduced_on_devices(*op, tensor) && !sums_.apply(*op, tensor));
}

void MultitreeBackend::place(Call& call, const at::Tensor& tensor, const c10d::ReduceOp* op) {
  place_on_host(call, tensor);
  if (!tensor.is_cuda() || !served_on_devices(op, tensor)) return;
  if (auto lane = lane_of(tensor.device())) call.lane = std::move(lane);
}

void MultitreeBackend::place_all(Call& call, const Tensors& tensors, const c10d::ReduceOp* op) {
  call.lane = host_;
  if (tensors.empty()) return;
  const auto served = [&](const at::Tensor& tensor) {
    check_tensor(tensor, call.what);
    return tensor.is_cuda() && served_on_devices(op, tensor);
  };
  if (std::all_of(tensors.begin(), tensors.end(), served)) return place(call, tensors[0], op);
  place_on_host(call, tensors[0]);
}

std::unique_ptr<Pending> MultitreeBackend::behind_device(std::unique_ptr<Pending> pending) {
  const std::lock_guard lock(device_mutex_);
  if (on_device_ == nullptr) return pending;
  return std::make_unique<Behind>(std::move(pending), on_device_->pump());
}

std::shared_ptr<Lane> MultitreeBackend::lane_of(at::Device device) {
  const std::lock_guard lock(device_mutex_);
  if (!device_) {
    on_device_ = open_lane(device);
    device_ = device;
  }
  TORCH_CHECK_VALUE(*device_ == device, "expected a tensor of ", device_->str(),
                    ", the device of this process group since its first call on one, found one of ",
                    device.str());
  return on_device_;
}

std::optional<at::Device> MultitreeBackend::device() {
  const std::lock_guard lock(device_mutex_);
  if (on_device_ == nullptr) return std::nullopt;
  return on_device_->home();
}

std::shared_ptr<Lane> MultitreeBackend::open_lane(at::Device device) {
  const c10::DeviceGuard current(device);
  auto communicator = std::make_shared<Communicator>(Meeting{store_, "device", rank_, size_},
                                                     options_->timeout, options_->network, device);
  if (!all_have_devices(communicator->get())) return nullptr;
  return std::make_shared<Lane>(std::move(communicator), device);
}

}  // namespace multitree_torch
