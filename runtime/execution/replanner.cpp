// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// When links fall silent or slow, and when they are back.
#include "runtime/execution/replanner_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "algorithms/tuning/planner.hpp"
#include "runtime/job/log_internal.hpp"
#include "runtime/job/survivors.hpp"
#include "topologies/error.hpp"
#include "topologies/exception_words.hpp"
#include "topologies/thread.hpp"
#include "topologies/units.hpp"

namespace multitree::runtime {
namespace {

/// Links that fall silent, or speak again, within this time are told together.
constexpr std::chrono::milliseconds kSettled{200};
/// Between two looks, where calls are made all the time.
constexpr std::chrono::milliseconds kLook{1};
/// For which others are waited for before this rank objects.
constexpr std::chrono::seconds kHold{1};
/// After which it tells of its links again.
constexpr std::chrono::seconds kPause{10};
/// Editions that calls which were numbered long ago may be of.
constexpr std::size_t kEditions = 4;

std::string words_of(const PlanVote::Links& links) {
  std::string words;
  for (const auto& [ends, percent] : links) {
    words += fmt::format("{}{} link {}-{}", words.empty() ? "" : ", ",
                         percent == 0 ? "without" : "with less of", ends.a, ends.b);
    if (percent != 0) words += fmt::format(" ({} % are left)", percent);
  }
  return words;
}

/// "allreduce by ring up to 64KiB, then forest".
std::string words_of(const std::vector<SizedSchedules>& lists) {
  std::string words;
  for (const SizedSchedules& list : lists) {
    words += fmt::format("{}{} by ", words.empty() ? "" : "; ",
                         to_string(list.front().schedule.collective));
    for (const auto& [schedule, most] : list) {
      const bool last = &schedule == &list.back().schedule;
      words += last ? schedule.algorithm
                    : fmt::format("{} up to {}, then ", schedule.algorithm, format_bytes(most));
    }
  }
  return words;
}

/// Those that the network has: schedules for it send nothing over others.
PlanVote::Links links_of(const Topology& network, const PlanVote::Links& impaired) {
  PlanVote::Links known;
  const auto leads = [&](Seat from, Seat to) {
    return std::ranges::any_of(network.out_links(network.node_of(rank_at(from))), [&](LinkId id) {
      return network.link(id).dst == network.node_of(rank_at(to));
    });
  };
  std::ranges::copy_if(impaired, std::back_inserter(known), [&](const PlanVote::Link& link) {
    return leads(link.ends.a, link.ends.b) || leads(link.ends.b, link.ends.a);
  });
  return known;
}

std::vector<DeadLink> silent_of(const PlanVote::Links& links) {
  std::vector<DeadLink> silent;
  for (const auto& [ends, percent] : links) {
    if (percent == 0) silent.push_back(ends);
  }
  return silent;
}

bool is_slow(const ImpairedLink& link) { return link.percent != 0; }

std::vector<ImpairedLink> silent_among(std::vector<ImpairedLink> links) {
  std::erase_if(links, is_slow);
  return links;
}

std::vector<SlowLink> slow_of(const PlanVote::Links& links) {
  std::vector<SlowLink> slow;
  for (const auto& [ends, percent] : links) {
    if (percent != 0) slow.push_back({{index(ends.a), index(ends.b)}, percent});
  }
  return slow;
}

RemainingNetwork left_of(const Topology& whole, const PlanVote::Links& links) {
  const Survivors all(whole.num_ranks());
  return RemainingNetwork(whole)
      .after(all.after(all.ranks(), numbered(silent_of(links))))
      .slowed(slow_of(links));
}

/// Measured before, when others were the fastest.
std::optional<LinkTable> times_of(const Remaking& remaking, const PlanVote::Links& links) {
  std::optional<LinkTable> times = remaking.times;
  if (times) {
    slow_down(*times, remaking.network, slow_of(links));
    times->choices.clear();
  }
  return times;
}

/// What takes the place of `list` on what is left of the network.
SizedSchedules remade(const SizedSchedules& list, const RemainingNetwork& network,
                      const Remaking& remaking) {
  const Schedule& first = list.front().schedule;
  try {
    if (remaking.chosen) {
      return choose_schedules("auto", network.network(), first.collective, first.root,
                              {.links = remaking.times ? &*remaking.times : nullptr});
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Unsupported) throw;
  }
  return adapted(list, network);
}

}  // namespace

void Pace::begin(Clock::time_point now) {
  if (now - since_ >= kSpan) {
    before_ = now - since_ < 2 * kSpan ? now_ : 0;
    now_ = 0;
    since_ = now;
  }
  ++now_;
}

std::uint64_t Pace::lately(Clock::time_point now) const {
  const auto passed = now - since_;
  return passed >= 2 * kSpan ? 0 : passed >= kSpan ? now_ : before_ + now_;
}

Replanner::Replanner(Planned first, std::shared_ptr<const Remaking> remaking, Deadline timeout)
    : first_(std::move(first)),
      engine_(first_.engine()),
      remaking_(std::move(remaking)),
      timeout_(timeout),
      gate_(engine_->bootstrap().size()) {
  engine_->look_with([this] { look(); });
  engine_->bootstrap().hear_with(
      [this](Seat from, const std::string& words) { return hear(from, words); });
}

Replanner::~Replanner() {
  engine_->bootstrap().hear_with(nullptr);
  engine_->look_with(nullptr);
  if (worker_.joinable()) worker_.join();
}

std::string Replanner::hear(Seat from, const std::string& words) {
  const std::scoped_lock lock(mutex_);
  return gate_.hear(from, words, pace_.lately(Clock::now()));
}

void Replanner::look_if_due() {
  if (Clock::now() - looked_ < kLook) return;
  static_cast<void>(engine_->bootstrap().failure());  // brings what others have said
  look();
}

void Replanner::look() {
  looked_ = Clock::now();
  std::vector<std::string> words;
  if (auto news = news_of_links(looked_)) words.push_back(std::move(*news));
  std::optional<PlanVote::Decision> decision;
  {
    const std::scoped_lock lock(mutex_);
    decision = gate_.take_decision();
  }
  if (decision) adopt(*decision);
  if (auto news = news_of_work()) words.push_back(std::move(*news));
  for (const std::string& one : words) engine_->bootstrap().say(one);
}

/// Messages that go around a link which has just fallen silent slow others down, and so does making
/// schedules, so that nothing is learnt of rates before they are there.
std::vector<ImpairedLink> Replanner::impaired_links() {
  bool still = false;
  {
    const std::scoped_lock lock(mutex_);
    still = gate_.vote().stage() == PlanVote::Stage::Still;
  }
  if (!still) engine_->transport().overlook_rates();
  std::vector<ImpairedLink> links = engine_->transport().impaired_links();
  if (still) return links;
  std::erase_if(links, is_slow);
  for (const ImpairedLink& link : told_) {
    const auto at = std::ranges::lower_bound(links, link.peer, {}, &ImpairedLink::peer);
    const bool silent = at != links.end() && at->peer == link.peer;
    if (is_slow(link) && !silent) links.insert(at, link);
  }
  return links;
}

std::optional<std::string> Replanner::news_of_links(Clock::time_point now) {
  std::vector<ImpairedLink> links = impaired_links();
  if (links != links_) {
    links_ = std::move(links);
    changed_ = now;
  }
  const bool again = tell_again_ && now >= *tell_again_;
  const bool settled = silent_among(links_) == silent_among(told_) || now - changed_ >= kSettled;
  if (!again && (links_ == told_ || !settled)) return std::nullopt;
  tell_again_.reset();
  told_ = links_;
  return PlanVote::link_words(told_);
}

std::optional<std::string> Replanner::news_of_work() {
  std::uint32_t change = 0;
  PlanVote::Links around;
  {
    const std::scoped_lock lock(mutex_);
    if (gate_.vote().stage() != PlanVote::Stage::Making) return std::nullopt;
    change = gate_.vote().change();
    around = gate_.vote().around();
  }
  if (work_ != nullptr && !work_->done) return std::nullopt;
  if (work_ == nullptr || work_->change != change) start_work(change, around);
  if (!work_->done || std::exchange(work_->told, true)) return std::nullopt;
  if (!work_->why_not.empty()) {
    logger().warn("rank {}: no schedules {}: {}", engine_->bootstrap().seat(), words_of(around),
                  work_->why_not);
  }
  return PlanVote::made_words(change, work_->why_not.empty());
}

/// \pre what was begun before is done
void Replanner::start_work(std::uint32_t change, const PlanVote::Links& around) {
  if (worker_.joinable()) worker_.join();
  work_ = std::make_shared<Work>();
  work_->change = change;
  work_->around = links_of(remaking_->network, around);
  if (work_->around.empty()) {
    work_->done = true;
    return;
  }
  auto lists = first_.programs().lists();
  worker_ = start_thread("other schedules", [this, work = work_, lists = std::move(lists)] {
    try {
      make(*work, lists);
    } catch (const std::exception& error) {
      work->why_not = plain_words(error);
    }
    work->done = true;
  });
}

void Replanner::make(Work& work, const std::vector<SizedSchedules>& lists) const {
  const Survivors all(remaking_->network.num_ranks());
  const auto network =
      std::make_shared<const RemainingNetwork>(left_of(remaking_->network, work.around));
  const auto remaking = std::make_shared<const Remaking>(
      Remaking{remaking_->network, remaking_->chosen, times_of(*remaking_, work.around)});
  std::vector<SizedSchedules> plans;
  for (const SizedSchedules& list : lists) plans.push_back(remade(list, *network, *remaking));
  PlansBySize by_size(std::move(plans));
  if (auto demand = first_.programs().on_demand()) {
    by_size.on_demand = [demand = std::move(demand), network, remaking](Collective collective,
                                                                        Rank root) {
      const SizedSchedules list = demand(collective, root);
      return list.empty() ? list : remade(list, *network, *remaking);
    };
  }
  work.programs = std::make_shared<Programs>(
      std::move(by_size), rank_at(engine_->bootstrap().seat()), engine_->bootstrap().size());
}

void Replanner::adopt(const PlanVote::Decision& decision) {
  Edition edition{decision.first, std::nullopt};
  if (work_->programs != nullptr) edition.planned = first_.with(work_->programs);
  {
    const std::scoped_lock lock(mutex_);
    editions_.push_back(std::move(edition));
    if (editions_.size() > kEditions) editions_.pop_front();
  }
  engine_->transport().relearn_rates();
  if (engine_->bootstrap().seat() != Seat{0}) return;
  if (work_->around.empty()) {
    logger().warn("rank 0: from call #{} on as before, as all links are back", decision.first);
  } else {
    logger().warn("rank 0: from call #{} on {}: {}", decision.first, words_of(work_->around),
                  words_of(work_->programs->lists()));
  }
}

Planned* Replanner::in_force(std::uint64_t sequence) {
  const Clock::time_point since = Clock::now();
  look_if_due();
  while (true) {
    std::optional<PlanVote::Decision> decision;
    {
      const std::scoped_lock lock(mutex_);
      decision = gate_.take_decision();
      if (!decision && gate_.may_begin(sequence)) {
        gate_.begin(sequence);
        pace_.begin(Clock::now());
        return edition_of(sequence);
      }
    }
    if (decision) {
      adopt(*decision);
    } else {
      wait_for_others(since);
    }
  }
}

/// A little.
void Replanner::wait_for_others(Clock::time_point since) {
  engine_->poll();
  look_if_due();
  const auto waited = Clock::now() - since;
  std::uint32_t change = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (waited >= kHold) change = gate_.object();
    if (change == 0 && waited < timeout_) return;
  }
  if (change != 0) {
    tell_again_ = Clock::now() + kPause;
    return engine_->bootstrap().say(PlanVote::objection_words(change));
  }
  const std::string why =
      "waits in vain to hear from the rendezvous whether all go over to other schedules";
  engine_->give_up(why);
  throw Error(ErrorCode::Timeout, fmt::format("rank {}: {}", engine_->bootstrap().seat(), why));
}

Planned* Replanner::edition_of(std::uint64_t sequence) {
  for (auto edition = editions_.rbegin(); edition != editions_.rend(); ++edition) {
    if (edition->first > sequence) continue;
    return edition->planned ? &*edition->planned : nullptr;
  }
  return nullptr;
}

Planned* Replanner::latest() {
  const std::scoped_lock lock(mutex_);
  return gate_.next() == 0 ? nullptr : edition_of(gate_.next() - 1);
}

}  // namespace multitree::runtime
