// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The collectives: blocking, non-blocking and persistent.
#include <fmt/format.h>

#include <optional>

#include "runtime/c/calls_internal.hpp"
#include "runtime/c/operators_internal.hpp"

namespace multitree::runtime::c {
namespace {

std::optional<Rank> root_of(Collective collective, int root) {
  if (!has_root(collective)) return std::nullopt;
  if (root < 0) {
    throw Failure(mtInvalidArgument, fmt::format("root: expected a rank, found {}", root));
  }
  return Rank{static_cast<std::uint32_t>(root)};
}

/// Checks at once what can be; what connects first, when the group ends.
void enqueue(const std::shared_ptr<Job>& job, bool blocks) {
  if (!job->comm->must_choose(job->spec)) job->comm->prepare(*job);
  Group::of_this_thread().add(job, blocks);
}

void run(const std::shared_ptr<Job>& job, Mode mode) {
  if (mode != Mode::Persistent && Group::of_this_thread().open()) {
    return enqueue(job, mode == Mode::Blocking);
  }
  job->comm->prepare(*job);
  job->attended = job->alone = mode == Mode::Blocking;
  if (mode != Mode::Persistent) job->comm->start(job);
  if (mode == Mode::Blocking && !job->streamed()) job->comm->wait(*job);
}

/// `what` lacks type and operator, which are checked here.
mtResult_t call(Call what, mtDataType_t type, mtRedOp_t op, int root, mtComm_t comm,
                mtStream_t stream, Mode mode, mtRequest_t* request) {
  const auto make_spec = [&](const std::shared_ptr<Comm>& found) {
    what.type = type_of(type);
    set_operator(what, op, found);
    what.root = root_of(what.collective, root);
    if (stream != nullptr) found->check_has_device();
    return CallSpec{.call = what, .stream = stream};
  };
  return submit(comm, mode, request, std::cref(make_spec));
}

Job& job_of(mtRequest_t request) {
  require(request, "request");
  return *request->job;
}

void check_not_queued(const Job& job) {
  if (job.state != Job::State::Queued) return;
  throw Failure(mtInvalidUsage, "request: its group has not ended");
}

[[noreturn]] void throw_failure(const Job& job) {
  const mtResult_t result = job.comm->result();
  if (result == mtSuccess) throw Failure(mtInvalidUsage, "request: it could not be started");
  throw Failure(result, job.comm->words());
}

}  // namespace

mtResult_t submit(mtComm_t comm, Mode mode, mtRequest_t* request,
                  const std::function<CallSpec(const std::shared_ptr<Comm>&)>& make_spec) {
  return guarded([&] {
    try {
      if (mode != Mode::Blocking) {
        require(request, "request");
        *request = nullptr;
      }
      const std::shared_ptr<Comm> found = find(comm);
      found->check_usable();
      const CallSpec spec = make_spec(found);
      const bool waits = mode == Mode::Blocking && spec.stream == nullptr;
      if (waits && found->on_one_host() && !Group::of_this_thread().open()) {
        return found->call(found, spec);
      }
      const auto job = std::make_shared<Job>(found, spec, mode == Mode::Persistent);
      if (mode == Mode::Blocking) return run(job, mode);
      auto handle = std::make_unique<mtRequest>(mtRequest{job});
      run(job, mode);
      *request = handle.release();
    } catch (...) {
      if (Group::of_this_thread().open()) Group::of_this_thread().note_in_flight();
      throw;
    }
  });
}

}  // namespace multitree::runtime::c

using namespace multitree::runtime::c;
using multitree::Collective;

