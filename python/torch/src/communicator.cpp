// SPDX-License-Identifier: BSD-3-Clause
#include "communicator.hpp"

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>
#include <thread>

#include "library.hpp"

namespace multitree_torch {
namespace {

/// Communicators that this process has left, and that wait for other ranks in threads.
class Leaving {
 public:
  static Leaving& instance() {
    static auto* const leaving = new Leaving();  // threads may outlive what is destroyed at the end
    return *leaving;
  }
  void add(mtComm_t comm) {
    {
      const std::lock_guard lock(mutex_);
      comms_.insert(comm);
    }
    std::thread([this, comm] {
      mtCommDestroy(comm);
      const std::lock_guard lock(mutex_);
      comms_.erase(comm);
      changed_.notify_all();
    }).detach();
  }
  void wait(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [this] { return comms_.empty(); });
    const std::set<mtComm_t> late = comms_;
    lock.unlock();
    for (mtComm_t comm : late) mtCommAbort(comm);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<mtComm_t> comms_;
};

constexpr const char* kIdKey = "multitree/id";

/// A launcher that starts the ranks again may keep the store, with what they said before in it.
std::string key_of_this_start(const std::string& name) {
  const char* const restart = std::getenv("TORCHELASTIC_RESTART_COUNT");
  return std::string(kIdKey) + "/" + name + "/" + (restart == nullptr ? "0" : restart);
}

mtUniqueId meet(const Meeting& meeting) {
  const std::string key = key_of_this_start(meeting.name);
  mtUniqueId id{};
  if (meeting.rank == 0) {
    check(mtGetUniqueId(&id), "init_process_group");
    meeting.store->set(key,
                       std::vector<std::uint8_t>(id.internal, id.internal + MT_UNIQUE_ID_BYTES));
    return id;
  }
  const std::vector<std::uint8_t> bytes = meeting.store->get(key);
  if (bytes.size() != MT_UNIQUE_ID_BYTES) {
    C10_THROW_ERROR(DistBackendError,
                    "init_process_group: expected an id of " + std::to_string(MT_UNIQUE_ID_BYTES) +
                        " bytes of rank 0 in the store, found " + std::to_string(bytes.size()) +
                        "; all ranks need the same version of multitree");
  }
  std::memcpy(id.internal, bytes.data(), bytes.size());
  return id;
}

const char* text_or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

}  // namespace

void Network::fill_from_environment() {
  const auto fill = [](std::string& field, const char* name) {
    const char* value = std::getenv(name);
    if (field.empty() && value != nullptr) field = value;
  };
  fill(topology, "MULTITREE_TORCH_TOPOLOGY");
  fill(algorithm, "MULTITREE_TORCH_ALGORITHM");
  fill(plan, "MULTITREE_TORCH_PLAN");
  fill(transport, "MULTITREE_TORCH_TRANSPORT");
}

Communicator::Communicator(const Meeting& meeting, std::chrono::milliseconds timeout,
                           const Network& network, at::Device home) {
  const auto most = static_cast<std::int64_t>(std::numeric_limits<int>::max());
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  config.deadlineMs = static_cast<int>(std::clamp<std::int64_t>(timeout.count(), 1, most));
  config.initDeadlineMs = config.deadlineMs;
  config.topology = text_or_null(network.topology);
  config.algorithm = text_or_null(network.algorithm);
  config.planFile = text_or_null(network.plan);
  config.transport = text_or_null(network.transport);
  config.devices = home.is_cpu() ? 0 : 1;
  // The pump does this, and knows when something is complete; the variable still decides if it is
  // set.
  if (std::getenv("MULTITREE_PROGRESS") == nullptr) config.progress = "off";
  check(mtCommInitRankConfig(&comm_, meeting.size, meet(meeting), meeting.rank, &config),
        "init_process_group");
}

Communicator::~Communicator() {
  if (!aborted_) Leaving::instance().add(comm_);
}

bool Communicator::aborted() const {
  const std::lock_guard lock(mutex_);
  return aborted_;
}

void Communicator::abort() {
  {
    const std::lock_guard lock(mutex_);
    if (aborted_) return;
    aborted_ = true;
    // The library takes its memory back: what tensors have there goes elsewhere.
    for (auto& [memory, weak] : memory_) {
      const auto storage = weak.lock();
      if (!storage) continue;
      const std::size_t bytes = storage->nbytes();
      at::DataPtr copy = c10::GetCPUAllocator()->allocate(bytes);
      std::memcpy(copy.get(), memory, bytes);
      at::DataPtr old = storage->set_data_ptr(std::move(copy));
      old.release_context();
    }
    memory_.clear();
  }
  mtCommAbort(comm_);
}

void Communicator::release(void* memory) {
  const std::lock_guard lock(mutex_);
  if (memory_.erase(memory) != 0) mtMemFree(memory, comm_);
}

void Communicator::wait_for_closed(std::chrono::milliseconds limit) {
  Leaving::instance().wait(limit);
}

at::Tensor Communicator::empty(at::IntArrayRef shape, at::ScalarType type) {
  const at::TensorOptions options = at::TensorOptions().dtype(type).device(at::kCPU);
  std::size_t bytes = c10::elementSize(type);
  for (const std::int64_t length : shape) {
    TORCH_CHECK_VALUE(length >= 0, "empty: expected lengths of 0 or more, found ", length);
    bytes *= static_cast<std::size_t>(length);
  }
  if (bytes == 0) return at::empty(shape, options);
  void* memory = nullptr;
  check(mtMemAlloc(&memory, bytes, comm_), "empty", comm_);
  at::Tensor tensor = at::from_blob(
      memory, shape, [self = shared_from_this(), memory](void*) { self->release(memory); },
      options);
  const std::lock_guard lock(mutex_);
  memory_.emplace(memory,
                  c10::weak_intrusive_ptr<c10::StorageImpl>(tensor.storage().getWeakStorageImpl()));
  return tensor;
}

}  // namespace multitree_torch
