// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Handing out the frames of a connection to the jobs that share it.
#include "runtime/job/line_internal.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <new>

namespace multitree::runtime {
namespace {

constexpr std::size_t kTrusted = std::size_t{1} << 30;

}  // namespace

bool Trunk::ended() const {
  const std::scoped_lock lock(mutex_);
  return status_ != Status::Open;
}

bool Trunk::has_lines() const {
  const std::scoped_lock lock(mutex_);
  return any_lines();
}

bool Trunk::any_lines() const {
  return std::ranges::any_of(arrived_, [](const auto& entry) { return entry.second.has_line; });
}

bool Trunk::flushed() const {
  const std::scoped_lock lock(mutex_);
  return status_ != Status::Open || channel_.flushed();
}

bool Trunk::known() const {
  const std::scoped_lock lock(mutex_);
  return channel_.known();
}

bool Trunk::forged() const {
  const std::scoped_lock lock(mutex_);
  return channel_.forged();
}

void Trunk::flush() {
  const std::scoped_lock lock(mutex_);
  channel_.flush();
}

void Trunk::set_limit(std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  channel_.set_limit(bytes);
}

void Trunk::trust() {
  const std::scoped_lock lock(mutex_);
  trusted_ = true;
  channel_.set_limit(kTrusted);
}

bool Trunk::trusted() const {
  const std::scoped_lock lock(mutex_);
  return trusted_;
}

void Trunk::fill() {
  const std::scoped_lock lock(mutex_);
  take_in();
}

std::vector<Trunk::News> Trunk::news() const {
  const std::scoped_lock lock(mutex_);
  std::vector<News> all;
  for (const auto& [job, arrived] : arrived_) {
    const bool ended = arrived.has_line && (arrived.hung_up || status_ != Status::Open);
    if (arrived.frames.empty() && !ended) continue;
    const FrameType first = arrived.frames.empty() ? FrameType{} : arrived.frames.front().type;
    all.push_back({job, arrived.has_line, first});
  }
  return all;
}

void Trunk::drop(JobNumber job) {
  const std::scoped_lock lock(mutex_);
  const auto it = arrived_.find(job);
  if (it != arrived_.end() && !it->second.has_line) arrived_.erase(it);
}

void Trunk::open(JobNumber job) {
  const std::scoped_lock lock(mutex_);
  Arrived& arrived = arrived_[job];
  arrived.has_line = true;
}

/// With the last line the connection ends, which says as much.
void Trunk::close(JobNumber job) {
  const std::scoped_lock lock(mutex_);
  const auto it = arrived_.find(job);
  const bool hung_up = it != arrived_.end() && it->second.hung_up;
  if (it != arrived_.end()) arrived_.erase(it);
  if (status_ == Status::Open && !hung_up && any_lines()) {
    channel_.send(FrameType::HangUp, {}, job);
  }
}

void Trunk::break_off() {
  const std::scoped_lock lock(mutex_);
  ::shutdown(channel_.fd(), SHUT_RDWR);
}

void Trunk::send(Packed frame) {
  const std::scoped_lock lock(mutex_);
  channel_.send(std::move(frame));
}

void Trunk::take_in() {
  if (status_ != Status::Open) return;
  channel_.flush();
  const Status status = channel_.fill();
  if (status != Status::Garbage) {
    while (auto frame = channel_.next()) {
      const JobNumber job = frame->job;
      if (welcomes_ == Welcomes::Nothing && !arrived_.contains(job)) continue;
      Arrived& arrived = arrived_[job];
      if (frame->type != FrameType::HangUp) {
        arrived.frames.push_back(std::move(*frame));
      } else if (arrived.has_line || !arrived.frames.empty()) {
        arrived.hung_up = true;
      } else {
        arrived_.erase(job);
      }
    }
  }
  status_ = channel_.forged() ? Status::Garbage : status;
  changed_.notify_all();
}

/// Where jobs may begin, only who looks for news takes in: a frame that somebody else took in
/// would wake nobody.
Channel::Status Trunk::fill(JobNumber job) {
  const std::scoped_lock lock(mutex_);
  if (!reading_ && welcomes_ == Welcomes::Nothing) take_in();
  if (status_ != Status::Open) return status_;
  const auto it = arrived_.find(job);
  return it != arrived_.end() && !it->second.hung_up ? Status::Open : Status::Closed;
}

std::optional<Frame> Trunk::next(JobNumber job) {
  const std::scoped_lock lock(mutex_);
  const auto it = arrived_.find(job);
  if (it == arrived_.end() || it->second.frames.empty()) return std::nullopt;
  Frame frame = std::move(it->second.frames.front());
  it->second.frames.pop_front();
  return frame;
}

std::optional<Frame> Trunk::take(JobNumber job, FrameType type) {
  const std::scoped_lock lock(mutex_);
  if (!reading_ && welcomes_ == Welcomes::Nothing) take_in();
  const auto it = arrived_.find(job);
  if (it == arrived_.end()) return std::nullopt;
  std::deque<Frame>& frames = it->second.frames;
  const auto found = std::ranges::find(frames, type, &Frame::type);
  if (found == frames.end()) return std::nullopt;
  Frame frame = std::move(*found);
  frames.erase(found);
  return frame;
}

/// One thread waits for the socket, for all.
void Trunk::wait(JobNumber job, std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex_);
  const auto it = arrived_.find(job);
  const bool told = it == arrived_.end() || !it->second.frames.empty() || it->second.hung_up;
  if (told || status_ != Status::Open || deadline.count() <= 0) return;
  if (reading_) {
    // A system-clock deadline: thread sanitizers know pthread_cond_timedwait, not the clocked one.
    changed_.wait_until(lock, std::chrono::system_clock::now() + deadline);
    return;
  }
  reading_ = true;
  pollfd event{channel_.fd(), POLLIN, 0};
  if (channel_.wants_to_write()) event.events |= POLLOUT;
  lock.unlock();
  ::poll(&event, 1, static_cast<int>(deadline.count()));
  lock.lock();
  reading_ = false;
  take_in();
}

JobLine::JobLine(std::shared_ptr<Trunk> trunk, JobNumber job)
    : trunk_(std::move(trunk)), job_(job) {
  trunk_->open(job_);
}

JobLine& JobLine::operator=(JobLine&& other) noexcept {
  std::swap(trunk_, other.trunk_);
  std::swap(job_, other.job_);
  return *this;
}

void JobLine::close() {
  if (trunk_ == nullptr) return;
  try {
    trunk_->close(job_);
  } catch (const std::bad_alloc&) {  // no memory to say so: the connection ends for all
    trunk_->break_off();
  }
  trunk_.reset();
}

std::shared_ptr<Trunk> Trunks::find(const std::string& place) {
  const std::scoped_lock lock(mutex_);
  const auto it = trunks_.find(place);
  if (it == trunks_.end()) return nullptr;
  std::shared_ptr<Trunk> trunk = it->second.lock();
  return trunk == nullptr || trunk->ended() ? nullptr : trunk;
}

void Trunks::add(const std::string& place, const std::shared_ptr<Trunk>& trunk) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(trunks_, [](const auto& entry) { return entry.second.expired(); });
  trunks_[place] = trunk;
}

}  // namespace multitree::runtime
