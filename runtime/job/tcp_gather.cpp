// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Waiting for all others, and waiting no more.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/job/attendance_internal.hpp"
#include "runtime/job/patience_internal.hpp"
#include "runtime/job/runs_internal.hpp"
#include "runtime/job/tcp_job_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// After which who waits for all others answers for other jobs of its thread.
constexpr std::chrono::milliseconds kBarrierPatience{100};
/// For the coordinator to say who is missing, or that a rank is waited for no more.
constexpr std::chrono::seconds kReply{1};

}  // namespace

Gathered Tcp::gather(const std::string& blob, Deadline deadline, const Meanwhile& meanwhile) {
  check_failure();
  Patience patience(deadline);
  const auto patient_until = Clock::now() + kBarrierPatience;
  gathered_.reset();
  channel_.send(FrameType::Gather, blob);
  while (true) {
    receive();
    if (gathered_) break;
    check_failure();
    give_up_if_lost_before();
    if (!gathered_ && patience.is_over()) time_out(deadline);
    if (!gathered_ && Clock::now() > patient_until) answer_at_barrier();
    if (gathered_) break;
    go_on_with(meanwhile);
    channel_.wait(std::min(patience.left(), kLook));
  }
  options_.failed_before = {};
  return Gathered(unpack_runs(*gathered_, options_.size));
}

void Tcp::go_on_with(const Meanwhile& meanwhile) {
  if (!meanwhile) return;
  try {
    meanwhile();
  } catch (...) {
    channel_.send(FrameType::Withdraw, {});
    ++given_up_;
    throw;
  }
}

/// This rank waits no more for a reason that others may not have, and what it has said is not for
/// those that go on waiting. False: all have come meanwhile; it is over for them, and so it is
/// here.
bool Tcp::withdraw() {
  withdrawn_ = false;
  channel_.send(FrameType::Withdraw, {});
  const auto end = Clock::now() + kReply;
  while (!withdrawn_ && !gathered_ && failure_.empty() && channel_.open() && Clock::now() < end) {
    channel_.wait(std::min(until(end), kLook));
    receive();
  }
  if (!withdrawn_ && !gathered_) ++given_up_;
  return !gathered_;
}

/// What all have said, all of whom have been told then who is in the job.
void Tcp::be_given(const std::string& payload) {
  place_.standing.unsettled.clear();
  if (given_up_ == 0) {
    gathered_ = payload;
    return;
  }
  // It is no answer to what this rank has said since, and the others count on that it has heard it.
  const std::string why = "all have come to a gathering that this rank had given up";
  channel_.send(FrameType::Failure, why);
  fail_with(why);
}

/// Answers come in the order of what they answer.
void Tcp::be_let_go() {
  if (given_up_ > 0) {
    --given_up_;
  } else {
    withdrawn_ = true;
  }
}

void Tcp::answer_at_barrier() {
  const auto crossed = runtime::answer_elsewhere(*this, [this] { return at_barrier(); });
  if (!crossed || !withdraw()) return;
  throw Error(ErrorCode::Timeout,
              fmt::format("rank {}: waits in vain at a barrier; {}", options_.seat, *crossed));
}

Whereabouts Tcp::at_barrier() const {
  Whereabouts here;
  here.what = "a barrier";
  here.job = name();
  return here;
}

/// Of a part: one that dies before it has come to it is missed by the whole alone.
std::optional<std::string> Tcp::lost_before() const {
  return options_.failed_before ? options_.failed_before() : std::nullopt;
}

/// The whole may know that one has died before this part has told what it has come to.
void Tcp::give_up_if_lost_before() {
  const auto why = lost_before();
  if (!why || !withdraw()) return;
  if (channel_.open()) report_failure(*why);
  throw Error(ErrorCode::Transport, fmt::format("rank {}: {}", options_.seat, *why));
}

/// Unless all come while it is found out who is missing.
void Tcp::time_out(Deadline deadline) {
  missing_.reset();
  channel_.send(FrameType::WhoIsMissing, {});
  const auto end = Clock::now() + kReply;
  while (!missing_ && Clock::now() < end) {
    receive();
    if (gathered_) return;
    check_failure();
    if (!missing_) channel_.wait(until(end));
  }
  if (missing_) {
    const std::string why = culprit(std::nullopt);
    if (!why.empty()) *missing_ += "; " + why;
  }
  if (!gathered_ && withdraw()) fail_in_time(deadline, missing_);
}

void Tcp::fail_in_time(Deadline deadline, const std::optional<std::string>& missing) const {
  throw Error(ErrorCode::Timeout,
              missing ? fmt::format("rank {}: waited {} ms in vain for rank {}", options_.seat,
                                    deadline.count(), *missing)
                      : fmt::format("rank {}: {} did not answer for {} ms", options_.seat,
                                    options_.coordinator_name, deadline.count()));
}

}  // namespace multitree::runtime
