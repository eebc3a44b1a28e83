// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks as fibers over the runtime's own executor and engine, and the claims about what they did.
#include "tests/world/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <regex>
#include <set>
#include <utility>

#include "runtime/execution/call_place_internal.hpp"
#include "runtime/execution/message_path_internal.hpp"
#include "tests/world/buffers.hpp"
#include "tests/world/meeting_point.hpp"
#include "tests/world/streams.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime::world {
namespace {

/// Beyond its timeout for which a rank may wait: it learns of what others have found, and looks at
/// the clock now and then.
constexpr Nanoseconds kGrace = 2s;
/// For which a rank may wait that the coordinator tells of a death: it asks each millisecond in
/// which nothing happens, and what it has sent to others has 200 of them to leave. Timeouts are
/// longer.
constexpr Nanoseconds kDeathNoticed = 400ms;
/// All of a job that meets no fault.
constexpr Nanoseconds kLongestJob = 60s;

struct RankOutcome {
  bool ended = false;
  std::size_t calls = 0;  ///< that returned
  std::optional<ErrorCode> code;
  std::string error, wrong;
  Nanoseconds when{};
};

/// "rank 3", "ranks 0-2, 7".
std::set<std::uint32_t> ranks_named(const std::string& words) {
  static const std::regex kNames("ranks? ([0-9]+(?:-[0-9]+)?(?:, [0-9]+(?:-[0-9]+)?)*)");
  static const std::regex kPart("([0-9]+)(?:-([0-9]+))?");
  std::set<std::uint32_t> named;
  for (std::sregex_iterator it(words.begin(), words.end(), kNames), end; it != end; ++it) {
    const std::string list = (*it)[1];
    for (std::sregex_iterator part(list.begin(), list.end(), kPart); part != end; ++part) {
      const auto first = static_cast<std::uint32_t>(std::stoul((*part)[1]));
      const auto last =
          (*part)[2].matched ? static_cast<std::uint32_t>(std::stoul((*part)[2])) : first;
      for (std::uint32_t rank = first; rank <= last; ++rank) named.insert(rank);
    }
  }
  return named;
}

class Job {
 public:
  Job(std::uint64_t seed, bool tells)
      : draw_(draw_job(seed)),
        world_(seed, tells),
        wires_(std::make_shared<Wires>(world_, draw_.ranks, draw_.habits)),
        streams_(draw_.streams ? std::make_shared<Streams>(world_, draw_.ranks, draw_.habits)
                               : nullptr),
        meeting_(std::make_shared<MeetingPoint>(world_, draw_.ranks)),
        ranks_(draw_.ranks) {
    world_.set_longest_pause(draw_.longest_pause);
  }

  Outcome run() {
    place_teller().function = [](char* words, std::size_t size, void*) {
      return size != 0 && (words[0] = 0, true) ? 1 : 0;
    };
    if (world_.tells()) fmt::print("{}\n", words_of(draw_));
    const auto on_send = [this](std::uint32_t rank, std::uint64_t sends) {
      look_for_death(rank, sends);
    };
    wires_->on_send = on_send;
    if (streams_ != nullptr) streams_->on_send = on_send;
    for (const Fault& fault : draw_.faults) {
      if (fault.kind != FaultKind::DiesSending) {
        world_.at(fault.when, [this, fault] { happen(fault); });
      }
    }
    for (std::uint32_t r = 0; r < draw_.ranks; ++r) world_.start(r, [this, r] { run_rank(r); });
    world_.run(kLongestJob);
    if (streams_ != nullptr) streams_->close();
    Outcome outcome;
    outcome.wrong = check();
    for (const RankOutcome& rank : ranks_) {
      outcome.calls += rank.calls;
      outcome.errors += rank.error.empty() ? 0 : 1;
    }
    outcome.faults = happened_.size();
    outcome.history = world_.history();
    outcome.time = world_.now();
    return outcome;
  }

 private:
  struct UnderWay {
    std::unique_ptr<CallBuffers> buffers;
    std::unique_ptr<Operation> operation;  ///< ends before its buffers
  };

  // What happens.
  void look_for_death(std::uint32_t rank, std::uint64_t sends) {
    for (const Fault& fault : draw_.faults) {
      if (fault.kind == FaultKind::DiesSending && fault.a == rank && fault.sends == sends)
        happen(fault);
    }
  }

