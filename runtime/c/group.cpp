// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Starting many calls together.
#include "runtime/c/group_internal.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "runtime/c/together_internal.hpp"
#include "topologies/thread.hpp"

namespace multitree::runtime::c {

void run_together(const std::vector<std::function<void()>>& work, FirstError& error) {
  if (work.empty()) return;
  if (work.size() == 1) return error.run(work.front());
  std::vector<std::exception_ptr> errors(work.size());
  const auto call = [&](std::size_t i) {
    try {
      work[i]();
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  in_threads("a call of a group", work.size(), call,
             [&](std::size_t i, const std::exception&) { errors[i] = std::current_exception(); });
  for (std::exception_ptr& one : errors) {
    if (one) error.keep(std::move(one));
  }
}

namespace {

void start_one(const std::shared_ptr<Job>& job) {
  try {
    if (job->where == nullptr) job->comm->prepare(*job);
    job->comm->start(job);
  } catch (...) {
    job->end(Job::State::Failed);  // also where it was refused: its group has ended
    throw;
  }
}

}  // namespace

Group& Group::of_this_thread() {
  static thread_local Group group;
  return group;
}

void Group::add(const std::shared_ptr<Job>& job, bool blocks) {
  job->state = Job::State::Queued;
  job->attended = blocks;
  entries_.push_back({job, blocks});
}

void Group::start(const std::vector<Entry>& entries, const std::vector<Comm*>& comms,
                  FirstError& error) {
  if (error) {
    for (const Entry& entry : entries) {
      entry.job->state = entry.job->persistent ? Job::State::Idle : Job::State::Failed;
    }
    return;
  }
  std::vector<std::shared_ptr<Job>> jobs;
  for (const Entry& entry : entries) jobs.push_back(entry.job);
  jobs = put_together(jobs);
  if (comms.size() == 1 || std::ranges::none_of(jobs, &Job::waits_to_start)) {
    for (const auto& job : jobs) error.run([&] { start_one(job); });
    return;
  }
  // One on a stream may wait for the one before it, an exact sum for its maximum, and so for
  // another rank of this thread.
  std::vector<std::function<void()>> starting;
  for (Comm* const comm : comms) {
    starting.emplace_back([&jobs, comm] {
      FirstError first;
      for (const auto& job : jobs) {
        if (job->comm.get() == comm) first.run([&] { start_one(job); });
      }
      first.rethrow();
    });
  }
  run_together(starting, error);
}

std::vector<std::function<void()>> Group::by_communicator(const std::vector<Work>& work) {
  std::vector<std::pair<const Comm*, std::vector<std::function<void()>>>> lists;
  for (const Work& one : work) {
    auto it = std::ranges::find(lists, one.comm, [](const auto& list) { return list.first; });
    if (it == lists.end()) it = lists.insert(it, {one.comm, {}});
    it->second.push_back(one.body);
  }
  std::vector<std::function<void()>> together;
  for (auto& [comm, bodies] : lists) {
    together.emplace_back([bodies = std::move(bodies)] {
      FirstError first;
      for (const auto& body : bodies) first.run(body);
      first.rethrow();
    });
  }
  return together;
}

void Group::end() {
  if (depth_ == 0) throw Failure(mtInvalidUsage, "mtGroupEnd() without mtGroupStart()");
  if (--depth_ > 0) return;
  const std::vector<Entry> entries = std::exchange(entries_, {});
  const std::vector<Work> work = std::exchange(work_, {});
  FirstError error;
  error.keep(std::exchange(error_, nullptr));

  // Connecting waits for other ranks, which may be of this very thread: a thread for each of its
  // communicators.
  std::vector<Comm*> comms;
  for (const Entry& entry : entries) {
    Comm* const comm = entry.job->comm.get();
    if (std::ranges::find(comms, comm) == comms.end()) comms.push_back(comm);
  }
  std::vector<std::function<void()>> connecting;
  for (Comm* const comm : comms) {
    connecting.emplace_back([&entries, comm] {
      for (const Entry& entry : entries) {
        if (entry.job->comm.get() == comm && entry.job->where == nullptr) comm->prepare(*entry.job);
      }
    });
  }
  if (!error) run_together(connecting, error);
  start(entries, comms, error);
  const auto running = [&](const Comm* comm) {
    return std::ranges::any_of(entries, [&](const Entry& entry) {
      return entry.blocks && !entry.job->streamed() && entry.job->comm.get() == comm &&
             entry.job->state == Job::State::Running;
    });
  };
  // Round and round, as one rank of this thread may need another's progress.
  while (!comms.empty()) {
    std::erase_if(comms, [&](Comm* comm) {
      if (!running(comm)) return true;
      bool failed = true;
      error.run([&] {
        comm->progress();
        failed = false;
      });
      return failed;
    });
  }
  run_together(by_communicator(work), error);
  error.rethrow();
}

}  // namespace multitree::runtime::c

using namespace multitree::runtime::c;

mtResult_t mtGroupStart(void) {
  return guarded([] { Group::of_this_thread().begin(); });
}

mtResult_t mtGroupEnd(void) {
  return guarded([] { Group::of_this_thread().end(); });
}
