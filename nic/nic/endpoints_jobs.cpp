// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Interfaces that serve several collectives.
#include <algorithm>

#include "nic/nic/endpoints.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {

/// Each port's messages by job, in the order of the table.
void Endpoints::queue_jobs() {
  if (parameters_.issue == Issue::Lockstep || shared_ || parameters_.ports_per_unit > 1) {
    throw Error(ErrorCode::Unsupported,
                "simulation of jobs: expected issue by dependency, ports of their own and a "
                "reduction unit each, others have one collective at a time");
  }
  jobs_.emplace(program_);
  if (parameters_.reduction == Reduction::Pipelined) {
    looks_.emplace(program_.jobs, ports_.size());
  } else {
    queues_.emplace(program_.jobs, ports_.size());
  }
  const auto front = [&](std::uint32_t port, std::uint32_t job) {
    return looks_ ? looks_->front(port, job) : queues_->front(port, job);
  };
  // From the last to the first, so that what was met last is what follows.
  for (auto number = static_cast<std::uint32_t>(messages_.size()); number-- > 0;) {
    Message& message = messages_[number];
    const std::uint32_t port = message.following, job = job_of(message.piece);
    message.following = front(port, job);
    looks_ ? looks_->set_front(port, job, number) : queues_->set_front(port, job, number);
  }
}

void Endpoints::start_jobs(std::uint32_t rank) {
  jobs_->start(now_, rank);
  post_due();
}

/// Events of the states of jobs as events of this.
void Endpoints::post_due() {
  for (const JobStates::Due& due : jobs_->take_due()) {
    std::uint64_t time = std::max(due.time, now_);
    if (roll_call_ && due.job == roll_call_->sum()) {
      if (roll_call_->comes_late(due.rank)) {
        events_.push(roll_call_->seen_late(), {Kind::Late, due.rank});
        continue;
      }
      time = std::max(time, roll_call_->ready(due.rank));
    }
    post_job(time, due.rank, due.job);
  }
}

void Endpoints::post_job(std::uint64_t time, std::uint32_t rank, std::uint32_t job) {
  const std::size_t what = rank * program_.jobs.size() + job;
  events_.push(time, {Kind::Job, static_cast<std::uint32_t>(what)});
}

void Endpoints::happen_to_job(std::uint32_t what) {
  const auto jobs = static_cast<std::uint32_t>(program_.jobs.size());
  const std::uint32_t rank = what / jobs, job = what % jobs;
  const JobStates::Became became = jobs_->happen(now_, rank, job);
  finished_at_ = now_;
  post_due();
  if (observer_ != nullptr && program_.jobs[job].computing.empty()) {
    observer_->started(now_, rank, job);
  }
  if (became != JobStates::Became::Running) return;
  if (roll_call_ && job == roll_call_->sum()) roll_call_->is_there(rank);
  for (std::uint32_t port = first_port_[rank]; port < first_port_[rank + 1]; ++port) {
    if (!looks_) {
      offer(port, job);
      continue;
    }
    looks_->ring(port, job, now_);
    if (ports_[port].sending == kNone) look_for(port, now_);
  }
  if (!parked_[rank].empty()) take_in_parked(rank);
}

/// The port's next message of a job may be sent, if what it waits for is there.
void Endpoints::offer(std::uint32_t port, std::uint32_t job) {
  const std::uint32_t front = queues_->front(port, job);
  if (front == kNone) return;
  const Message& m = messages_[front];
  if (piece(m.rank, m.piece).taken < m.wait || !jobs_->is_running(m.rank, job)) return;
  if (queues_->offer(port, job) && ports_[port].sending == kNone) carrier_.ready(port);
}

/// Takes the message of the job that is first. Without looks.
std::uint32_t Endpoints::next_of_jobs(std::uint32_t port) {
  const std::uint32_t job = queues_->pop(port);
  const std::uint32_t message = queues_->front(port, job);
  queues_->set_front(port, job, messages_[message].following);
  ports_[port].sending = message;  // so that the next is not sent beside it
  offer(port, job);
  return message;
}

