// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The bootstrap between threads of one process.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/job/attendance_internal.hpp"
#include "runtime/job/blame_internal.hpp"
#include "runtime/job/bootstrap.hpp"
#include "runtime/job/dead_links_internal.hpp"
#include "runtime/job/hearing_internal.hpp"
#include "runtime/job/patience_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// How often who asks looks whether others do, in another job.
constexpr std::chrono::milliseconds kLook{10};
constexpr const char* kLeftOut = "left out: the others have gone on without this rank";

/// Of this process, and by its number in it.
std::uint64_t make_name() {
  static std::atomic<std::uint32_t> made{0};
  return std::uint64_t{static_cast<std::uint32_t>(::getpid())} << 32 | made.fetch_add(1);
}

struct Meeting {
  explicit Meeting(std::uint32_t ranks)
      : blobs(ranks),
        present(ranks, true),
        shrinks(ranks),
        dropped(ranks),
        calls(ranks),
        answered(ranks),
        crossed(ranks),
        said(ranks) {}
  const std::uint64_t name = make_name();
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::optional<std::string>> blobs;  ///< of the gathering under way
  std::uint32_t arrived = 0;                      ///< of these
  Gathered result;                                ///< of the last one
  std::uint64_t generation = 0;
  std::optional<std::string> failure;
  Seat reporter{};
  std::vector<bool> present, shrinks;  ///< still there; wants to go on without those who do not
  std::vector<bool> dropped;           ///< nobody who shrinks waits for them
  std::shared_ptr<Meeting> next;       ///< of the survivors, once they are known
  Members survivors;
  DeadLinks dead_links;
  std::vector<DeadLink> dead_links_left;  ///< between survivors, as the next meeting numbers them
  LinksLeft left;                         ///< of ranks that have told of a dead one
  std::optional<DeadLink> dead_link;      ///< that `failure` is about
  /// Where ranks are: their answers to the question of this number.
  std::vector<std::optional<Whereabouts>> calls;
  std::vector<std::uint64_t> answered;
  std::uint64_t question = 0;
  std::uint32_t askers = 0;  ///< that wait for the answers
  std::uint64_t blamed = 0;  ///< the last question that `blame_words` answers
  std::string blame_words;
  std::vector<std::optional<std::string>> crossed;  ///< for ranks that wait elsewhere
  /// By rank: what was said, and by whom, that it has not heard yet.
  std::vector<std::vector<std::pair<Seat, std::string>>> said;
  /// By `which` and members, with how often the part was made.
  std::map<std::vector<std::uint64_t>, std::shared_ptr<Meeting>> parts;

  [[nodiscard]] bool all_shrink() const {
    for (std::size_t r = 0; r < present.size(); ++r) {
      if (present[r] && !shrinks[r] && !dropped[r]) return false;
    }
    return true;
  }
  [[nodiscard]] bool has_said_where(std::size_t r) const {
    return !present[r] || blobs[r] || answered[r] == question;
  }
  [[nodiscard]] bool all_have_said_where() const {
    for (std::size_t r = 0; r < present.size(); ++r) {
      if (!has_said_where(r)) return false;
    }
    return true;
  }
  [[nodiscard]] std::vector<Sighting> sightings() const {
    std::vector<Sighting> ranks(present.size());
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      if (!present[r]) ranks[r].gone = "left the job";
      if (answered[r] == question) ranks[r].call = calls[r];
      ranks[r].at_barrier = blobs[r] || (answered[r] == question && !calls[r]);
    }
    return ranks;
  }
  void conclude_blame() {
    auto [words, across] = find_blame(sightings());
    for (std::size_t r = 0; r < across.size(); ++r) {
      if (!across[r]) continue;
      crossed[r] = words;
      if (!failure) reporter = Seat{static_cast<std::uint32_t>(r)};
      failure = words;
    }
    blame_words = std::move(words);
  }
  /// All have come: one list for all of them.
  void conclude() {
    std::vector<std::string> all(blobs.size());
    for (std::size_t i = 0; i < blobs.size(); ++i) all[i] = *std::exchange(blobs[i], std::nullopt);
    result = Gathered(std::move(all));
    arrived = 0;
    ++generation;
    changed.notify_all();
  }
  void move_on() {
    for (std::uint32_t r = 0; r < shrinks.size(); ++r) {
      if (shrinks[r]) survivors.push_back(Origin{r});
    }
    dead_links.leave_out_cut_off(survivors, left);
    dead_links_left = dead_links.among(survivors);
    next = std::make_shared<Meeting>(static_cast<std::uint32_t>(survivors.size()));
    for (const auto& [a, b] : dead_links_left) next->dead_links.add(origin_of(a), origin_of(b));
    changed.notify_all();
  }
};