/// The three functions of a collective, of which the parameters that are its own follow after how
/// they are passed on.
#define MULTITREE_COLLECTIVE(name, op, root, ...)                                                  \
  mtResult_t mt##name(__VA_ARGS__, mtComm_t comm, mtStream_t stream) {                             \
    return call({Collective::name, send, recv, count}, type, op, root, comm, stream,               \
                Mode::Blocking, nullptr);                                                          \
  }                                                                                                \
  mtResult_t mtI##name(__VA_ARGS__, mtComm_t comm, mtStream_t stream, mtRequest_t* request) {      \
    return call({Collective::name, send, recv, count}, type, op, root, comm, stream,               \
                Mode::NonBlocking, request);                                                       \
  }                                                                                                \
  mtResult_t mt##name##Init(__VA_ARGS__, mtComm_t comm, mtStream_t stream, mtRequest_t* request) { \
    return call({Collective::name, send, recv, count}, type, op, root, comm, stream,               \
                Mode::Persistent, request);                                                        \
  }
#define MULTITREE_BUFFERS const void *send, void *recv, size_t count, mtDataType_t type

MULTITREE_COLLECTIVE(AllReduce, op, 0, MULTITREE_BUFFERS, mtRedOp_t op)
MULTITREE_COLLECTIVE(ReduceScatter, op, 0, MULTITREE_BUFFERS, mtRedOp_t op)
MULTITREE_COLLECTIVE(AllGather, mtSum, 0, MULTITREE_BUFFERS)
MULTITREE_COLLECTIVE(Broadcast, mtSum, root, MULTITREE_BUFFERS, int root)
MULTITREE_COLLECTIVE(Reduce, op, root, MULTITREE_BUFFERS, mtRedOp_t op, int root)
MULTITREE_COLLECTIVE(Gather, mtSum, root, MULTITREE_BUFFERS, int root)
MULTITREE_COLLECTIVE(Scatter, mtSum, root, MULTITREE_BUFFERS, int root)

mtResult_t mtBarrier(mtComm_t comm) {
  return guarded([&] {
    if (Group::of_this_thread().open()) {
      throw Failure(mtInvalidUsage, "mtBarrier() in a group");
    }
    const std::shared_ptr<Comm> found = find(comm);
    found->check_usable();
    found->barrier();
  });
}

mtResult_t mtStart(mtRequest_t request) {
  return guarded([&] {
    Job& job = job_of(request);
    job.comm->check_usable();
    const bool idle = job.state == Job::State::Idle || job.state == Job::State::Done;
    if (!job.persistent || !idle) {
      throw Failure(mtInvalidUsage, job.persistent
                                        ? "request: started already, and not complete"
                                        : "request: expected one of an mt...Init() function");
    }
    if (Group::of_this_thread().open()) return Group::of_this_thread().add(request->job, false);
    job.comm->start(request->job);
  });
}

mtResult_t mtRequestTest(mtRequest_t request, int* done) {
  return guarded([&] {
    require(done, "done");
    *done = 0;
    const Job& job = job_of(request);
    check_not_queued(job);
    if (job.state == Job::State::Running) job.comm->progress();
    if (job.state == Job::State::Failed) throw_failure(job);
    *done = job.state == Job::State::Running ? 0 : 1;
  });
}

mtResult_t mtCommSleep(mtComm_t comm, int microseconds) {
  return guarded([&] {
    if (microseconds < 0) {
      throw Failure(mtInvalidArgument,
                    fmt::format("microseconds: expected 0 or more, found {}", microseconds));
    }
    find(comm)->sleep(std::chrono::microseconds(microseconds));
  });
}

mtResult_t mtRequestWait(mtRequest_t request) {
  return guarded([&] {
    const Job& job = job_of(request);
    check_not_queued(job);
    job.comm->wait(job);
    if (job.state == Job::State::Failed) throw_failure(job);
  });
}

mtResult_t mtRequestFree(mtRequest_t* request) {
  return guarded([&] {
    require(request, "request");
    const std::unique_ptr<mtRequest> owner(*request);
    *request = nullptr;
    if (owner != nullptr && owner->job->state == Job::State::Running) {
      owner->job->comm->wait(*owner->job);
    }
  });
}