  void happen(const Fault& fault) {
    if (!world_.lives(fault.a) || ranks_[fault.a].ended) return;
    happened_.push_back(fault);
    last_fault_ = std::max(last_fault_, world_.now() + fault.time);
    switch (fault.kind) {
      case FaultKind::DiesSending:
      case FaultKind::Dies:
        lose(fault.a, true);
        meeting_->lose(fault.a);
        return world_.kill(fault.a);
      case FaultKind::DiesSilently:
        lose(fault.a, false);
        return world_.kill(fault.a);
      case FaultKind::Cut:
        return wires_->cut(fault.a, fault.b);
      case FaultKind::Breaks:
        return streams_->break_off(fault.a, fault.b);
      case FaultKind::Stops:
      case FaultKind::StopsLong:
        return world_.stop(fault.a, fault.time);
    }
  }

  void lose(std::uint32_t rank, bool tells) {
    if (streams_ != nullptr) return streams_->lose(rank, tells);
    wires_->lose(rank, tells);
  }

  // A rank.
  void run_rank(std::uint32_t rank) {
    RankOutcome& outcome = ranks_[rank];
    try {
      make_calls(rank, outcome);
    } catch (const Error& error) {
      outcome.code = error.code();
      outcome.error = error.what();
    } catch (const std::exception& error) {
      outcome.wrong = fmt::format("rank {}: an exception of no kind: {}", rank, error.what());
    }
    world_.note(outcome.error.empty() ? "ends well" : "ends with an error", rank, outcome.calls);
    if (world_.tells() && !outcome.error.empty())
      fmt::print("  rank {}: {}\n", rank, outcome.error);
    outcome.ended = true;
    outcome.when = world_.now();
  }

  void make_calls(std::uint32_t rank, RankOutcome& outcome) {
    auto job = std::make_shared<WorldBootstrap>(meeting_, Seat{rank}, draw_.ranks);
    std::unique_ptr<Transport> transport;
    if (streams_ != nullptr) {
      transport = std::make_unique<StreamTransport>(streams_, Seat{rank}, draw_.ranks);
    } else {
      transport = std::make_unique<WorldTransport>(wires_, Seat{rank});
    }
    job->barrier(Deadline(10'000));  // all are there
    std::vector<SizedSchedules> plans;
    for (const Schedule& schedule : draw_.schedules) plans.push_back(for_all_sizes(schedule));
    const auto programs =
        std::make_shared<Programs>(PlansBySize(std::move(plans)), Rank{rank}, draw_.ranks);
    auto engine =
        std::make_shared<Engine>(job, std::move(transport), programs->peers(), draw_.timeout);
    CommunicatorOptions options;
    options.segment_bytes = draw_.segment_bytes;
    Planned planned(engine, programs, options);
    planned.coalesce();
    MessagePath path(planned, nullptr, nullptr, replanner_of(planned));
    std::uint64_t sequence = 0;
    std::deque<UnderWay> under_way;
    for (CallDraw draw : draw_.calls) {
      start(path, draw, rank, sequence, under_way);
      if (world_.random().chance(30)) world_.sleep(world_.random().delay(200us));
      while (under_way.size() >= draw_.under_way) finish_one(under_way, outcome);
    }
    while (!under_way.empty()) finish_one(under_way, outcome);
    path.barrier(sequence);
  }

  std::unique_ptr<Replanner> replanner_of(const Planned& planned) const {
    if (!draw_.adapts) return nullptr;
    const auto remaking = std::make_shared<const Remaking>(
        Remaking{make_topology(draw_.network), false, std::nullopt});
    return std::make_unique<Replanner>(planned, remaking, draw_.timeout);
  }

  void start(MessagePath& path, CallDraw& draw, std::uint32_t rank, std::uint64_t& sequence,
             std::deque<UnderWay>& under_way) const {
    const Rank root = draw_.schedules[static_cast<std::size_t>(draw.collective)].root;
    UnderWay one;
    one.buffers = std::make_unique<CallBuffers>(draw, rank, draw_.ranks, root);
    std::shared_ptr<const LoadedProgram> program;
    try {
      program = path.prepare(one.buffers->call());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Unsupported) throw;
      draw.wire = WireType::AsIs;  // chunks of this schedule are summed in many places
      one.buffers = std::make_unique<CallBuffers>(draw, rank, draw_.ranks, root);
      program = path.prepare(one.buffers->call());
    }
    one.operation = path.start(one.buffers->call(), std::move(program), sequence++);
    under_way.push_back(std::move(one));
  }

  /// Any of them, in any way of waiting.
  void finish_one(std::deque<UnderWay>& under_way, RankOutcome& outcome) {
    const std::size_t which = world_.random().below(under_way.size());
    UnderWay& one = under_way[which];
    if (world_.random().chance(50)) {
      while (!one.operation->test()) {
      }
    } else {
      one.operation->wait();
    }
    ++outcome.calls;
    const std::string wrong = one.buffers->check();
    if (outcome.wrong.empty()) outcome.wrong = wrong;
    under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(which));
  }

