// SPDX-License-Identifier: BSD-3-Clause
#include "backend.hpp"

#include <algorithm>
#include <cstdlib>

#include "library.hpp"

namespace multitree_torch {
namespace {

/// What rank 0 says of a monitored barrier.
const std::string kPassed = "passed";

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
  if (const char* sums = std::getenv("MULTITREE_TORCH_SUMS"); sums && options_->sums.empty()) {
    options_->sums = sums;
  }
  sums_ = Sums(options_->sums);
  host_ = std::make_shared<Lane>(std::make_shared<Communicator>(
      Meeting{store_, "host", rank, size}, options_->timeout, options_->network, at::kCPU));
  mailboxes_ = std::make_shared<Mailboxes>(host_->comm(), size);
  init();
}

MultitreeBackend::~MultitreeBackend() { close("the process group was destroyed"); }

void MultitreeBackend::close(const std::string& why) {
  mailboxes_ = nullptr;
  if (on_device_ != nullptr) on_device_->close(why);
  host_->close(why);
}

void MultitreeBackend::shutdown() { close("the process group was shut down"); }

void MultitreeBackend::abort() {
  for (const auto& lane : {on_device_, host_}) {
    if (lane != nullptr) lane->abort("the process group was aborted by abort()");
  }
}

c10d::ErrorType MultitreeBackend::getError() {
  mtResult_t result = host_->error();
  if (result == mtSuccess && on_device_ != nullptr) result = on_device_->error();
  if (result == mtSuccess) return c10d::ErrorType::SUCCESS;
  if (result == mtTimeout) return c10d::ErrorType::TIMEOUT;
  return result == mtRemoteError ? c10d::ErrorType::REMOTE_ERROR : c10d::ErrorType::COMM_ERROR;
}

void MultitreeBackend::set_timeout(Call& call, std::chrono::milliseconds timeout) const {
  call.timeout = timeout > kNoTimeout ? timeout : options_->timeout;
}

WorkPtr MultitreeBackend::hand_over(Call call, std::unique_ptr<Pending> pending) {
  const std::shared_ptr<Lane> lane = call.lane;
  auto work = c10::make_intrusive<CallWork>(std::move(call), rank_, number_++, lane->pump());
  if (work->call().device && work->call().device->on_stream) work->put_on(*lane->stream());
  lane->pump()->add(work, std::move(pending));
  return work;
}

WorkPtr MultitreeBackend::launch(Call call, std::chrono::milliseconds timeout,
                                 const std::function<void(Starter&)>& start) {
  set_timeout(call, timeout);
  const std::shared_ptr<Lane> lane = call.lane;
  Starter starter(*lane, call.what);
  starter.reserve(2 * static_cast<std::size_t>(size_) + 2 * call.inputs.size() + 2);
  std::unique_lock<std::mutex> alone;
  if (lane->on_device()) alone = lane->follow(call.device->caller);
  start(starter);
  std::shared_ptr<c10::Event> done;
  if (lane->stream()) {
    done = std::make_shared<c10::Event>(lane->home().type());
    call.device->on_stream = true;
    call.device->done = done;
  }
  auto pending = std::make_unique<Requests>(starter.take(), call.what, lane->comm(), done);
  return hand_over(std::move(call), std::move(pending));
}

WorkPtr MultitreeBackend::send(Tensors& tensors, int destination, int tag) {
  TORCH_CHECK_VALUE(tensors.size() == 1, "send: expected one tensor, found ", tensors.size());
  check_tensor(tensors[0], "send");
  const at::Tensor data = tensors[0].detach().cpu().contiguous();
  auto header = std::make_shared<Header>(Header{tag, bytes_of(data)});
  const at::Tensor memory = at::from_blob(
      header.get(), {sizeof(Header)}, [header](void*) {}, at::kByte);
  Call call{.type = c10d::OpType::SEND, .what = "send", .inputs = tensors, .keep = {data, memory}};
  place_on_host(call, data);  // it was copied there
  return launch(std::move(call), kNoTimeout, [&](Starter& starter) {
    starter.took(mtISend(header.get(), sizeof(Header), mtUint8, destination, starter.comm(),
                         nullptr, starter.request()));
    starter.took(mtISend(data.data_ptr(), header->bytes, mtUint8, destination, starter.comm(),
                         nullptr, starter.request()));
  });
}

WorkPtr MultitreeBackend::receive(Tensors& tensors, int source, int tag) {
  const bool named = source != kAnySource;
  TORCH_CHECK_VALUE(tensors.size() == 1, "recv: expected one tensor, found ", tensors.size());
  check_tensor(tensors[0], "recv");
  static_cast<void>(host_->comm());  // it is still there
  Call call{.type = named ? c10d::OpType::RECV : c10d::OpType::RECVANYSOURCE,
            .what = named ? "recv" : "recvAnySource",  // torch's profiler knows it by that
            .inputs = tensors,
            .outputs = tensors,
            .source = std::make_shared<std::atomic<int>>(source)};
  place_on_host(call, tensors[0]);
  set_timeout(call, kNoTimeout);
  at::Tensor buffer = tensors[0].detach();
  if (!buffer.is_contiguous() || !buffer.is_cpu()) {
    buffer =
        at::empty(buffer.sizes(),
                  buffer.options().device(at::kCPU).memory_format(at::MemoryFormat::Contiguous));
    call.copies.push_back({tensors[0], buffer});
  }
  auto pending = mailboxes_->receive(call.source, tag, buffer);
  return hand_over(std::move(call), std::move(pending));
}

WorkPtr MultitreeBackend::recv(Tensors& tensors, int source, int tag) {
  return receive(tensors, source, tag);
}

WorkPtr MultitreeBackend::recvAnysource(Tensors& tensors, int tag) {
  return receive(tensors, kAnySource, tag);
}

void MultitreeBackend::monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) {
  const auto limit = options.timeout >= kNoTimeout ? options.timeout : options_->timeout;
  const std::string prefix = "multitree/monitored/" + std::to_string(barriers_++) + "/";
  const auto text = [](const std::string& words) {
    return std::vector<std::uint8_t>(words.begin(), words.end());
  };
  const auto verdict = prefix + "verdict";
  if (rank_ != 0) {
    store_->set(prefix + std::to_string(rank_), text("here"));
    store_->wait({verdict}, std::max(2 * limit, std::chrono::milliseconds(1)));
    const auto bytes = store_->get(verdict);
    const std::string words(bytes.begin(), bytes.end());
    TORCH_CHECK(words == kPassed, "Rank ", rank_,
                " successfully reached monitoredBarrier, but received errors while waiting for "
                "send/recv from rank 0: ",
                words);
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
    if (limit == kNoTimeout) words = "Rank 0 timed out in monitoredBarrier after 0 ms: " + words;
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
  own->sums = options_->sums;
  own->network.algorithm = options_->network.algorithm;  // topology and plan are of all ranks
  own->network.transport = options_->network.transport;
  return c10::make_intrusive<MultitreeBackend>(store->clone(), static_cast<int>(it - ranks.begin()),
                                               static_cast<int>(ranks.size()), std::move(own));
}

at::Tensor MultitreeBackend::empty(at::IntArrayRef shape, at::ScalarType type) {
  static_cast<void>(host_->comm());  // it is still there
  return host_->communicator()->empty(shape, type);
}

at::Tensor MultitreeBackend::allocateTensor(long size, at::TensorOptions options) {
  if (!options.device().is_cpu()) return at::empty({size}, options);
  return empty({size}, c10::typeMetaToScalarType(options.dtype()));
}

}  // namespace multitree_torch
