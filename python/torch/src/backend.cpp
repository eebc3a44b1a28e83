// SPDX-License-Identifier: BSD-3-Clause
#include "backend.hpp"

#include <pybind11/pybind11.h>

#include <algorithm>

#include "library.hpp"

namespace multitree_torch {
namespace {

/// What rank 0 says of a monitored barrier.
const std::string kPassed = "passed";

/// Threads that end may want the interpreter.
class WithoutInterpreter {
 public:
  WithoutInterpreter() {
    if (Py_IsInitialized() != 0 && PyGILState_Check() != 0) release_.emplace();
  }

 private:
  std::optional<pybind11::gil_scoped_release> release_;
};

}  // namespace

Starter::~Starter() {
  for (mtRequest_t& request : requests_) mtRequestFree(&request);
}

mtRequest_t* Starter::request() {
  TORCH_INTERNAL_ASSERT(requests_.size() < requests_.capacity());
  return &requests_.emplace_back(nullptr);
}

MultitreeBackend::MultitreeBackend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                   c10::intrusive_ptr<MultitreeOptions> options)
    : Backend(rank, size), store_(store), options_(std::move(options)) {
  options_->network.fill_from_environment();
  communicator_ =
      std::make_shared<Communicator>(store_, rank, size, options_->timeout, options_->network);
  pump_ = std::make_shared<Pump>([comm = communicator_->get()] { sleep_until_arrival(comm); });
  pump_->abort_by([communicator = communicator_] { communicator->abort(); });
  pump_->start();
  mailboxes_ = std::make_unique<Mailboxes>(communicator_->get());
  init();
}

MultitreeBackend::~MultitreeBackend() { close("the process group was destroyed"); }

void MultitreeBackend::close(const std::string& why) {
  if (pump_ == nullptr) return;
  const WithoutInterpreter free;
  try {
    C10_THROW_ERROR(DistBackendError, why);
  } catch (...) {
    pump_->stop(std::current_exception());
  }
  pump_->abort_by(nullptr);
  mailboxes_ = nullptr;
  communicator_ = nullptr;
}

void MultitreeBackend::shutdown() { close("the process group was shut down"); }

void MultitreeBackend::abort() {
  const WithoutInterpreter free;
  if (communicator_ != nullptr) pump_->abort("the process group was aborted by abort()");
}

c10d::ErrorType MultitreeBackend::getError() {
  if (communicator_ == nullptr) return c10d::ErrorType::SUCCESS;
  mtResult_t result = mtAborted;
  if (!communicator_->aborted()) mtCommGetAsyncError(communicator_->get(), &result);
  if (result == mtSuccess || result == mtInProgress) return c10d::ErrorType::SUCCESS;
  if (result == mtTimeout) return c10d::ErrorType::TIMEOUT;
  return result == mtRemoteError ? c10d::ErrorType::REMOTE_ERROR : c10d::ErrorType::COMM_ERROR;
}

mtComm_t MultitreeBackend::comm() const {
  if (communicator_ == nullptr || communicator_->aborted()) {
    C10_THROW_ERROR(DistBackendError,
                    "the process group was aborted or shut down; make another with new_group() or "
                    "init_process_group()");
  }
  return communicator_->get();
}

void MultitreeBackend::set_timeout(Call& call, std::chrono::milliseconds timeout) const {
  call.timeout = timeout > kNoTimeout ? timeout : options_->timeout;
}

WorkPtr MultitreeBackend::launch(Call call, std::chrono::milliseconds timeout,
                                 const std::function<void(Starter&)>& start) {
  set_timeout(call, timeout);
  const std::string what = call.what;
  const mtComm_t comm = this->comm();
  Starter starter(comm, what);
  starter.reserve(2 * static_cast<std::size_t>(size_) + 2 * call.inputs.size() + 2);
  start(starter);
  auto pending = std::make_unique<Requests>(starter.take(), what, comm);
  auto work = c10::make_intrusive<CallWork>(std::move(call), rank_, number_++, pump_);
  pump_->add(work, std::move(pending));
  return work;
}

