// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Hearing of failures, and telling of them, over one TCP connection to the coordinator.
#include "runtime/job/tcp_internal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/job/attendance_internal.hpp"
#include "runtime/job/blame_internal.hpp"
#include "runtime/job/tcp_job_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// For the coordinator's own part of an answer.
constexpr std::chrono::milliseconds kCoordinatorPatience{400};

}  // namespace

Tcp::Tcp(TcpOptions options) : options_(std::move(options)) {
  const auto end = Clock::now() + options_.deadline;
  join(end);
  listen();
  try {
    exchange_doors(end);
  } catch (const Error& error) {
    report_failure(error.what());  // others are to hear for whom this one has waited in vain
    throw;
  }
}

void Tcp::listen() {
  const std::scoped_lock lock(ear_.mutex);
  ear_.trunk = channel_.trunk();
  ear_.job = channel_.job();
}

Tcp::~Tcp() {
  try {
    if (channel_.open()) channel_.send(FrameType::Bye, {});
    channel_.close();
    if (options_.coordinator != nullptr) options_.coordinator->leave(options_.job);
  } catch (const std::bad_alloc&) {  // a connection that ends without a word says enough
  }
}

std::optional<std::string> Tcp::failure() {
  receive();
  if (options_.cancellation.requested() && failure_.empty()) return "aborted";
  return failure_.empty() || own_failure_ ? std::nullopt : std::optional(failure_);
}

void Tcp::report_failure(const std::string& reason) {
  receive();
  if (!failure_.empty()) return;
  failure_ = reason;
  own_failure_ = true;
  channel_.send(FrameType::Failure, reason);
}

void Tcp::receive() {
  if (!channel_.open()) return;
  channel_.flush();
  const Channel::Status status = channel_.fill();
  while (const auto frame = channel_.next()) {
    if (frame->type == FrameType::Shrunk) return begin_anew(frame->payload);
    take(*frame);
  }
  if (status != Channel::Status::Open) return end_with(status);
  for (const std::string& answer : hearing_.tell()) say(answer);
}

void Tcp::take(const Frame& frame) {
  switch (frame.type) {
    case FrameType::Welcome:
      welcome_ = true;
      break;
    case FrameType::Refused:
    case FrameType::LeftOut:
      refused_ = frame.payload;
      if (!welcome_) break;
      fail_with(frame.payload);
      if (options_.coordinator != nullptr && frame.type == FrameType::LeftOut) {
        options_.coordinator->retire(options_.job);
      }
      break;
    case FrameType::Elsewhere:
      elsewhere_ = true;
      break;
    case FrameType::Gathered:
      be_given(frame.payload);
      break;
    case FrameType::Withdrawn:
      be_let_go();
      break;
    case FrameType::Missing:
      missing_ = frame.payload;
      break;
    case FrameType::Stuck:
      stuck_ = frame.payload;
      break;
    case FrameType::Where:
      asked_where_ = true;
      break;
    case FrameType::Crossed:  // this rank waits elsewhere no more
      break;
    case FrameType::Said:
      hear(frame.payload);
      break;
    case FrameType::Failure:
      fail_with(frame.payload);
      break;
    case FrameType::RankFailed:
      rank_failed(frame.payload);
      break;
    case FrameType::Died:
      hear_who_died(frame.payload);
      break;
    case FrameType::LinkDied:
      link_died(frame.payload);
      break;
    case FrameType::Bye:
      coordinator_leaves();
      break;
    default:
      fail_with("invalid message from " + options_.coordinator_name);
  }
}

void Tcp::coordinator_leaves() {
  coordinator_left_ = true;
  // A rank of the job leaves at the job's end; one that was left out long before.
  if (host_is_left_out()) fail_with(options_.coordinator_name + " has left the job");
}

void Tcp::end_with(Channel::Status status) {
  channel_.close();
  if (status == Channel::Status::Refused) {
    refused_ = kWrongToken;
    stranger_ = true;
    return;
  }
  if (status == Channel::Status::OtherVersion) {
    refused_ = kOtherVersion;
    stranger_ = true;
    return;
  }
  if (!coordinator_left_) lose_coordinator();
}

