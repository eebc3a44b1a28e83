// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gathering from ranks, and telling them of each other's ends.
#include "runtime/job/assembly_internal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/job/blame_internal.hpp"
#include "runtime/job/log_internal.hpp"
#include "runtime/job/runs_internal.hpp"
#include "runtime/job/tcp_internal.hpp"

namespace multitree::runtime {
namespace {

/// How long a line may take to say who it is, and how long the goodbye may take.
constexpr std::chrono::seconds kIntroduction{10};
constexpr std::chrono::seconds kGoodbye{1};

}  // namespace

std::string words_of(const Build& build) {
  return fmt::format("multitree {} (format {})", build.version, build.format);
}

std::optional<Hello> read_hello(const std::string& text) {
  Reader reader(text);
  const auto rank = reader.number(), size = reader.number(), format = reader.number();
  auto version = reader.text();
  if (!rank || !size || !format || !version) return std::nullopt;
  return Hello{*rank, *size, {*format, std::move(*version)}};
}

void Assembly::died(Origin rank, const std::string& how) {
  // Of one that has come its connection says so, or has said so.
  if (states_.at(index(rank)) != State::Empty || !is_member(rank)) return;
  state_of(rank) = State::Dead;
  broadcast_failure(fmt::format("rank {} died before it joined ({})", seat_of(rank), how), nullptr,
                    seat_of(rank));
}

void Assembly::stand_by(const Standing& standing, const std::vector<Door>& doors) {
  doors_ = doors;
  host_ = standing.self;
  const ShrinkVote before = vote_;
  vote_.adopt(standing);
  if (vote_.epoch() != before.epoch()) remember(before.members());
}

void Assembly::serve() {
  if (leaves_by_) return serve_goodbye();
  for (Guest& guest : guests_) serve(guest);
  drop_closed();
  try_blame();
  try_shrink();
}

void Assembly::serve(const Trunk& trunk, JobNumber job) {
  const auto at = by_line_.find({&trunk, job});
  if (at == by_line_.end()) return;
  if (leaves_by_) return serve_goodbye();
  serve(*at->second);
  if (somebody_closed_ || !at->second->channel.open()) drop_closed();
  try_blame();
  try_shrink();
}

void Assembly::serve(Guest& guest) {
  if (guest.channel.open()) hear(guest);
  if (!guest.channel.open()) return;
  const bool late = !guest.origin && Clock::now() - guest.since > kIntroduction;
  const bool refused = guest.leaving && guest.channel.flushed() && !guest.origin;
  if (late || refused) guest.channel.close();
}

void Assembly::drop_closed() {
  somebody_closed_ = false;
  std::erase_if(by_line_, [](const auto& entry) { return !entry.second->channel.open(); });
  guests_.remove_if([](const Guest& guest) { return !guest.channel.open(); });
}

int Assembly::patience() const {
  if (leaves_by_) return 5;
  const auto until = [](Clock::time_point end, std::int64_t most) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, most));
  };
  const int blame = blame_by_ ? until(*blame_by_, kWherePatience.count()) : -1;
  if (!shrink_by_) return blame;
  const int shrink = until(*shrink_by_, doors_.empty() ? 500 : knock_interval_.count());
  return blame < 0 ? shrink : std::min(blame, shrink);
}

bool Assembly::has_strangers() const {
  return std::ranges::any_of(guests_, [](const Guest& guest) { return !guest.origin; });
}

void Assembly::leave() {
  if (leaves_by_) return;
  // The host may leave because it has failed: the others are to hear why.
  for (Guest& guest : guests_) {
    if (guest.channel.open()) hear(guest);
  }
  drop_closed();
  for (Guest& guest : guests_) guest.channel.send(FrameType::Bye, {});
  leaves_by_ = Clock::now() + kGoodbye;
}

void Assembly::serve_goodbye() {
  const bool late = Clock::now() >= *leaves_by_;
  for (Guest& guest : guests_) {
    guest.channel.flush();
    const Channel::Status status = guest.channel.fill();
    while (guest.channel.next()) {
    }
    if (late || status != Channel::Status::Open || !guest.origin) guest.channel.close();
  }
  drop_closed();
}

bool Assembly::over() const {
  if (!guests_.empty()) return false;
  if (leaves_by_ || !doors_.empty()) return leaves_by_.has_value();
  // The launcher's, which nobody leaves in its place.
  return std::ranges::all_of(
      states_, [](State state) { return state == State::Left || state == State::Dead; });
}

