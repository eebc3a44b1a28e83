// SPDX-License-Identifier: BSD-3-Clause
// Communicators: joining, splitting, leaving.
#include "communicator.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <set>
#include <thread>

#include "errors.hpp"

namespace multitree::python {
namespace {

/// Between two looks whether a communicator has been made: short beside making one.
constexpr std::chrono::microseconds kLook{200};
/// Looks between two at what the user wants.
constexpr int kLooks = 100;

/// All that are open, and handles whose objects Python has dropped.
std::set<Communicator*>& open_ones() {
  static auto* const all = new std::set<Communicator*>();
  return *all;
}
struct Left {
  mtComm_t handle;
  std::uint32_t process;
  std::vector<std::unique_ptr<Pending>> pending;
};
std::vector<Left>& left_ones() {
  static auto* const all = new std::vector<Left>();
  return *all;
}

int milliseconds(const char* name, double seconds) {
  constexpr double kMost = 2'000'000;
  if (seconds > 0 && seconds <= kMost)
    return std::max(1, static_cast<int>(std::ceil(seconds * 1e3)));
  throw_invalid(std::string(name) + ": expected seconds above 0 and up to 2000000, got " +
                std::to_string(seconds));
}

const char* pointer(const std::optional<std::string>& text) {
  return text ? text->c_str() : nullptr;
}

/// Not blocking, so that joining can be interrupted.
mtConfig_t config_of(const Wishes& wishes) {
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.deadlineMs = milliseconds("timeout", wishes.timeout);
  config.initDeadlineMs = milliseconds("join_timeout", wishes.join_timeout);
  config.topology = pointer(wishes.topology);
  config.algorithm = pointer(wishes.algorithm);
  config.planFile = pointer(wishes.plan);
  config.transport = pointer(wishes.transport);
  config.tuning = pointer(wishes.tuning);
  config.progress = pointer(wishes.progress);
  config.onLinkFailure = pointer(wishes.on_link_failure);
  if (wishes.link_timeout) {
    config.linkTimeoutMs =
        *wishes.link_timeout == 0 ? 0 : milliseconds("link_timeout", *wishes.link_timeout);
  }
  if (wishes.segment) config.segmentBytes = *wishes.segment;
  if (wishes.refine) config.refine = *wishes.refine ? 1 : 0;
  if (wishes.encrypt) config.encrypt = *wishes.encrypt ? 1 : 0;
  if (wishes.devices) config.devices = *wishes.devices ? 1 : 0;
  return config;
}

mtUniqueId id_of(const std::string& bytes) {
  mtUniqueId id;
  if (bytes.size() != sizeof id.internal) {
    throw_invalid("id: expected the " + std::to_string(sizeof id.internal) +
                  " bytes of multitree.unique_id(), got " + std::to_string(bytes.size()));
  }
  std::memcpy(id.internal, bytes.data(), sizeof id.internal);
  return id;
}

/// Until it stands. \throws Failure, nb::python_error; then there is none.
void await_made(mtComm_t handle) {
  mtResult_t result = mtInProgress;
  for (int i = 1; result == mtInProgress; ++i) {
    {
      const nb::gil_scoped_release others_run;
      std::this_thread::sleep_for(kLook);
      mtCommGetAsyncError(handle, &result);
    }
    if (i % kLooks == 0 && PyErr_CheckSignals() != 0) {
      const nb::gil_scoped_release others_run;
      mtCommAbort(handle);
      break;
    }
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  if (result == mtSuccess) return;
  const std::string words = mtGetLastError(handle);
  mtCommDestroy(handle);
  throw Failure(kind_of(result), words);
}

}  // namespace

Pending::~Pending() {
  if (handle == nullptr) return;
  const Waiting waiting(false);
  mtRequestFree(&handle);
}

Communicator::Communicator(int rank, int size, const std::optional<std::string>& id,
                           const Wishes& wishes) {
  const mtConfig_t config = config_of(wishes);
  const mtResult_t result = id ? mtCommInitRankConfig(&handle_, size, id_of(*id), rank, &config)
                               : mtCommInitFromEnvironment(&handle_, &config);
  if (result != mtInProgress) check(result);
  await_made(handle_);
  learn();
}

Communicator::Communicator(mtComm_t handle) : handle_(handle) {
  await_made(handle_);
  learn();
}

void Communicator::learn() {
  check(mtCommUserRank(handle_, &rank_));
  check(mtCommCount(handle_, &size_));
  open_ones().insert(this);
}

Communicator::~Communicator() {
  const bool mine = is_of_this_process();
  if (handle_ != nullptr && mine) left_ones().push_back({handle_, process_, std::move(dropped_)});
  open_ones().erase(this);
  // Of a forked process what is outstanding is its parent's.
  if (!mine) {
    for (auto& pending : dropped_) static_cast<void>(pending.release());
  }
}

mtComm_t Communicator::usable(const char* call) const {
  if (handle_ != nullptr) return handle(call);
  throw Failure("InvalidUsage", std::string(call) + ": the communicator is closed");
}

mtComm_t Communicator::handle(const char* call) const {
  if (!is_of_this_process()) {
    throw Failure("InvalidUsage", std::string(call) +
                                      ": the communicator belongs to the process that this one was "
                                      "forked from: join after the fork");
  }
  if (in_signal_handler()) {
    throw Failure("InvalidUsage", std::string(call) +
                                      ": expected no call in the handler of a signal while another "
                                      "waits, but abort()");
  }
  return handle_;
}

/// Another that `make(comm, &other)` makes of this one, or nullptr.
template <typename Body>
mtComm_t Communicator::made_from_this(const char* call, const Body& make) {
  const mtComm_t handle = usable(call);
  mtComm_t other = nullptr;
  mtResult_t result{};
  {
    const Waiting waiting;
    result = make(handle, &other);
  }
  if (result != mtSuccess && result != mtInProgress) throw_result(result);
  return other;
}

mtComm_t Communicator::split(int color, int key) {
  return made_from_this("split", [&](mtComm_t comm, mtComm_t* part) {
    return mtCommSplit(comm, color, key, part, nullptr);
  });
}

mtComm_t Communicator::shrink(const std::vector<int>& without, bool around_links, bool give_up) {
  const int flags = (around_links ? MT_SHRINK_AROUND_LINKS : 0) | (give_up ? MT_SHRINK_ABORT : 0);
  return made_from_this("shrink", [&](mtComm_t comm, mtComm_t* left) {
    return mtCommShrink(comm, without.data(), static_cast<int>(without.size()), left, nullptr,
                        flags);
  });
}

mtComm_t Communicator::grow(int size, const std::optional<std::string>& id, int rank) {
  std::optional<mtUniqueId> bytes;
  if (id) bytes = id_of(*id);
  return made_from_this("grow", [&](mtComm_t comm, mtComm_t* larger) {
    return mtCommGrow(comm, size, bytes ? &*bytes : nullptr, rank, larger, nullptr);
  });
}

void Communicator::barrier() {
  const mtComm_t handle = usable("barrier");
  sweep();
  call_library([&] { return mtBarrier(handle); });
}

mtComm_t Communicator::take() {
  open_ones().erase(this);
  return std::exchange(handle_, nullptr);
}

void Communicator::close() {
  if (handle_ == nullptr) return;
  static_cast<void>(usable("close"));
  const mtComm_t handle = take();
  const auto pending = std::move(dropped_);
  call_library([&] { return mtCommDestroy(handle); });
}

void Communicator::abort() {
  if (handle_ == nullptr || !is_of_this_process()) return;
  if (in_signal_handler()) return end_interrupted_wait();
  const mtComm_t handle = take();
  const auto pending = std::move(dropped_);
  call_library([&] { return mtCommAbort(handle); });
}

std::optional<std::string> Communicator::failure() const {
  mtResult_t result = mtSuccess;
  const mtComm_t comm = usable("failure");
  check([&] {
    const Waiting waiting(false);
    return mtCommGetAsyncError(comm, &result);
  }());
  if (result == mtSuccess) return std::nullopt;
  return mtGetLastError(handle_);
}

void Communicator::adopt(std::unique_ptr<Pending> pending) {
  if (!is_of_this_process()) {
    static_cast<void>(pending.release());
  } else if (handle_ != nullptr && pending->handle != nullptr) {
    dropped_.push_back(std::move(pending));
  }
}

void Communicator::sweep() {
  std::erase_if(dropped_, [](const std::unique_ptr<Pending>& pending) {
    int done = 0;
    const Waiting waiting(false);
    return mtRequestTest(pending->handle, &done) != mtSuccess || done != 0;
  });
}

void close_all(bool abort) {
  std::vector<Left> all = std::move(left_ones());
  for (Communicator* const open : std::set<Communicator*>(open_ones())) {
    if (!open->is_of_this_process()) continue;
    try {
      abort ? open->abort() : open->close();
    } catch (const Failure& failure) {
      std::fprintf(stderr, "multitree: closing at the end of the process: %s\n", failure.what());
    } catch (const nb::python_error& error) {
      std::fprintf(stderr, "multitree: closing at the end of the process: %s\n", error.what());
    }
  }
  for (const Left& left : all) {
    if (left.process != process_number()) continue;
    const Waiting waiting;
    abort ? mtCommAbort(left.handle) : mtCommDestroy(left.handle);
  }
}

}  // namespace multitree::python
