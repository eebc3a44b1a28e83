// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Meeting again without the coordinator: at whom, and who may go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "meeting.hpp"
#include "runtime/job/doors_internal.hpp"
#include "runtime/job/interfaces_internal.hpp"
#include "runtime/job/tcp_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

constexpr Deadline kPatience{60'000};

Door door_at(std::uint16_t port) { return {this_host(), port, {"127.0.0.1"}, false}; }
/// Of a process that has ended: its host refuses.
Door closed_door() { return door_at(port_of(listen_at(0, kLoopback))); }
/// Of a host from which no answer comes.
Door silent_door() { return {"another host", 7, {}, false}; }

TEST(Doors, AreTextAndBack) {
  const Door door{"a host", 4242, {"10.0.0.1", "192.168.7.7"}, true};
  const auto same = unpack_door(pack(door), door.port);
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(same->host, door.host);
  EXPECT_EQ(same->port, door.port);
  EXPECT_EQ(same->numbers, door.numbers);
  EXPECT_TRUE(same->meeting);
  EXPECT_FALSE(unpack_door(pack(door), 0).has_value());
  EXPECT_FALSE(unpack_door("", 4242).has_value());
  EXPECT_FALSE(unpack_door("nonsense", 4242).has_value());
}

TEST(Doors, AreOpenClosedOrSilent) {
  const Socket open = listen_at(0, kLoopback);
  const Door there = door_at(port_of(open)), gone = closed_door(), silent = silent_door();
  EXPECT_EQ(knock({&there, &gone, &silent}, std::chrono::seconds(5)),
            (std::vector<Presence>{Presence::There, Presence::Gone, Presence::Silent}));
}

TEST(Doors, OfOthersAreNotLookedForHere) {
  // An address that this host has as well, as those of containers' bridges.
  const Door other{"another host", 4242, host_addresses(), false};
  EXPECT_TRUE(ways_to(other).empty());
}

/// A coordinator that stands by at a rank of a job of `doors.size()`, and ranks spelt out that have
/// lost theirs.
class StandBy : public ::testing::Test {
 protected:
  void open(const std::vector<Door>& doors) {
    ranks_ = static_cast<std::uint32_t>(doors.size());
    coordinator_ = std::make_unique<Coordinator>(listen_at(0, kLoopback), ranks_, "secret", false);
    Standing standing;
    standing.members = all_members(ranks_);
    coordinator_->stand_by(standing, doors);
  }

  Channel connect(std::string_view token = "secret") {
    return newcomer(coordinator_->port(), token);
  }
  Channel rejoin(const Standing& standing) {
    Channel channel = connect();
    channel.send(FrameType::Rejoin, pack(standing));
    return channel;
  }
  Channel rejoin(std::uint32_t number) {
    return rejoin(
        {.self = Origin{number}, .epoch = 0, .members = all_members(ranks_), .dead_links = {}});
  }
  static void ask(Channel& channel, std::uint32_t milliseconds) {
    channel.send(FrameType::Shrink, Writer().number(milliseconds).bytes());
  }
  static Frame answer(Channel& channel) {
    while (true) {
      const Channel::Status status = channel.fill();
      if (auto frame = channel.next()) return *frame;
      if (status != Channel::Status::Open) return {};
      channel.wait(std::chrono::seconds(5));
    }
  }
  /// Those that go on, in the numbers of the rank that is told.
  static std::vector<Seat> survivors(Channel& channel) {
    const Frame frame = answer(channel);
    if (frame.type != FrameType::Shrunk) return {};
    Reader reader(frame.payload);
    static_cast<void>(reader.number());
    std::vector<Seat> all(reader.number().value_or(0));
    for (Seat& seat : all) seat = Seat{reader.number().value_or(99)};
    return all;
  }

  std::uint32_t ranks_ = 0;
  std::unique_ptr<Coordinator> coordinator_;
};

TEST_F(StandBy, IsNoPlaceToJoin) {
  open({closed_door(), closed_door()});
  Channel channel = connect();
  channel.send(FrameType::Hello, Writer().number(1).number(2).number(1).text("1").bytes());
  EXPECT_EQ(answer(channel).type, FrameType::Elsewhere);
  Channel odd = connect();
  odd.send(FrameType::Rejoin, Writer().number(1).bytes());
  EXPECT_EQ(answer(odd).payload, "not a rank of this job");
  Channel stranger = connect("guess");
  EXPECT_EQ(test::answer(stranger), kWrongToken);
}

TEST_F(StandBy, GoesOnWithoutAProcessThatIsGone) {
  open({closed_door(), closed_door(), closed_door()});
  Channel one = rejoin(1), two = rejoin(2);
  EXPECT_EQ(answer(one).type, FrameType::Welcome);
  EXPECT_EQ(answer(two).type, FrameType::Welcome);
  ask(one, 60'000);
  ask(two, 60'000);
  EXPECT_EQ(survivors(one), seats_at(1, 2));
  EXPECT_EQ(survivors(two), seats_at(1, 2));
}

TEST_F(StandBy, WaitsForARankThatIsThere) {
  const Socket busy = listen_at(0, kLoopback);
  open({closed_door(), closed_door(), door_at(port_of(busy))});
  Channel one = rejoin(1);
  EXPECT_EQ(answer(one).type, FrameType::Welcome);
  ask(one, 60'000);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  Channel two = rejoin(2);
  EXPECT_EQ(answer(two).type, FrameType::Welcome);
  ask(two, 60'000);
  EXPECT_EQ(survivors(one), seats_at(1, 2));
}

TEST_F(StandBy, AMinorityStops) {
  open({silent_door(), closed_door(), closed_door(), silent_door(), silent_door()});
  Channel one = rejoin(1), two = rejoin(2);
  EXPECT_EQ(answer(one).type, FrameType::Welcome);
  EXPECT_EQ(answer(two).type, FrameType::Welcome);
  ask(one, 60'000);
  ask(two, 60'000);
  const Frame frame = answer(two);
  EXPECT_EQ(frame.type, FrameType::Refused);
  EXPECT_EQ(frame.payload,
            "cannot go on: only 2 of 5 ranks have met again, and rank 0, 3, 4 may go on without "
            "them");
}

TEST_F(StandBy, AMajorityGoesOn) {
  open({silent_door(), closed_door(), closed_door(), closed_door(), silent_door()});
  Channel one = rejoin(1), two = rejoin(2), three = rejoin(3);
  const std::vector<Channel*> all{&one, &two, &three};
  for (Channel* channel : all) EXPECT_EQ(answer(*channel).type, FrameType::Welcome);
  for (Channel* channel : all) ask(*channel, 60'000);
  EXPECT_EQ(survivors(three), seats_at(1, 2, 3));
}

TEST_F(StandBy, OfTwoHalvesTheOneWithTheLowestRankGoesOn) {
  open({silent_door(), closed_door()});
  Channel upper = rejoin(1);
  EXPECT_EQ(answer(upper).type, FrameType::Welcome);
  ask(upper, 60'000);
  EXPECT_EQ(answer(upper).type, FrameType::Refused);
  open({closed_door(), silent_door()});
  Channel lower = rejoin(0);
  EXPECT_EQ(answer(lower).type, FrameType::Welcome);
  ask(lower, 60'000);
  EXPECT_EQ(survivors(lower), seats_at(0));
}

TEST_F(StandBy, WhoDoesNotAskInTimeIsCountedAgainstThem) {
  const Socket busy = listen_at(0, kLoopback);
  open({closed_door(), closed_door(), door_at(port_of(busy)), door_at(port_of(busy))});
  Channel one = rejoin(1);
  EXPECT_EQ(answer(one).type, FrameType::Welcome);
  ask(one, 100);
  EXPECT_EQ(answer(one).type, FrameType::Refused);
}

/// The one in charge died after it had told some ranks of the shrunk job, and not all.
TEST_F(StandBy, UnitesRanksOfDifferentJobs) {
  open({closed_door(), closed_door(), closed_door(), closed_door()});
  // Rank 3 has heard that 1, 2 and 3 go on, where it is 2; rank 2 has not.
  Channel two = rejoin(2);
  EXPECT_EQ(answer(two).type, FrameType::Welcome);
  Channel three = rejoin({.self = Origin{3},
                          .epoch = 1,
                          .members = {Origin{1}, Origin{2}, Origin{3}},
                          .dead_links = {}});
  EXPECT_EQ(answer(three).type, FrameType::Welcome);
  Channel zero = rejoin(0);
  EXPECT_THAT(answer(zero).payload, StrEq("the job has gone on without this rank, 0"));
  ask(two, 60'000);
  ask(three, 60'000);
  EXPECT_EQ(survivors(two), seats_at(2, 3));
  EXPECT_EQ(survivors(three), seats_at(1, 2));
}

TEST_F(StandBy, ARankThatWasLeftOutIsNoPlaceToMeet) {
  open({closed_door(), closed_door()});
  coordinator_->retire();
  Channel channel = rejoin(1);
  EXPECT_EQ(answer(channel).type, FrameType::Elsewhere);
}

/// The first rank hosts, as under torchrun.
std::vector<std::shared_ptr<Bootstrap>> join(std::uint32_t ranks, std::uint16_t* port = nullptr) {
  auto first = std::make_unique<Coordinator>(listen_at(0, kLoopback), ranks, "secret");
  if (port != nullptr) *port = first->port();
  const Address address{"127.0.0.1", first->port()};
  std::vector<std::future<std::shared_ptr<Bootstrap>>> joining;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    TcpOptions options;
    options.seat = Seat{rank};
    options.size = ranks;
    options.addresses = {address};
    options.token = "secret";
    options.coordinator_name = "rank 0 (coordinator)";
    options.hosted_by_rank = true;
    if (rank == 0) options.coordinator = std::move(first);
    joining.push_back(std::async(std::launch::async, [options = std::move(options)]() mutable {
      return join_over_tcp(std::move(options));
    }));
  }
  std::vector<std::shared_ptr<Bootstrap>> all;
  for (auto& one : joining) all.push_back(one.get());
  return all;
}

void expect_together(const std::vector<Shrunk>& all) {
  std::vector<std::future<Gathered>> gathering;
  for (const Shrunk& one : all) {
    gathering.push_back(std::async(std::launch::async, [&one] {
      return one.job->all_gather(std::to_string(index(one.job->seat())), kPatience);
    }));
  }
  for (auto& one : gathering) {
    const Gathered blobs = one.get();
    ASSERT_EQ(blobs.size(), all.size());
    for (std::size_t r = 0; r < blobs.size(); ++r) EXPECT_EQ(blobs[r], std::to_string(r));
  }
}

TEST(Election, GoesOnWhereverTheCoordinatorLeaves) {
  auto all = join(4);
  all[0].reset();  // and its coordinator with it
  auto three = shrink_all({all[1], all[2], all[3]}, kPatience);
  EXPECT_EQ(three[2].survivors, seats_at(1, 2, 3));
  expect_together(three);
  EXPECT_THAT([&] { all[1]->shrink(Deadline(100)); },
              ThrowsMessage<Error>(HasSubstr("has been shrunk to another")));
  // Rank 0 by now is the one that the others met at.
  std::vector<std::shared_ptr<Bootstrap>> two{three[1].job, three[2].job};
  const std::weak_ptr<Bootstrap> host = three[0].job;
  three.clear();
  EXPECT_TRUE(host.expired());
  const auto left = shrink_all(two, kPatience);
  EXPECT_EQ(left[1].survivors, seats_at(1, 2));
  expect_together(left);
  two.clear();
  EXPECT_EQ(left[0].job->failure(), std::nullopt);
  left[1].job->report_failure("enough");
  for (int i = 0; i < 5000 && !left[0].job->failure(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(left[0].job->failure(), "rank 1 gave up: enough");
}

/// Somebody who knows the token and how ranks that have lost their coordinator come again.
TEST(Election, NobodyComesAgainWhileAllIsWell) {
  std::uint16_t port = 0;
  auto all = join(3, &port);
  for (const std::uint32_t epoch : {0U, 7U}) {
    Channel channel = newcomer(port);
    const Standing standing{
        .self = Origin{1}, .epoch = epoch, .members = {Origin{1}}, .dead_links = {}};
    channel.send(FrameType::Rejoin, pack(standing));
    for (int i = 0; i < 500 && !channel.known(); ++i) {
      channel.wait(std::chrono::milliseconds(10));
      ASSERT_EQ(channel.fill(), Channel::Status::Open);
    }
    channel.wait(std::chrono::milliseconds(300));
    EXPECT_EQ(channel.fill(), Channel::Status::Open);
    EXPECT_FALSE(channel.next().has_value());
  }
  std::vector<Shrunk> jobs;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(all[rank]->failure(), std::nullopt);
    jobs.push_back({all[rank], {}, {}});
  }
  expect_together(jobs);
  // And it is the same when the job has become smaller.
  jobs.clear();
  all[2].reset();
  expect_together(shrink_all({all[0], all[1]}, kPatience));
}

TEST(Election, KnowsDeadLinksStill) {
  auto all = join(4);
  all[2]->report_dead_links(seats_at(3), seats_at(0, 1), "nothing from rank 3");
  all[0].reset();
  const auto three = shrink_all({all[1], all[2], all[3]}, kPatience);
  for (const Shrunk& one : three) {
    EXPECT_EQ(one.dead_links, (std::vector<DeadLink>{{1_seat, 2_seat}}));
  }
}

/// As where its links have died: it stops, and nobody else notices when.
TEST(Election, TheHostIsLeftOutAndEnds) {
  auto all = join(4);
  all[2]->report_dead_links(seats_at(3), seats_at(0, 1), "nothing from rank 3");
  std::vector<std::future<Shrunk>> shrinking;
  for (std::uint32_t rank = 1; rank < 4; ++rank) {
    shrinking.push_back(std::async(std::launch::async, [job = all[rank]] {
      const std::vector<Seat> host = seats_at(0);
      return job->shrink(kPatience, host);
    }));
  }
  std::vector<Shrunk> three;
  for (auto& one : shrinking) three.push_back(one.get());
  all[0].reset();
  expect_together(three);
  for (const Shrunk& one : three) {
    EXPECT_EQ(one.survivors, seats_at(1, 2, 3));
    EXPECT_EQ(one.dead_links, (std::vector<DeadLink>{{1_seat, 2_seat}}));
    EXPECT_EQ(one.job->failure(), std::nullopt);
  }
}

TEST(Election, OneIsLeft) {
  auto all = join(2);
  all[0].reset();
  const auto one = shrink_all({all[1]}, kPatience);
  EXPECT_EQ(one[0].survivors, seats_at(1));
  expect_together(one);
}

/// A second job, whose coordinator is in a rank although the first one's is not.
TEST(Election, GoesOnWithOtherNumbers) {
  auto first = join(3);
  std::vector<std::future<std::shared_ptr<Bootstrap>>> joining;
  for (std::uint32_t old = 0; old < 3; ++old) {
    joining.push_back(std::async(std::launch::async, [job = std::move(first[old]), old]() mutable {
      return renumbered(std::move(job), Seat{2 - old}, kPatience);
    }));
  }
  std::vector<std::shared_ptr<Bootstrap>> all(3);
  for (std::uint32_t old = 0; old < 3; ++old) all[2 - old] = joining[old].get();
  all[2].reset();  // the first by the old numbers, which hosts
  const auto two = shrink_all({all[0], all[1]}, kPatience);
  EXPECT_EQ(two[0].survivors, seats_at(0, 1));
  expect_together(two);
}

}  // namespace
}  // namespace multitree::runtime::test
