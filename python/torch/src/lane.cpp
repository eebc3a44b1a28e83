// SPDX-License-Identifier: BSD-3-Clause
#include "lane.hpp"

#include <pybind11/pybind11.h>

#include <chrono>
#include <thread>

#include "library.hpp"

namespace multitree_torch {
namespace {

/// What ends on a device is no arrival that a sleep of the library would end with.
constexpr std::chrono::microseconds kDeviceNap{20};

/// Threads that end may want the interpreter.
class WithoutInterpreter {
 public:
  WithoutInterpreter() {
    if (Py_IsInitialized() != 0 && PyGILState_Check() != 0) release_.emplace();
  }

 private:
  std::optional<pybind11::gil_scoped_release> release_;
};

std::shared_ptr<Pump> pump_of(const std::shared_ptr<Communicator>& communicator,
                              std::function<void()> sleep) {
  auto pump = std::make_shared<Pump>(std::move(sleep));
  pump->abort_by([communicator] { communicator->abort(); });
  pump->start();
  return pump;
}

}  // namespace

Lane::Lane(std::shared_ptr<Communicator> communicator)
    : home_(at::kCPU),
      communicator_(std::move(communicator)),
      pump_(pump_of(communicator_, [comm = communicator_->get()] { sleep_until_arrival(comm); })) {}

Lane::Lane(std::shared_ptr<Communicator> communicator, at::Device device)
    : home_(device),
      communicator_(std::move(communicator)),
      pump_(pump_of(communicator_, [] { std::this_thread::sleep_for(kDeviceNap); })) {
  const c10::impl::VirtualGuardImpl guard(device.type());
  const c10::Stream own = guard.getStreamFromGlobalPool(device, true);
  mtStreamOrder_t order = mtStreamWaits;
  void* const handle = guard.getStreamNativeHandle(own);
  check(mtCommGetStreamOrder(communicator_->get(), handle, &order), "init_process_group");
  // A stream that is held is no place for programs that free memory, or copy what is not pinned.
  if (order != mtStreamKernel) return;
  stream_ = own;
  handle_ = handle;
}

mtComm_t Lane::comm() const {
  if (communicator_ == nullptr || communicator_->aborted()) {
    C10_THROW_ERROR(DistBackendError,
                    "the process group was aborted or shut down; make another with new_group() or "
                    "init_process_group()");
  }
  return communicator_->get();
}

std::unique_lock<std::mutex> Lane::follow(const c10::Stream& before) {
  std::unique_lock lock(mutex_);
  const c10::impl::VirtualGuardImpl guard(home_.type());
  const c10::Stream behind = stream_ ? *stream_ : guard.getDefaultStream(home_);
  if (behind != before) {
    c10::Event event(home_.type());
    event.record(before);
    event.block(behind);
  }
  return lock;
}

void Lane::close(const std::string& why) {
  if (pump_ == nullptr) return;
  const WithoutInterpreter free;
  try {
    C10_THROW_ERROR(DistBackendError, why);
  } catch (...) {
    pump_->stop(std::current_exception());
  }
  pump_->abort_by(nullptr);
  pump_ = nullptr;
  communicator_ = nullptr;
}

void Lane::abort(const std::string& why) {
  const WithoutInterpreter free;
  if (pump_ != nullptr) pump_->abort(why);
}

mtResult_t Lane::error() const {
  if (communicator_ == nullptr) return mtSuccess;
  if (communicator_->aborted()) return mtAborted;
  mtResult_t result = mtSuccess;
  mtCommGetAsyncError(communicator_->get(), &result);
  return result == mtInProgress ? mtSuccess : result;
}

}  // namespace multitree_torch
