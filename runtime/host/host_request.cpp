// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The life of a collective through shared memory.
#include "runtime/host/host_request_internal.hpp"

#include <sched.h>

#include <stdexcept>
#include <thread>

#include "topologies/error.hpp"

namespace multitree::runtime::host {
namespace {

/// That this process may run on; asked once.
std::uint32_t processors() {
  static const std::uint32_t count = std::thread::hardware_concurrency();
  return count;
}

constexpr int kSpins = 2000, kYields = 64;

class NoTransport final : public Transport {
 public:
  void send(Seat, std::uint64_t, const void*, std::size_t, Completion&) override { fail(); }
  void receive(Seat, std::uint64_t, void*, std::size_t, Completion&) override { fail(); }
  bool progress() override { return false; }
  void drain(Deadline) override {}
  void abort() override {}
  [[nodiscard]] std::string describe() const override { return "shared memory, no messages"; }

 private:
  [[noreturn]] static void fail() {
    throw std::logic_error("a message where there is no transport");
  }
};

}  // namespace

std::unique_ptr<Transport> make_no_transport() { return std::make_unique<NoTransport>(); }

HostRequest::HostRequest(std::shared_ptr<Engine> engine, Group& group, const Call& call, Rank root,
                         std::uint64_t sequence, Recorder* recorder)
    : engine_(std::move(engine)),
      operation_(group, call, root, active(recorder)),
      sequence_(sequence),
      collective_(to_string(call.collective)),
      crowded_(group.size() > processors()) {}

void HostRequest::enlist() {
  if (!enlisted_) engine_->add({&operation_, collective_, sequence_});
  enlisted_ = true;
}

HostRequest::~HostRequest() {
  const auto guard = engine_->guard();
  if (!operation_.done() && engine_->usable()) {
    // Dropped. The others need our part until the end.
    try {
      enlist();
      engine_->wait(operation_);
    } catch (const Error&) {  // the communicator is unusable from here on and says so when used
    }
  }
  if (enlisted_) engine_->remove(operation_);
}

bool HostRequest::test() {
  engine_->attend();
  const auto guard = engine_->guard();
  if (!operation_.done()) engine_->poll();
  return operation_.done();
}

void HostRequest::wait() {
  const auto guard = engine_->guard();
  finish();
}

void HostRequest::finish() {
  if (operation_.done()) return;
  engine_->check_usable();
  wait_shortly();
  if (operation_.done()) return;
  enlist();
  engine_->wait(operation_);
}

/// Most waits end sooner than the engine would look at its clock. With more ranks than processors
/// the one we wait for may need ours.
void HostRequest::wait_shortly() {
  const int patience = crowded_ ? kYields : kSpins;
  try {
    for (int i = 0; i < patience && !operation_.done(); ++i) {
      if (operation_.advance()) {
        i = 0;
      } else if (crowded_) {
        ::sched_yield();
      }
    }
  } catch (const Error&) {  // comes again where the engine tells the others
  }
}

}  // namespace multitree::runtime::host