class InProcess final : public Bootstrap {
 public:
  InProcess(std::shared_ptr<Meeting> meeting, Seat seat,
            std::shared_ptr<const Lineage> lineage = nullptr)
      : meeting_(std::move(meeting)), seat_(seat), lineage_(std::move(lineage)) {}
  ~InProcess() override {
    const std::scoped_lock lock(meeting_->mutex);
    meeting_->present[index(seat_)] = false;
    meeting_->changed.notify_all();
  }

  [[nodiscard]] Seat seat() const override { return seat_; }
  [[nodiscard]] std::uint32_t size() const override {
    return static_cast<std::uint32_t>(meeting_->blobs.size());
  }

  Gathered gather(const std::string& blob, Deadline deadline, const Meanwhile& meanwhile) override {
    std::unique_lock lock(meeting_->mutex);
    Meeting& m = *meeting_;
    const std::uint64_t mine = m.generation;
    m.blobs[index(seat_)] = blob;
    if (++m.arrived == m.blobs.size()) {
      m.conclude();
      return m.result;
    }
    const auto over = [&] { return m.generation != mine || m.failure.has_value(); };
    const auto has_news = [&] { return over() || !m.said[index(seat_)].empty(); };
    // A system-clock deadline: thread sanitizers know pthread_cond_timedwait, not the clocked one.
    for (Patience patience(deadline); !over() && !patience.is_over();) {
      const auto look = std::min(patience.left(), Patience::kLongestLook);
      m.changed.wait_until(lock, std::chrono::system_clock::now() + look, has_news);
      lock.unlock();
      try {
        hear();
        if (meanwhile) meanwhile();
      } catch (...) {
        lock.lock();
        if (m.generation == mine) withdraw();
        throw;
      }
      lock.lock();
    }
    // Nobody can end the next gathering before this rank has left this one: result is still ours.
    if (m.generation != mine) return m.result;
    const std::vector<Seat> missing = missing_ranks();
    const std::string why = m.failure ? std::string() : ask_where(lock, std::nullopt);
    if (m.generation != mine) return m.result;
    withdraw();
    if (m.failure) {
      const std::string what = fmt::format("rank {}: {}", seat_, *m.failure);
      if (m.dead_link) throw LinkError(*m.dead_link, what);
      throw Error(ErrorCode::Transport, what);
    }
    throw Error(ErrorCode::Timeout, fmt::format("rank {}: waited {} ms in vain for rank {}{}{}",
                                                seat_, deadline.count(), fmt::join(missing, ", "),
                                                why.empty() ? "" : "; ", why));
  }

  std::optional<std::string> failure() override {
    hear();
    const std::scoped_lock lock(meeting_->mutex);
    if (meeting_->next && !has(meeting_->survivors, origin_of(seat_))) return kLeftOut;
    if (!meeting_->failure || meeting_->reporter == seat_) return std::nullopt;
    return meeting_->failure;
  }

  std::string culprit(const std::optional<Whereabouts>& self) override {
    std::unique_lock lock(meeting_->mutex);
    return ask_where(lock, self);
  }

