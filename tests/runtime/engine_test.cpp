// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the engine notices while an operation does not come to its end.
#include "runtime/execution/engine_internal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "support.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Has something to do for ever, which does not help anybody; until somebody has had enough.
class BusyWire final : public Transport {
 public:
  void send(Seat, std::uint64_t, const void*, std::size_t, Completion&) override {}
  void receive(Seat, std::uint64_t, void*, std::size_t, Completion&) override {}
  bool progress() override {
    if (std::chrono::steady_clock::now() > end_) throw std::runtime_error("nobody noticed");
    return true;
  }
  bool drain(Deadline) override { return true; }
  void abort() override {}
  [[nodiscard]] std::string describe() const override { return "busy wire"; }

 private:
  std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(30);
};

class Stuck final : public Activity {
 public:
  bool advance() override { return false; }
  [[nodiscard]] bool done() const override { return false; }
  [[nodiscard]] std::string waiting_for() const override { return "waiting for nothing"; }
  [[nodiscard]] std::vector<Seat> awaited_ranks() const override { return {}; }
};

TEST(Engine, NoticesADeathWhileTheNetworkIsBusy) {
  const auto job = make_in_process_bootstraps(2);
  Engine engine(job[0], std::make_unique<BusyWire>(), seats_at(1), Deadline(3'600'000));
  Stuck stuck;
  engine.add({&stuck, "allreduce", 0});
  job[1]->report_failure("killed");
  EXPECT_THAT([&] { engine.wait(stuck); },
              ThrowsMessage<Error>(HasSubstr("rank 1 gave up: killed; rank 0 was waiting for")));
}

TEST(Engine, EndsInTimeWhileTheNetworkIsBusy) {
  const auto job = make_in_process_bootstraps(2);
  Engine engine(job[0], std::make_unique<BusyWire>(), seats_at(1), Deadline(100));
  Stuck stuck;
  engine.add({&stuck, "allreduce", 0});
  EXPECT_THAT([&] { engine.wait(stuck); },
              ThrowsMessage<Error>(HasSubstr("no progress for 100 ms while waiting for nothing")));
}

}  // namespace
}  // namespace multitree::runtime::test