void Tcp::lose_coordinator() {
  if (failure_.empty() && !place_.doors.empty() && !host_is_left_out()) {
    lost_seat_ = seat_in(place_.standing.members, place_.host);
  }
  fail_with(options_.coordinator_name + " died (connection closed)");
}

void Tcp::rank_failed(const std::string& payload) {
  if (!failure_.empty()) return;
  Reader reader(payload);
  const auto rank = reader.number();
  const auto why = reader.text();
  if (!rank || !why) return fail_with("invalid message from " + options_.coordinator_name);
  lost_seat_ = Seat{*rank};
  fail_with(*why);
}

void Tcp::check_cancelled() const {
  if (!options_.cancellation.requested()) return;
  throw Error(ErrorCode::Transport, fmt::format("rank {}: aborted", options_.seat));
}

void Tcp::check_failure() {
  check_cancelled();
  if (failure_.empty() && coordinator_left_) {
    fail_with(options_.coordinator_name + " has left the job");
  }
  if (failure_.empty()) return;
  const std::string what = fmt::format("rank {}: {}", options_.seat, failure_);
  if (dead_link_) throw LinkError(*dead_link_, what);
  throw Error(ErrorCode::Transport, what);
}

void Tcp::link_died(const std::string& payload) {
  if (!failure_.empty()) return;
  Reader reader(payload);
  const auto a = reader.number(), b = reader.number();
  const auto why = reader.text();
  if (!a || !b || !why) return fail_with("invalid message from " + options_.coordinator_name);
  dead_link_ = link_between(Seat{*a}, Seat{*b});
  fail_with(*why);
}

void Tcp::report_dead_links(std::span<const Seat> peers, std::span<const Seat> left,
                            const std::string& reason) {
  receive();
  Writer report;
  report.text(reason).number(static_cast<std::uint32_t>(peers.size()));
  for (const Seat peer : peers) report.number(index(peer));
  for (const Seat peer : left) report.number(index(peer));
  // Also where it is not the first failure: all that have died are to be known.
  channel_.send(FrameType::DeadLinks, report.bytes());
  links_reports_.push_back(report.bytes());
  if (!failure_.empty() || peers.empty()) return;
  failure_ = reason;
  own_failure_ = true;
  dead_link_ = link_between(options_.seat, peers.front());
}

std::string Tcp::culprit(const std::optional<Whereabouts>& self) {
  stuck_.reset();
  channel_.send(FrameType::WhoIsStuck, self ? pack(*self) : std::string());
  Whereabouts here = self ? *self : at_barrier();
  const auto end = Clock::now() + kWherePatience + kCoordinatorPatience;
  while (!stuck_ && failure_.empty() && channel_.open() && Clock::now() < end) {
    channel_.wait(std::min(until(end), kLook));
    receive();
    // Others may be asking at the same time, in another job.
    const auto crossed = runtime::answer_elsewhere(*this, [&] { return here; });
    if (crossed && !stuck_) stuck_ = *crossed;
  }
  if (!failure_.empty()) return {};  // the cause, of which what was seen may be a consequence
  if (stuck_ || !channel_.open()) return stuck_.value_or("");
  return fmt::format("{} does not answer: it is stopped, while rank {} waits {}",
                     options_.coordinator_name, options_.seat,
                     self ? "in " + words_of(*self) : std::string("at a barrier"));
}

std::optional<std::string> Tcp::answer_elsewhere(const std::function<Whereabouts()>& where) {
  std::shared_ptr<Trunk> trunk;
  JobNumber job{};
  {
    const std::scoped_lock lock(ear_.mutex);
    trunk = ear_.trunk.lock();
    job = ear_.job;
  }
  if (trunk == nullptr) return std::nullopt;
  if (trunk->take(job, FrameType::Where)) trunk->answer(job, FrameType::Here, pack(where()));
  const auto crossed = trunk->take(job, FrameType::Crossed);
  return crossed ? std::optional(crossed->payload) : std::nullopt;
}

void Tcp::tell_where(const Whereabouts& self) {
  asked_where_ = false;
  channel_.send(FrameType::Here, pack(self));
}

std::shared_ptr<Bootstrap> join_over_tcp(TcpOptions options) {
  return std::make_shared<Tcp>(std::move(options));
}

}  // namespace multitree::runtime