  bool asked_where() override {
    const std::scoped_lock lock(meeting_->mutex);
    return meeting_->answered[index(seat_)] != meeting_->question;
  }

  void tell_where(const Whereabouts& self) override {
    const std::scoped_lock lock(meeting_->mutex);
    answer(self);
  }

  std::optional<std::string> answer_elsewhere(const std::function<Whereabouts()>& where) override {
    const std::scoped_lock lock(meeting_->mutex);
    Meeting& m = *meeting_;
    if (m.askers > 0 && m.answered[index(seat_)] != m.question) answer(where());
    return std::exchange(m.crossed[index(seat_)], std::nullopt);
  }

  [[nodiscard]] Lineage lineage() const override {
    return lineage_ == nullptr ? Bootstrap::lineage() : *lineage_;
  }

  Shrunk shrink(Deadline deadline, std::span<const Seat> without) override {
    std::unique_lock lock(meeting_->mutex);
    Meeting& m = *meeting_;
    if (m.next == nullptr) {
      m.shrinks[index(seat_)] = true;
      for (const Seat one : without) m.dropped.at(index(one)) = true;
      m.changed.notify_all();
      m.changed.wait_until(lock, std::chrono::system_clock::now() + deadline,
                           [&] { return m.next != nullptr || m.all_shrink(); });
      if (m.next == nullptr) m.move_on();
    }
    const Origin self = origin_of(seat_);
    if (!has(m.survivors, self)) {
      throw Error(ErrorCode::Transport, fmt::format("rank {}: {}", seat_, kLeftOut));
    }
    std::vector<Seat> survivors;
    for (const Origin one : m.survivors) survivors.push_back(seat_at_first(one));
    return {std::make_shared<InProcess>(m.next, seat_in(m.survivors, self)), std::move(survivors),
            m.dead_links_left};
  }

  void report_failure(const std::string& reason) override {
    const std::scoped_lock lock(meeting_->mutex);
    if (meeting_->failure) return;
    meeting_->failure = fmt::format("rank {} gave up: {}", seat_, reason);
    meeting_->reporter = seat_;
    meeting_->changed.notify_all();
  }

  void report_dead_links(std::span<const Seat> peers, std::span<const Seat> left,
                         const std::string& reason) override {
    const std::scoped_lock lock(meeting_->mutex);
    Meeting& m = *meeting_;
    const Origin self = origin_of(seat_);
    for (const Seat peer : peers) m.dead_links.add(self, origin_of(peer));
    std::vector<Origin>& ends = m.left[self];
    ends.clear();
    for (const Seat peer : left) ends.push_back(origin_of(peer));
    if (m.failure || peers.empty()) return;
    m.failure = fmt::format("rank {}: {}", seat_, reason);
    m.reporter = seat_;
    m.dead_link = link_between(seat_, peers.front());
    m.changed.notify_all();
  }

  std::optional<DeadLink> dead_link() override {
    const std::scoped_lock lock(meeting_->mutex);
    return meeting_->dead_link;
  }

  std::optional<Seat> lost_seat() override {
    const std::scoped_lock lock(meeting_->mutex);
    const bool told = meeting_->failure && !meeting_->dead_link && meeting_->reporter != seat_;
    return told ? std::optional(meeting_->reporter) : std::nullopt;
  }

  void say(const std::string& words) override {
    const std::scoped_lock lock(meeting_->mutex);
    for (auto& one : meeting_->said) one.emplace_back(seat_, words);
    meeting_->changed.notify_all();
  }

  void hear_with(Listener listener) override { hearing_.set(std::move(listener)); }

