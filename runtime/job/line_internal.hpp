// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Control connections that several jobs share.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/job/channel_internal.hpp"

namespace multitree::runtime {

/// A connection that jobs share, each by a JobLine. Closed with the last of these. Thread-safe.
class Trunk {
 public:
  /// What the other end may begin: nothing, and what is for a job without a line is dropped; or
  /// jobs, which news() tells of.
  enum class Welcomes : std::uint8_t { Nothing, Jobs };

  /// `key`: of the job. Whoever welcomes jobs is the one who has accepted the connection.
  Trunk(Socket socket, const Key& key, Welcomes welcomes = Welcomes::Nothing)
      : welcomes_(welcomes),
        channel_(std::move(socket), key,
                 welcomes == Welcomes::Jobs ? Channel::Side::Acceptor : Channel::Side::Caller) {}

  [[nodiscard]] int fd() const { return channel_.fd(); }
  [[nodiscard]] std::string local_address() const { return channel_.local_address(); }
  [[nodiscard]] bool ended() const;
  [[nodiscard]] bool has_lines() const;
  [[nodiscard]] bool flushed() const;
  void flush();
  void set_limit(std::size_t bytes);
  /// Whether the other end has shown that it knows the key.
  [[nodiscard]] bool known() const;
  /// Whether it has said something that nobody with the key would say.
  [[nodiscard]] bool forged() const;
  /// From a stranger to somebody who belongs here.
  void trust();
  [[nodiscard]] bool trusted() const;
  /// Takes in what has arrived.
  void fill();
  /// A job that frames have come for; or one with a line, where the other end has closed that.
  struct News {
    JobNumber job{};
    bool has_line = false;
    FrameType first{};  ///< of the frames; of one without a line
  };
  [[nodiscard]] std::vector<News> news() const;
  /// The first frame of a type that has come for a job, before others; from any thread.
  std::optional<Frame> take(JobNumber job, FrameType type);
  void answer(JobNumber job, FrameType type, std::string_view payload) {
    send(packed(type, payload, job));
  }
  /// Forgets what came for a job that has no line.
  void drop(JobNumber job);

 private:
  friend class JobLine;
  using Status = Channel::Status;
  struct Arrived {
    std::deque<Frame> frames;
    bool has_line = false;
    bool hung_up = false;
  };

  void open(JobNumber job);
  void close(JobNumber job);
  /// Both ends find the connection closed.
  void break_off();
  void send(Packed frame);
  Status fill(JobNumber job);
  std::optional<Frame> next(JobNumber job);
  void wait(JobNumber job, std::chrono::milliseconds deadline);
  // \pre locked
  void take_in();
  [[nodiscard]] bool any_lines() const;

  const Welcomes welcomes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool reading_ = false;  ///< a thread waits for the socket, and hands out what comes
  bool trusted_ = false;
  Channel channel_;
  Status status_ = Status::Open;
  std::map<JobNumber, Arrived> arrived_;
};

/// A job's share of a connection; its interface is that of a Channel. Closing it is told to the
/// other end, as if the connection had been closed.
class JobLine {
 public:
  JobLine() = default;  ///< not open
  JobLine(std::shared_ptr<Trunk> trunk, JobNumber job);
  JobLine(JobLine&& other) noexcept = default;
  JobLine& operator=(JobLine&& other) noexcept;
  ~JobLine() { close(); }

  [[nodiscard]] bool open() const { return trunk_ != nullptr; }
  void close();
  [[nodiscard]] const std::shared_ptr<Trunk>& trunk() const { return trunk_; }
  [[nodiscard]] JobNumber job() const { return job_; }
  // \pre open()
  [[nodiscard]] std::string local_address() const { return trunk_->local_address(); }
  void trust() { trunk_->trust(); }
  void send(FrameType type, std::string_view payload) {
    if (open()) trunk_->send(packed(type, payload));
  }
  /// What send() would send, for this line and those of the same job.
  [[nodiscard]] Packed packed(FrameType type, std::string_view payload) const {
    return runtime::packed(type, payload, job_);
  }
  void send(Packed frame) {
    if (open()) trunk_->send(std::move(frame));
  }
  void flush() { trunk_->flush(); }
  [[nodiscard]] bool flushed() const { return trunk_->flushed(); }
  Channel::Status fill() { return trunk_->fill(job_); }
  std::optional<Frame> next() { return trunk_->next(job_); }
  void wait(std::chrono::milliseconds deadline) const { trunk_->wait(job_, deadline); }

 private:
  std::shared_ptr<Trunk> trunk_;
  JobNumber job_{};
};

/// The connections of a rank, by the meeting point that they lead to. Thread-safe.
class Trunks {
 public:
  /// None if there is none, or it has ended.
  std::shared_ptr<Trunk> find(const std::string& place);
  void add(const std::string& place, const std::shared_ptr<Trunk>& trunk);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Trunk>> trunks_;
};

}  // namespace multitree::runtime