WorkPtr MultitreeBackend::send(Tensors& tensors, int destination, int tag) {
  TORCH_CHECK_VALUE(tensors.size() == 1, "send: expected one tensor, found ", tensors.size());
  check_tensor(tensors[0], "send");
  const at::Tensor data = tensors[0].detach().cpu().contiguous();
  auto header = std::make_shared<Header>(Header{tag, bytes_of(data)});
  const at::Tensor memory = at::from_blob(
      header.get(), {sizeof(Header)}, [header](void*) {}, at::kByte);
  Call call{.type = c10d::OpType::SEND, .what = "send", .inputs = tensors, .keep = {data, memory}};
  const mtComm_t comm = this->comm();
  return launch(std::move(call), kNoTimeout, [&](Starter& starter) {
    starter.took(mtISend(header.get(), sizeof(Header), mtUint8, destination, comm, nullptr,
                         starter.request()));
    starter.took(mtISend(data.data_ptr(), header->bytes, mtUint8, destination, comm, nullptr,
                         starter.request()));
  });
}

WorkPtr MultitreeBackend::recv(Tensors& tensors, int source, int tag) {
  TORCH_CHECK_VALUE(tensors.size() == 1, "recv: expected one tensor, found ", tensors.size());
  check_tensor(tensors[0], "recv");
  comm();
  Call call{.type = c10d::OpType::RECV, .what = "recv", .outputs = tensors, .source = source};
  set_timeout(call, kNoTimeout);
  at::Tensor buffer = tensors[0].detach();
  if (!buffer.is_contiguous() || !buffer.is_cpu()) {
    buffer =
        at::empty(buffer.sizes(),
                  buffer.options().device(at::kCPU).memory_format(at::MemoryFormat::Contiguous));
    call.copies.push_back({tensors[0], buffer});
  }
  auto pending = mailboxes_->receive(source, tag, buffer);
  auto work = c10::make_intrusive<CallWork>(std::move(call), rank_, number_++, pump_);
  pump_->add(work, std::move(pending));
  return work;
}

WorkPtr MultitreeBackend::recvAnysource(Tensors&, int) {
  C10_THROW_ERROR(
      NotImplementedError,
      "recv: a receive from any rank is not served; name the source, or use Gloo for it");
}

void MultitreeBackend::monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) {
  const auto limit = options.timeout > kNoTimeout ? options.timeout : options_->timeout;
  const std::string prefix = "multitree/monitored/" + std::to_string(barriers_++) + "/";
  const auto text = [](const std::string& words) {
    return std::vector<std::uint8_t>(words.begin(), words.end());
  };
  const auto verdict = prefix + "verdict";
  if (rank_ != 0) {
    store_->set(prefix + std::to_string(rank_), text("here"));
    store_->wait({verdict}, 2 * limit);
    const auto bytes = store_->get(verdict);
    const std::string words(bytes.begin(), bytes.end());
    TORCH_CHECK(words == kPassed, "monitoredBarrier: rank 0 gave up: ", words);
    return;
  }
  const auto end = std::chrono::steady_clock::now() + limit;
  std::string late;
  for (int rank = 1; rank < size_ && (late.empty() || wait_all_ranks); ++rank) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    const std::string key = prefix + std::to_string(rank);
    try {
      if (!store_->check({key})) store_->wait({key}, std::max(left, std::chrono::milliseconds(1)));
    } catch (const std::exception&) {
      late += (late.empty() ? "" : ", ") + std::to_string(rank);
    }
  }
  std::string words;
  if (!late.empty()) {
    words = (wait_all_ranks ? "Ranks " : "Rank ") + late + " failed to pass monitoredBarrier in " +
            std::to_string(limit.count()) + " ms";
  }
  store_->set(verdict, text(words.empty() ? kPassed : words));
  TORCH_CHECK(words.empty(), words);
}

c10::intrusive_ptr<c10d::Backend> MultitreeBackend::split(
    const c10::intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
    const c10::intrusive_ptr<Options>& options) {
  const auto it = std::find(ranks.begin(), ranks.end(), rank_);
  if (it == ranks.end()) return nullptr;
  auto own = c10::make_intrusive<MultitreeOptions>(options ? options->timeout : options_->timeout);
  own->buckets = options_->buckets;
  own->network.algorithm = options_->network.algorithm;  // topology and plan are of all ranks
  own->network.transport = options_->network.transport;
  return c10::make_intrusive<MultitreeBackend>(store->clone(), static_cast<int>(it - ranks.begin()),
                                               static_cast<int>(ranks.size()), std::move(own));
}

at::Tensor MultitreeBackend::empty(at::IntArrayRef shape, at::ScalarType type) {
  comm();
  return communicator_->empty(shape, type);
}

at::Tensor MultitreeBackend::allocateTensor(long size, at::TensorOptions options) {
  return empty({size}, c10::typeMetaToScalarType(options.dtype()));
}

}  // namespace multitree_torch