  NewPart part(std::uint64_t which, std::span<const Seat> members) override {
    const auto self = std::ranges::find(members, seat_);
    const Seat seat{static_cast<std::uint32_t>(self - members.begin())};
    std::vector<std::uint64_t> name{which};
    for (const Seat one : members) name.push_back(index(one));
    name.push_back(parts_[name]++);
    Lineage whole = this->lineage(), own{whole.root, {}};
    for (const Seat one : members) own.seats.push_back(whole.seats.at(index(one)));
    auto lineage = std::make_shared<const Lineage>(std::move(own));
    const std::scoped_lock lock(meeting_->mutex);
    auto& meeting = meeting_->parts[name];
    if (meeting == nullptr) {
      meeting = std::make_shared<Meeting>(static_cast<std::uint32_t>(members.size()));
    }
    return {XXH3_64bits(name.data(), name.size() * sizeof name[0]),
            [meeting, seat, lineage](const BootstrapOptions&) {
              return std::make_shared<InProcess>(meeting, seat, lineage);
            }};
  }

  [[nodiscard]] std::uint64_t name() const override { return meeting_->name; }
  [[nodiscard]] std::string describe() const override { return "in-process"; }

 private:
  /// It waits in the gathering under way no more. \pre locked
  void withdraw() {
    meeting_->blobs[index(seat_)].reset();
    --meeting_->arrived;
  }
  /// \pre not locked
  void hear() {
    std::vector<std::pair<Seat, std::string>> said;
    {
      const std::scoped_lock lock(meeting_->mutex);
      said.swap(meeting_->said[index(seat_)]);
    }
    for (auto& [from, words] : said) hearing_.hear(from, std::move(words));
    for (const std::string& answer : hearing_.tell()) say(answer);
  }
  std::string ask_where(std::unique_lock<std::mutex>& lock,
                        const std::optional<Whereabouts>& self) {
    Meeting& m = *meeting_;
    if (m.askers++ == 0) ++m.question;
    answer(self);
    const auto end = std::chrono::system_clock::now() + kWherePatience;
    std::optional<std::string> told;  // in another job
    while (!told && !m.all_have_said_where() && std::chrono::system_clock::now() < end) {
      m.changed.wait_until(lock, std::chrono::system_clock::now() + kLook,
                           [&] { return m.all_have_said_where(); });
      lock.unlock();  // others may be asking at the same time, in another job
      told = runtime::answer_elsewhere(*this, [&] { return self.value_or(at_barrier()); });
      lock.lock();
    }
    --m.askers;
    if (told) return *told;
    if (m.blamed != m.question) m.conclude_blame();
    m.blamed = m.question;
    return m.blame_words;
  }
  [[nodiscard]] Whereabouts at_barrier() const {
    Whereabouts here;
    here.what = "a barrier";
    here.job = name();
    return here;
  }
  /// \pre locked
  void answer(const std::optional<Whereabouts>& self) {
    meeting_->calls[index(seat_)] = self;
    meeting_->answered[index(seat_)] = meeting_->question;
    if (meeting_->all_have_said_where()) meeting_->changed.notify_all();
  }
  [[nodiscard]] std::vector<Seat> missing_ranks() const {
    std::vector<Seat> missing;
    for (const Seat seat : Seats(size())) {
      if (!meeting_->blobs[index(seat)]) missing.push_back(seat);
    }
    return missing;
  }

  std::shared_ptr<Meeting> meeting_;
  Seat seat_;
  Hearing hearing_;
  std::shared_ptr<const Lineage> lineage_;                     ///< of a part; null: it is none
  std::map<std::vector<std::uint64_t>, std::uint64_t> parts_;  ///< how often each was made
};

}  // namespace

std::vector<std::shared_ptr<Bootstrap>> make_in_process_bootstraps(std::uint32_t ranks) {
  const auto meeting = std::make_shared<Meeting>(ranks);
  std::vector<std::shared_ptr<Bootstrap>> result;
  for (const Seat seat : Seats(ranks)) result.push_back(std::make_shared<InProcess>(meeting, seat));
  return result;
}

}  // namespace multitree::runtime
