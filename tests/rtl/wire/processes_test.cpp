// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A job of several processes, here threads with their own frames: switches each in its own or
/// beside ranks, and what is heard of a node that is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "algorithms/registry.hpp"
#include "nic/hardware.hpp"
#include "rtl/wire/job.hpp"
#include "rtl/wire/node_numbers.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

using Bytes = std::vector<std::byte>;
using namespace std::chrono_literals;

/// Frames between threads, each of which has some nodes.
class Ether {
 public:
  explicit Ether(std::vector<std::uint32_t> processes) : processes_(std::move(processes)) {}

  std::unique_ptr<FramePort> port(std::uint32_t process) {
    return std::make_unique<Port>(*this, process);
  }
  /// May change what is sent; empty: it is lost.
  std::function<void(const Way&, Bytes&)> on_frame;

 private:
  class Port final : public FramePort {
   public:
    Port(Ether& ether, std::uint32_t process) : ether_(ether), process_(process) {}
    std::span<const std::byte> receive() override {
      const std::scoped_lock lock(ether_.mutex_);
      auto& frames = ether_.frames_[process_];
      if (frames.empty()) return {};
      last_ = std::move(frames.front());
      frames.pop_front();
      return last_;
    }
    void send(const Way& way, std::span<const std::byte> frame) override {
      const std::scoped_lock lock(ether_.mutex_);
      Bytes bytes(frame.begin(), frame.end());
      if (ether_.on_frame) ether_.on_frame(way, bytes);
      if (bytes.empty()) return;
      ether_.frames_[ether_.processes_[way.to]].push_back(std::move(bytes));
      ether_.changed_.notify_all();
    }
    void wait(std::chrono::milliseconds most) override {
      std::unique_lock lock(ether_.mutex_);
      ether_.changed_.wait_for(lock, most, [&] { return !ether_.frames_[process_].empty(); });
    }

   private:
    Ether& ether_;
    std::uint32_t process_;
    Bytes last_;
  };

  static constexpr std::size_t kMost = 16;
  std::vector<std::uint32_t> processes_;  // [node]
  std::array<std::deque<Bytes>, kMost> frames_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

struct Processes {
  std::vector<std::vector<WireReport>> reports;  ///< [process]
  std::vector<std::string> errors;               ///< [process]
};

/// \param hardware every second node
Processes run_processes(const std::string& network, std::uint32_t processes, bool hardware,
                        double drop, const std::function<void(const Way&, Bytes&)>& on_frame = {}) {
  const Topology topology = make_topology(network);
  const Schedule schedule = make_schedule("multitree", topology);
  WireJob job{.schedule = schedule,
              .topology = topology,
              .bytes = 5000,
              .parameters = nic::as_hardware({}),
              .is_hardware = std::vector<bool>(topology.num_nodes(), false),
              .adders = Adders::Function,
              .drop = drop,
              .most_silence = 2s};
  for (std::uint32_t i = 1; hardware && i < topology.num_nodes(); i += 2) job.is_hardware[i] = true;
  Ether ether(processes_of(topology, processes));
  ether.on_frame = on_frame;
  const auto bootstraps = runtime::make_in_process_bootstraps(processes);
  Processes outcome{std::vector<std::vector<WireReport>>(processes),
                    std::vector<std::string>(processes)};
  std::vector<std::jthread> threads;
  for (std::uint32_t p = 0; p < processes; ++p) {
    threads.emplace_back([&, p] {
      try {
        outcome.reports[p] = run_on_wires(job, *bootstraps[p], 1500,
                                          [&, p](const Neighbourhood&) { return ether.port(p); });
      } catch (const Error& error) {
        outcome.errors[p] = error.what();
        bootstraps[p]->report_failure(error.what());
      }
    });
  }
  threads.clear();
  return outcome;
}

void expect_right(const Processes& outcome, const std::string& network) {
  const Topology topology = make_topology(network);
  for (std::size_t p = 0; p < outcome.reports.size(); ++p) {
    EXPECT_EQ(outcome.errors[p], "");
    ASSERT_EQ(outcome.reports[p].size(), topology.num_nodes()) << p;
    for (std::size_t i = 0; i < topology.num_nodes(); ++i) {
      const WireReport& report = outcome.reports[p][i];
      EXPECT_EQ(report.wrong, "") << i;
      EXPECT_GT(report.flits, 0U) << "node " << i << ", as process " << p << " has heard";
    }
  }
}

TEST(WireProcesses, HaveANodeEach) {
  expect_right(run_processes("star:4", 5, false, 0), "star:4");
  expect_right(run_processes("star:4", 5, true, 0.03), "star:4");
  expect_right(run_processes("mesh:2x2", 4, false, 0.03), "mesh:2x2");
}

TEST(WireProcesses, OfRanksHaveTheSwitchesAsWell) {
  expect_right(run_processes("star:4", 4, false, 0.03), "star:4");
  expect_right(run_processes("fattree:2x2", 4, true, 0.03), "fattree:2x2");
}

/// A switch that has nothing to wait for says at once what is wrong, and all others hear it.
TEST(WireProcesses, HearWhatIsWrongAtASwitch) {
  bool is_wrong = false;
  const auto begun = std::chrono::steady_clock::now();
  const Processes outcome = run_processes("star:4", 5, false, 0, [&](const Way& way, Bytes& bytes) {
    const auto frame = decode(bytes);
    if (is_wrong || way.from != 2 || frame->items.size() < flit_item()) return;
    if ((frame->items[0] & std::byte{0x80}) != std::byte{}) return;  // a credit
    Bytes items(frame->items.begin(), frame->items.end());
    items[1] ^= std::byte{1};
    Frame changed = *frame;
    changed.items = items;
    bytes = encode(changed);
    is_wrong = true;
  });
  EXPECT_TRUE(is_wrong);
  EXPECT_EQ(outcome.errors[4], "switch sw0: corrupt flit at port 2");
  for (std::size_t p = 0; p < 4; ++p) {
    EXPECT_NE(outcome.errors[p].find("corrupt flit at port 2"), std::string::npos)
        << outcome.errors[p];
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s) << "long before their time is over";
}

/// Nothing gets to a node that is gone, and nothing comes: its neighbours name it.
TEST(WireProcesses, NameASwitchThatDoesNotAnswer) {
  const Processes outcome = run_processes("star:2", 3, false, 0, [&](const Way& way, Bytes& bytes) {
    if (way.from == 2 || way.to == 2) bytes.clear();
  });
  const bool is_named = std::ranges::any_of(outcome.errors, [](const std::string& error) {
    return error.find("switch sw0 has not answered for") != std::string::npos;
  });
  EXPECT_TRUE(is_named) << outcome.errors[0] << "\n" << outcome.errors[2];
}

}  // namespace
}  // namespace multitree::rtl
