// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Jobs that fail when a test says so.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime::test {

/// A job that has failed once `dies` says so.
class Foretold final : public Bootstrap {
 public:
  Foretold(std::shared_ptr<Bootstrap> job, std::function<std::optional<std::string>()> dies)
      : job_(std::move(job)), dies_(std::move(dies)) {}
  [[nodiscard]] Seat seat() const override { return job_->seat(); }
  [[nodiscard]] std::uint32_t size() const override { return job_->size(); }
  std::optional<std::string> failure() override { return dies_(); }
  void report_failure(const std::string& reason) override { job_->report_failure(reason); }
  void report_dead_links(std::span<const Seat> peers, std::span<const Seat> left,
                         const std::string& reason) override {
    job_->report_dead_links(peers, left, reason);
  }
  std::optional<DeadLink> dead_link() override { return job_->dead_link(); }
  std::optional<Seat> lost_seat() override { return job_->lost_seat(); }
  void say(const std::string& words) override { job_->say(words); }
  void hear_with(Listener listener) override { job_->hear_with(std::move(listener)); }
  Shrunk shrink(Deadline deadline, std::span<const Seat> without) override {
    return job_->shrink(deadline, without);
  }
  NewPart part(std::uint64_t which, std::span<const Seat> members) override {
    return job_->part(which, members);
  }
  [[nodiscard]] std::string describe() const override { return job_->describe(); }

 private:
  Gathered gather(const std::string& blob, Deadline deadline, const Meanwhile& meanwhile) override {
    return job_->all_gather(blob, deadline, meanwhile);
  }

  std::shared_ptr<Bootstrap> job_;
  std::function<std::optional<std::string>()> dies_;
};

}  // namespace multitree::runtime::test
