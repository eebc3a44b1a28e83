// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The thread of a coordinator, who comes to it, and the jobs that meet there.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/job/assembly_internal.hpp"
#include "runtime/job/ledger_internal.hpp"

namespace multitree::runtime {

/// The job that it was opened for, those parted from it, and their address books. What it does for
/// what one rank says does not grow with the ranks that say nothing.
class Coordinator::Server {
 public:
  Server(Socket listener, std::uint32_t ranks, const std::string& token, bool in_charge);
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
    std::uint64_t number = 0;  ///< of those that came
    bool is_stranger = true;
    Clock::time_point since = Clock::now();
  };
  /// What wait() has found.
  struct Ready {
    bool orders = false, listener = false;
    std::vector<int> callers;  ///< by descriptor
  };

  void wake() const;
  void order(std::function<void()> work);
  /// False: the system cannot watch any more.
  [[nodiscard]] bool watch(int fd, std::uint32_t events) const;
  void run();
  void serve_all();
  void give_up(const std::exception& cause);
  Ready wait(int milliseconds);
  bool take_orders();
  [[nodiscard]] int patience() const;
  void accept_all();
  void accept(Socket socket);
  bool let_the_oldest_stranger_go();
  void receive(Caller& caller);
  void receive_all();
  /// Gives a line to what a caller has begun.
  void begin(const std::shared_ptr<Trunk>& trunk, JobNumber job, FrameType first);
  /// Has a line heard by whom it leads to.
  void serve(const Trunk& trunk, JobNumber job);
  /// Looks after everybody, also those who say nothing.
  void sweep();
  void remove_if_over(int fd);
  void forget(int fd);
  [[nodiscard]] bool is_over(const Caller& caller) const;
  void say_goodbye();
  Assembly& assembly(JobNumber job, std::uint32_t ranks, bool in_charge);

  Socket listener_, wake_, epoll_;
  const Key key_;
  std::map<int, Caller> callers_;  ///< by descriptor
  /// Of these who has not shown that it knows the key, in the order in which they came.
  std::map<std::uint64_t, int> strangers_;
  std::uint64_t came_ = 0;  ///< callers so far
  const std::size_t most_strangers_;
  bool hears_knocks_ = true;  ///< not while there are no descriptors
  bool unsettled_ = false;    ///< somebody may have to say still who it is
  Clock::time_point swept_;   ///< when sweep() was last called
  std::map<JobNumber, Assembly> assemblies_;
  std::map<JobNumber, Ledger> ledgers_;
  std::mutex mutex_;  ///< of the two below
  bool stops_ = false;
  std::vector<std::function<void()>> orders_;
  std::thread thread_;
};

}  // namespace multitree::runtime
