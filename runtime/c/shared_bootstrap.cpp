// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A mutex around every call of a bootstrap.
#include "runtime/c/shared_bootstrap_internal.hpp"

#include <mutex>
#include <utility>

namespace multitree::runtime::c {
namespace {

class SharedBootstrap final : public Bootstrap {
 public:
  explicit SharedBootstrap(std::shared_ptr<Bootstrap> job) : job_(std::move(job)) {}

  [[nodiscard]] Seat seat() const override { return job_->seat(); }
  [[nodiscard]] std::uint32_t size() const override { return job_->size(); }
  [[nodiscard]] std::uint64_t name() const override { return job_->name(); }
  [[nodiscard]] std::string describe() const override { return job_->describe(); }
  [[nodiscard]] bool is_open() const override { return job_->is_open(); }

  Gathered gather(const std::string& blob, Deadline deadline, const Meanwhile& meanwhile) override {
    const std::scoped_lock lock(mutex_);
    return job_->all_gather(blob, deadline, meanwhile);
  }
  std::unique_ptr<AddressBook> open_book(const std::string& entry, std::span<const Seat> wanted,
                                         Deadline deadline) override {
    const std::scoped_lock lock(mutex_);
    return job_->open_book(entry, wanted, deadline);
  }
  std::optional<std::string> failure() override {
    // Whoever has it learns of the failure, and nobody waits here for ranks that are late.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return lock.owns_lock() ? job_->failure() : std::nullopt;
  }
  void report_failure(const std::string& reason) override {
    const std::scoped_lock lock(mutex_);
    job_->report_failure(reason);
  }
  void report_dead_links(std::span<const Seat> peers, std::span<const Seat> left,
                         const std::string& reason) override {
    const std::scoped_lock lock(mutex_);
    job_->report_dead_links(peers, left, reason);
  }
  std::optional<DeadLink> dead_link() override {
    const std::scoped_lock lock(mutex_);
    return job_->dead_link();
  }
  std::optional<Seat> lost_seat() override {
    const std::scoped_lock lock(mutex_);
    return job_->lost_seat();
  }
  [[nodiscard]] std::optional<Seat> find_dead(std::span<const Seat> seats) override {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return lock.owns_lock() ? job_->find_dead(seats) : std::nullopt;
  }
  std::string culprit(const std::optional<Whereabouts>& self) override {
    const std::scoped_lock lock(mutex_);
    return job_->culprit(self);
  }
  bool asked_where() override {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return lock.owns_lock() && job_->asked_where();
  }
  void tell_where(const Whereabouts& self) override {
    const std::scoped_lock lock(mutex_);
    job_->tell_where(self);
  }
  std::optional<std::string> answer_elsewhere(const std::function<Whereabouts()>& where) override {
    return job_->answer_elsewhere(where);
  }
  [[nodiscard]] Lineage lineage() const override { return job_->lineage(); }
  void say(const std::string& words) override {
    const std::scoped_lock lock(mutex_);
    job_->say(words);
  }
  void hear_with(Listener listener) override {
    const std::scoped_lock lock(mutex_);
    job_->hear_with(std::move(listener));
  }
  Shrunk shrink(Deadline deadline, std::span<const Seat> without) override {
    const std::scoped_lock lock(mutex_);
    Shrunk shrunk = job_->shrink(deadline, without);
    shrunk.job = share(std::move(shrunk.job));
    return shrunk;
  }
  NewPart part(std::uint64_t which, std::span<const Seat> members) override {
    const std::scoped_lock lock(mutex_);
    NewPart part = job_->part(which, members);
    part.join = [join = std::move(part.join)](const BootstrapOptions& options) {
      return share(join(options));
    };
    return part;
  }

 private:
  std::shared_ptr<Bootstrap> job_;
  std::mutex mutex_;
};

}  // namespace

std::shared_ptr<Bootstrap> share(std::shared_ptr<Bootstrap> job) {
  return std::make_shared<SharedBootstrap>(std::move(job));
}

}  // namespace multitree::runtime::c