void Endpoints::job_took_in(const Message& message) {
  const std::uint32_t job = job_of(message.piece), rank = message.dst;
  for (std::uint32_t port = first_port_[rank]; port < first_port_[rank + 1]; ++port) {
    const std::uint32_t front = looks_ ? looks_->front(port, job) : queues_->front(port, job);
    if (front == kNone || messages_[front].piece != message.piece) continue;
    if (!looks_) {
      offer(port, job);
    } else if (ports_[port].sending == kNone) {
      look_for(port, now_);
    }
  }
  job_has(now_, rank, message.piece);
}

/// A message of the piece's job is over for the rank.
void Endpoints::job_has(std::uint64_t time, std::uint32_t rank, std::uint32_t piece) {
  const std::uint32_t job = job_of(piece);
  jobs_->done(time, rank, job);
  if (observer_ != nullptr && !jobs_->is_running(rank, job)) observer_->over(time, rank, job);
  post_due();
}

/// Whether what the next message of a job waits for is there.
bool Endpoints::is_ready(std::uint32_t port, std::uint32_t job) const {
  const std::uint32_t front = looks_->front(port, job);
  if (front == kNone) return false;
  const Message& m = messages_[front];
  if (roll_call_ && roll_call_->is_called(job) && !roll_call_->is_settled(m.rank)) return false;
  return piece(m.rank, m.piece).taken >= m.wait;
}

/// When the port, which sends nothing, will look at a message that it may send now.
void Endpoints::look_for(std::uint32_t port, std::uint64_t from) {
  const std::uint64_t cycle =
      looks_->next(port, from, [&](std::uint32_t job) { return is_ready(port, job); });
  if (cycle != PortLooks::kNever) events_.push(cycle, {Kind::Look, port});
}

/// Something has changed for what the rank's ports look at.
void Endpoints::look_again(std::uint32_t rank) {
  for (std::uint32_t port = first_port_[rank]; port < first_port_[rank + 1]; ++port) {
    if (ports_[port].sending == kNone) look_for(port, now_);
  }
}

/// The deadline has passed, and the rank's contribution is not there: it answers the roll call.
void Endpoints::happen_late(std::uint32_t rank) {
  roll_call_->is_late(rank);
  look_again(rank);
}

/// Where the roll call ends, its result is known.
void Endpoints::count_begun(std::uint32_t message) {
  const Message& m = messages_[message];
  counts_[message] = roll_call_->count_of(m.rank, m.piece);
  if (observer_ != nullptr) observer_->counts(m.rank, m.entry, counts_[message]);
  if (m.op == Opcode::Gather && roll_call_->is_called(job_of(m.piece))) {
    learn(m.rank, counts_[message]);
  }
}

void Endpoints::came(std::uint32_t message) {
  if (!roll_call_) return;
  const Message& m = messages_[message];
  roll_call_->came(m.dst, m.piece, m.op, counts_[message]);
  if (m.op == Opcode::Gather && roll_call_->is_called(job_of(m.piece))) {
    learn(m.dst, counts_[message]);
  }
}

void Endpoints::learn(std::uint32_t rank, std::uint32_t found) {
  const std::optional<std::uint64_t> starts = roll_call_->learn(now_, rank, found);
  if (!starts) return;
  post_job(*starts, rank, roll_call_->sum());
  if (roll_call_->is_absent(rank)) carrier_.lose(rank, roll_call_->sum());
}

/// Takes the message that the port looks at. \pre It is ready.
std::uint32_t Endpoints::next_at_hand(std::uint32_t port) {
  const std::uint32_t job = looks_->at(port, now_);
  const std::uint32_t message = looks_->front(port, job);
  looks_->set_front(port, job, messages_[message].following);
  return message;
}

}  // namespace multitree::nic