  // The claims.
  [[nodiscard]] bool is_harmful(const Fault& fault) const {
    if (fault.kind == FaultKind::Stops || fault.kind == FaultKind::Breaks) return false;
    return fault.kind != FaultKind::Cut || !draw_.adapts;
  }

  [[nodiscard]] std::string check() const {
    for (std::uint32_t r = 0; r < draw_.ranks; ++r) {
      std::string wrong = check_rank(r);
      if (!wrong.empty()) return wrong;
    }
    return {};
  }

  [[nodiscard]] std::string check_rank(std::uint32_t rank) const {
    const RankOutcome& outcome = ranks_[rank];
    if (!outcome.wrong.empty()) return outcome.wrong;
    if (!world_.lives(rank)) return {};
    if (!outcome.ended) return fmt::format("rank {} waits for ever", rank);
    const bool harmed =
        std::ranges::any_of(happened_, [&](const Fault& f) { return is_harmful(f); });
    if (!outcome.error.empty() && !harmed) {
      return fmt::format("rank {} has an error where nothing is wrong: {}", rank, outcome.error);
    }
    if (outcome.error.empty()) {
      return outcome.calls == draw_.calls.size() ? ""
                                                 : fmt::format("rank {} made too few calls", rank);
    }
    if (outcome.when > last_fault_ + draw_.timeout + kGrace) {
      return fmt::format("rank {} waited until {} ms: {}", rank, outcome.when.count() / 1'000'000,
                         outcome.error);
    }
    if (only_deaths_that_are_told() && outcome.when > last_fault_ + kDeathNoticed) {
      return fmt::format("rank {} does not see that a rank has died: {}", rank, outcome.error);
    }
    if (waits_at_silent_link(rank)) {
      return fmt::format("rank {} does not see that its link is silent: {}", rank, outcome.error);
    }
    const bool typed = outcome.code == ErrorCode::Transport || outcome.code == ErrorCode::Timeout;
    if (!typed || !names_culprit(outcome.error)) {
      return fmt::format("rank {} has an error that does not name who is to blame: {}", rank,
                         outcome.error);
    }
    return {};
  }

  [[nodiscard]] bool only_deaths_that_are_told() const {
    return std::ranges::all_of(happened_, [](const Fault& fault) {
      return fault.kind == FaultKind::Dies || fault.kind == FaultKind::DiesSending;
    });
  }

  /// The end of a watched link that brings nothing, where nothing else is wrong, is not to wait for
  /// its timeout.
  [[nodiscard]] bool waits_at_silent_link(std::uint32_t rank) const {
    if (happened_.size() != 1 || draw_.habits.link_deadline == Deadline{0}) return false;
    const bool ends_here = happened_[0].kind == FaultKind::Cut && happened_[0].b == rank;
    return ends_here && ranks_[rank].code == ErrorCode::Timeout &&
           ranks_[rank].error.find("no progress") != std::string::npos;
  }

  /// A rank or an end of a link of one of the faults. Nobody can know which of many links is cut
  /// that are not watched, and all wait for all: then it is enough that it names those it waits
  /// for.
  [[nodiscard]] bool names_culprit(const std::string& error) const {
    const std::set<std::uint32_t> named = ranks_named(error.substr(error.find(": ") + 2));
    return std::ranges::any_of(happened_, [&](const Fault& fault) {
      if (fault.kind == FaultKind::Cut && draw_.habits.link_deadline == Deadline{0})
        return !named.empty();
      return named.contains(fault.a) || (fault.kind == FaultKind::Cut && named.contains(fault.b));
    });
  }

  JobDraw draw_;
  World world_;
  std::shared_ptr<Wires> wires_;
  std::shared_ptr<Streams> streams_;  ///< null: wires carry the messages
  std::shared_ptr<MeetingPoint> meeting_;
  std::vector<RankOutcome> ranks_;
  std::vector<Fault> happened_;
  Nanoseconds last_fault_{};
};

}  // namespace

Outcome run_job(std::uint64_t seed, bool tells) {
  // Ranks that were killed or hang leave what they hold behind: so does their job.
  auto& job = *new Job(seed, tells);
  Outcome outcome = job.run();
  if (outcome.faults == 0 && outcome.wrong.empty()) delete &job;
  return outcome;
}

}  // namespace multitree::runtime::world