void Assembly::hear(Guest& guest) {
  const Channel::Status status = guest.channel.fill();
  // What it says may close its line: then there is nothing more to hear.
  while (status != Channel::Status::Garbage && guest.channel.open()) {
    const auto frame = guest.channel.next();
    if (!frame) break;
    handle(guest, *frame);
  }
  if (!guest.channel.open()) return;
  guest.channel.flush();
  if (status == Channel::Status::Closed) lost(guest, "connection closed");
  if (status == Channel::Status::Garbage) lost(guest, "sent an invalid message");
}

void Assembly::handle(Guest& guest, const Frame& frame) {
  if (guest.leaving) return;
  if (!guest.origin) {
    if (frame.type == FrameType::Hello) return admit(guest, frame);
    if (frame.type == FrameType::Rejoin) return readmit(guest, frame);
    return refuse(guest, "not a rank of a multitree job");
  }
  switch (frame.type) {
    case FrameType::Gather:
      guest.blob = frame.payload;
      ++gathers_;
      return try_gather();
    case FrameType::Withdraw:
      if (std::exchange(guest.blob, std::nullopt)) guest.channel.send(FrameType::Withdrawn, {});
      return;
    case FrameType::WhoIsMissing:
      return guest.channel.send(FrameType::Missing, missing());
    case FrameType::WhoDied:
      return guest.channel.send(FrameType::Died, dead(members_for(guest)));
    case FrameType::WhoIsStuck:
      return ask_where(guest, frame);
    case FrameType::Here:
      return hear_where(guest, frame);
    case FrameType::Failure:
      return broadcast_failure(
          fmt::format("rank {} gave up: {}", seat_of(*guest.origin), frame.payload), &guest,
          seat_of(*guest.origin));
    case FrameType::Bye:
      state_of(*guest.origin) = State::Left;
      somebody_left_ = true;
      guest.leaving = true;
      return try_gather();
    case FrameType::Shrink:
      return ask_to_shrink(guest, frame);
    case FrameType::DeadLinks:
      return links_died(guest, frame);
    case FrameType::Say:
      return pass_on(guest, frame);
    default:
      return lost(guest, "sent an invalid message");
  }
}

void Assembly::admit(Guest& guest, const Frame& frame) {
  const auto hello = read_hello(frame.payload);
  if (!hello) return refuse(guest, "not a rank of a multitree job");
  if (hello->size != states_.size() || hello->rank >= states_.size()) {
    return refuse(guest, fmt::format("this job has {} ranks, found rank {} of {}", states_.size(),
                                     hello->rank, hello->size));
  }
  if (!vote_.in_charge()) {
    guest.leaving = true;
    return guest.channel.send(FrameType::Elsewhere, {});
  }
  const Origin origin{hello->rank};
  if (!is_member(origin)) {
    return refuse(guest, fmt::format("the job has gone on without rank {}", origin));
  }
  if (state_of(origin) != State::Empty) {
    return refuse(guest, fmt::format("another process is or was rank {} already", origin));
  }
  state_of(origin) = State::Present;
  guest.origin = origin;
  guest.channel.trust();
  guest.channel.send(FrameType::Welcome, {});
  if (!failure_.empty()) guest.channel.send(FrameType::Failure, failure_);
  std::vector<bool>& alike = builds_[hello->build];
  alike.resize(members().size());
  alike[index(seat_of(origin))] = true;
  if (++joined_ == members().size()) compare_builds();
}

/// Once all are there: what most of them have is what the others should have.
void Assembly::compare_builds() {
  if (builds_.size() < 2) return;
  const auto ranks = [](const auto& entry) { return std::ranges::count(entry.second, true); };
  auto usual = builds_.begin();
  for (auto it = builds_.begin(); it != builds_.end(); ++it) {
    const auto more = ranks(*it) - ranks(*usual);
    if (more > 0 || (more == 0 && it->second > usual->second)) usual = it;  // rank 0's is greater
  }
  const auto has = [&](const auto& entry) {
    return fmt::format("{} {} {}", words_of(entry.second), ranks(entry) == 1 ? "has" : "have",
                       words_of(entry.first));
  };
  std::string words;
  std::vector<bool> others(members().size());
  for (const auto& entry : builds_) {
    if (&entry == &*usual) continue;
    words += has(entry) + ", ";
    for (std::size_t r = 0; r < others.size(); ++r) others[r] = others[r] || entry.second[r];
  }
  const auto first = std::ranges::find(others, true) - others.begin();
  broadcast_failure(fmt::format("{}{}: all ranks of a job need the same build", words, has(*usual)),
                    nullptr, Seat{static_cast<std::uint32_t>(first)});
}

