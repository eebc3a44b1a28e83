// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The thread of a coordinator, who comes to it, and the jobs that meet there.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/job/assembly_internal.hpp"

namespace multitree::runtime {

/// The job that it was opened for, and those parted from it.
class Coordinator::Server {
 public:
  Server(Socket listener, std::uint32_t ranks, std::string token, bool in_charge);
  ~Server();

  /// From any thread; of an assembly that is not there any more nothing is done.
  void order(JobNumber job, std::function<void(Assembly&)> work);
  /// From any thread, as Coordinator::open_part().
  void open_part(JobNumber job, std::uint32_t ranks, bool in_charge);

 private:
  using Clock = std::chrono::steady_clock;
  struct Caller {
    std::shared_ptr<Trunk> trunk;
    bool had_lines = false;
    Clock::time_point since = Clock::now();
  };

  void wake() const;
  void order(std::function<void()> work);
  void run();
  bool wait();
  bool take_orders();
  [[nodiscard]] int patience() const;
  void accept_all();
  /// Gives lines to what callers have begun.
  void receive(Caller& caller);
  void begin(const std::shared_ptr<Trunk>& trunk, JobNumber job, FrameType first);
  void serve_all();
  [[nodiscard]] bool is_over(const Caller& caller) const;
  void say_goodbye();
  Assembly& assembly(JobNumber job, std::uint32_t ranks, bool in_charge);

  Socket listener_, wake_;
  const std::string token_;
  std::list<Caller> callers_;
  std::map<JobNumber, Assembly> assemblies_;
  std::mutex mutex_;  ///< of the two below
  bool stops_ = false;
  std::vector<std::function<void()>> orders_;
  std::thread thread_;
};

}  // namespace multitree::runtime
