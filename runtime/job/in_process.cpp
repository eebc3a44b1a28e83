// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The bootstrap between threads of one process.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "runtime/job/bootstrap.hpp"
#include "runtime/job/dead_links_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

constexpr const char* kLeftOut = "left out: the others have gone on without this rank";

struct Meeting {
  explicit Meeting(std::uint32_t ranks)
      : blobs(ranks), result(ranks), present(ranks, true), shrinks(ranks), dropped(ranks) {}
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::optional<std::string>> blobs;  ///< of the gathering under way
  std::vector<std::string> result;                ///< of the last one
  std::uint64_t generation = 0;
  std::optional<std::string> failure;
  std::uint32_t reporter = 0;
  std::vector<bool> present, shrinks;    ///< still there; wants to go on without those who do not
  std::vector<bool> dropped;             ///< nobody who shrinks waits for them
  std::shared_ptr<Meeting> next;         ///< of the survivors, once they are known
  std::vector<std::uint32_t> survivors;  ///< ascending
  DeadLinks dead_links;
  std::vector<DeadLink> dead_links_left;  ///< between survivors, as the next meeting numbers them
  LinksLeft left;                         ///< of ranks that have told of a dead one
  std::optional<DeadLink> dead_link;      ///< that `failure` is about

  [[nodiscard]] bool all_shrink() const {
    for (std::size_t r = 0; r < present.size(); ++r) {
      if (present[r] && !shrinks[r] && !dropped[r]) return false;
    }
    return true;
  }
  [[nodiscard]] bool stays(std::uint32_t rank) const {
    return std::ranges::binary_search(survivors, rank);
  }
  void move_on() {
    for (std::uint32_t r = 0; r < shrinks.size(); ++r) {
      if (shrinks[r]) survivors.push_back(r);
    }
    dead_links.leave_out_cut_off(survivors, left);
    dead_links_left = dead_links.among(survivors);
    next = std::make_shared<Meeting>(static_cast<std::uint32_t>(survivors.size()));
    for (const DeadLink& link : dead_links_left) next->dead_links.add(link.a, link.b);
    changed.notify_all();
  }
};

class InProcess final : public Bootstrap {
 public:
  InProcess(std::shared_ptr<Meeting> meeting, std::uint32_t rank)
      : meeting_(std::move(meeting)), rank_(rank) {}
  ~InProcess() override {
    const std::scoped_lock lock(meeting_->mutex);
    meeting_->present[rank_] = false;
    meeting_->changed.notify_all();
  }

  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const override {
    return static_cast<std::uint32_t>(meeting_->blobs.size());
  }

  std::vector<std::string> all_gather(const std::string& blob, Deadline deadline) override {
    std::unique_lock lock(meeting_->mutex);
    Meeting& m = *meeting_;
    const std::uint64_t mine = m.generation;
    m.blobs[rank_] = blob;
    std::vector<std::uint32_t> missing = missing_ranks();
    if (missing.empty()) {
      for (std::size_t i = 0; i < m.blobs.size(); ++i) m.result[i] = std::move(*m.blobs[i]);
      m.blobs.assign(m.blobs.size(), std::nullopt);
      ++m.generation;
      m.changed.notify_all();
      return m.result;
    }
    const auto over = [&] { return m.generation != mine || m.failure.has_value(); };
    // A system-clock deadline: thread sanitizers know pthread_cond_timedwait, not the clocked one.
    m.changed.wait_until(lock, std::chrono::system_clock::now() + deadline, over);
    // Nobody can start the next gathering before this rank has left this one: result is still ours.
    if (m.generation != mine) return m.result;
    missing = missing_ranks();
    m.blobs[rank_].reset();
    if (m.failure) {
      const std::string what = fmt::format("rank {}: {}", rank_, *m.failure);
      if (m.dead_link) throw LinkError(*m.dead_link, what);
      throw Error(ErrorCode::Transport, what);
    }
    throw Error(ErrorCode::Timeout, fmt::format("rank {}: waited {} ms in vain for rank {}", rank_,
                                                deadline.count(), fmt::join(missing, ", ")));
  }

  std::optional<std::string> failure() override {
    const std::scoped_lock lock(meeting_->mutex);
    if (meeting_->next && !meeting_->stays(rank_)) return kLeftOut;
    if (!meeting_->failure || meeting_->reporter == rank_) return std::nullopt;
    return meeting_->failure;
  }

  Shrunk shrink(Deadline deadline, std::span<const std::uint32_t> without) override {
    std::unique_lock lock(meeting_->mutex);
    Meeting& m = *meeting_;
    if (m.next == nullptr) {
      m.shrinks[rank_] = true;
      for (const std::uint32_t rank : without) m.dropped.at(rank) = true;
      m.changed.notify_all();
      m.changed.wait_until(lock, std::chrono::system_clock::now() + deadline,
                           [&] { return m.next != nullptr || m.all_shrink(); });
      if (m.next == nullptr) m.move_on();
    }
    const auto self = std::ranges::find(m.survivors, rank_);
    if (self == m.survivors.end()) {
      throw Error(ErrorCode::Transport, fmt::format("rank {}: {}", rank_, kLeftOut));
    }
    return {
        std::make_shared<InProcess>(m.next, static_cast<std::uint32_t>(self - m.survivors.begin())),
        m.survivors, m.dead_links_left};
  }

  void report_failure(const std::string& reason) override {
    const std::scoped_lock lock(meeting_->mutex);
    if (meeting_->failure) return;
    meeting_->failure = fmt::format("rank {} gave up: {}", rank_, reason);
    meeting_->reporter = rank_;
    meeting_->changed.notify_all();
  }

  void report_dead_links(std::span<const std::uint32_t> peers, std::span<const std::uint32_t> left,
                         const std::string& reason) override {
    const std::scoped_lock lock(meeting_->mutex);
    Meeting& m = *meeting_;
    for (const std::uint32_t peer : peers) m.dead_links.add(rank_, peer);
    m.left[rank_] = {left.begin(), left.end()};
    if (m.failure || peers.empty()) return;
    m.failure = fmt::format("rank {}: {}", rank_, reason);
    m.reporter = rank_;
    m.dead_link = link_between(rank_, peers.front());
    m.changed.notify_all();
  }

  std::optional<DeadLink> dead_link() override {
    const std::scoped_lock lock(meeting_->mutex);
    return meeting_->dead_link;
  }

  std::optional<std::uint32_t> lost_rank() override {
    const std::scoped_lock lock(meeting_->mutex);
    const bool told = meeting_->failure && !meeting_->dead_link && meeting_->reporter != rank_;
    return told ? std::optional(meeting_->reporter) : std::nullopt;
  }

  [[nodiscard]] std::string describe() const override { return "in-process"; }

 private:
  [[nodiscard]] std::vector<std::uint32_t> missing_ranks() const {
    std::vector<std::uint32_t> missing;
    for (std::uint32_t r = 0; r < size(); ++r) {
      if (!meeting_->blobs[r]) missing.push_back(r);
    }
    return missing;
  }

  std::shared_ptr<Meeting> meeting_;
  std::uint32_t rank_;
};

}  // namespace

std::vector<std::shared_ptr<Bootstrap>> make_in_process_bootstraps(std::uint32_t ranks) {
  const auto meeting = std::make_shared<Meeting>(ranks);
  std::vector<std::shared_ptr<Bootstrap>> result;
  for (std::uint32_t r = 0; r < ranks; ++r)
    result.push_back(std::make_shared<InProcess>(meeting, r));
  return result;
}

}  // namespace multitree::runtime