void Assembly::refuse(Guest& guest, const std::string& why, FrameType how) {
  logger().info("a process that came to the rendezvous was refused: {}", why);
  guest.leaving = true;
  guest.channel.send(how, why);
}

/// What a rank that was left out, or has come again, said before is not of this gathering.
bool Assembly::takes_part(const Guest& guest) const {
  return guest.blob && guest.origin && guest.channel.open() && is_member(*guest.origin);
}

void Assembly::try_gather() {
  if (gathers_ == 0 || (gathers_ < members().size() && !somebody_left_)) return;
  std::vector<const std::string*> blobs(members().size());
  std::size_t waiting = 0;
  for (const Guest& guest : guests_) {
    if (!takes_part(guest)) continue;
    const std::string*& blob = blobs[index(seat_of(*guest.origin))];
    waiting += blob == nullptr ? 1 : 0;
    blob = &*guest.blob;
  }
  if (waiting == 0) return;
  const auto gone = std::find_if(members().begin(), members().end(),
                                 [&](Origin one) { return state_of(one) == State::Left; });
  if (gone != members().end()) {
    // Not a failure unless somebody still counts on that rank, as here.
    for (Guest& guest : guests_) {
      if (guest.blob) {
        guest.channel.send(FrameType::Failure,
                           fmt::format("rank {} has left the job", gone - members().begin()));
      }
    }
    return;
  }
  if (waiting < members().size()) return;
  vote_.settle();
  gathers_ = 0;
  const std::string all = pack_runs(blobs);
  Packed answer;
  for (Guest* guest : in_order_of_telling()) {
    if (!takes_part(*guest)) continue;
    guest->blob.reset();
    if (answer == nullptr) answer = guest->channel.packed(FrameType::Gathered, all);
    guest->channel.send(answer);
  }
}

/// The rank of this process last: it may end as soon as it knows, and this coordinator with it.
std::vector<Guest*> Assembly::in_order_of_telling() {
  std::vector<Guest*> all;
  for (Guest& guest : guests_) all.push_back(&guest);
  std::ranges::stable_partition(all, [&](const Guest* guest) { return guest->origin != host_; });
  return all;
}

/// To everybody, its speaker too: so all hear all that is said in the order in which it came here.
void Assembly::pass_on(const Guest& speaker, const Frame& frame) {
  Writer said;
  said.number(index(seat_of(*speaker.origin))).text(frame.payload);
  for (Guest& guest : guests_) {
    if (guest.origin && !guest.leaving) guest.channel.send(FrameType::Said, said.bytes());
  }
}

void Assembly::broadcast_failure(const std::string& what, const Guest* except, Seat lost) {
  broadcast_failure(what, except, FrameType::RankFailed, Writer().number(index(lost)).text(what));
}

void Assembly::broadcast_failure(const std::string& what, const Guest* except,
                                 const DeadLink& link) {
  broadcast_failure(what, except, FrameType::LinkDied,
                    Writer().number(index(link.a)).number(index(link.b)).text(what));
}

void Assembly::broadcast_failure(const std::string& what, const Guest* except, FrameType type,
                                 const Writer& words) {
  if (!failure_.empty()) return;  // the first is the cause, the others its consequences
  failure_ = what;
  for (Guest* guest : in_order_of_telling()) {
    if (!guest->origin || guest->leaving || guest == except) continue;
    guest->channel.send(type, words.bytes());
  }
}

void Assembly::lost(Guest& guest, const std::string& how) {
  guest.channel.close();
  guest.blob.reset();
  if (!guest.origin || guest.leaving) return;
  state_of(*guest.origin) = State::Dead;
  const Seat rank = seat_of(*guest.origin);
  broadcast_failure(fmt::format("rank {} died ({})", rank, how), &guest, rank);
}

std::string Assembly::dead(const Members& known) const {
  Writer ranks;
  for (std::uint32_t r = 0; r < known.size(); ++r) {
    if (states_[index(known[r])] == State::Dead) ranks.number(r);
  }
  return ranks.bytes();
}

std::string Assembly::missing() const {
  std::vector<bool> here(members().size());
  for (const Guest& guest : guests_) {
    if (takes_part(guest)) here[index(seat_of(*guest.origin))] = true;
  }
  std::vector<Seat> ranks;
  for (std::uint32_t r = 0; r < here.size(); ++r) {
    if (!here[r]) ranks.push_back(Seat{r});
  }
  return fmt::format("{}", fmt::join(ranks, ", "));
}

}  // namespace multitree::runtime
