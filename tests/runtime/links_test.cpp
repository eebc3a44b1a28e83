// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links that die: noticed, told to all, and left out of what comes after.
#include "runtime/job/links.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <future>
#include <thread>

#include "runtime/job/dead_links_internal.hpp"
#include "runtime/job/tcp_internal.hpp"
#include "runtime/messages/network/heartbeat_internal.hpp"
#include "support.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Origin operator""_origin(unsigned long long number) {
  return Origin{static_cast<std::uint32_t>(number)};
}

constexpr std::uint32_t kHere = 0x7f000001;  // 127.0.0.1
constexpr std::chrono::seconds kLinksPatience{20};

template <typename Condition>
bool eventually(const Condition& condition) {
  const auto until = std::chrono::steady_clock::now() + kLinksPatience;
  while (!condition() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

/// Two ends of a link.
struct Ends {
  explicit Ends(std::chrono::milliseconds deadline)
      : one(std::make_unique<Heartbeats>(deadline)), other(std::make_unique<Heartbeats>(deadline)) {
    of_one = *one->open(7_seat, kHere);
    of_other = *other->open(3_seat, kHere);
  }
  std::unique_ptr<Heartbeats> one, other;
  HeartbeatAddress of_one, of_other;
};

TEST(Heartbeats, ALinkWhoseOtherEndGoesAwayIsSilent) {
  Ends ends(std::chrono::milliseconds(200));
  ends.one->connect(7_seat, ends.of_other);
  ends.other->connect(3_seat, ends.of_one);
  ends.one->start();
  ends.other->start();
  ends.other.reset();
  ASSERT_TRUE(eventually([&] { return ends.one->silent().has_value(); }));
  EXPECT_THAT(ends.one->silent()->peers, ElementsAre(7_seat));
  EXPECT_EQ(ends.one->silent()->deadline.count(), 200);
}

/// Both live for many deadlines of a third, whose link leads nowhere.
TEST(Heartbeats, LinksInOrderAreNotSilent) {
  Ends ends(std::chrono::seconds(30));
  ends.one->connect(7_seat, ends.of_other);
  ends.other->connect(3_seat, ends.of_one);
  ends.one->start();
  ends.other->start();
  Heartbeats third(std::chrono::milliseconds(100));
  ASSERT_TRUE(third.open(1_seat, kHere));
  third.connect(1_seat, ends.of_one);  // who knows nothing but the address is not answered
  third.start();
  ASSERT_TRUE(eventually([&] { return third.silent().has_value(); }));
  EXPECT_THAT(third.silent()->peers, ElementsAre(1_seat));
  EXPECT_FALSE(ends.one->silent().has_value());
  EXPECT_FALSE(ends.other->silent().has_value());
}

/// A rank that takes long to make its connections: it answers, so its peer's link is in order; and
/// silence counts for it from when it is through.
TEST(Heartbeats, WhoStillConnectsAnswersAndDoesNotWatch) {
  Ends ends(std::chrono::milliseconds(200));
  ends.one->connect(7_seat, ends.of_other);
  ends.other->connect(3_seat, ends.of_one);
  ends.other->answer();
  Heartbeats third(std::chrono::milliseconds(200));
  ASSERT_TRUE(third.open(1_seat, kHere));
  third.connect(1_seat, ends.of_one);  // is not answered
  third.answer();
  ends.one->start();
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));  // five deadlines
  EXPECT_FALSE(ends.one->silent().has_value());
  EXPECT_FALSE(third.silent().has_value());
  third.start();
  EXPECT_TRUE(eventually([&] { return third.silent().has_value(); }));
}

/// Where datagrams never pass and messages do, silence says nothing.
TEST(Heartbeats, WithoutAnyAnswerMessagesAreEnough) {
  Heartbeats heartbeats(std::chrono::milliseconds(100));
  ASSERT_TRUE(heartbeats.open(1_seat, kHere));
  ASSERT_TRUE(heartbeats.open(2_seat, kHere));
  const HeartbeatAddress nowhere{kHere, 9, KeyPair().told()};
  heartbeats.connect(1_seat, nowhere);
  heartbeats.connect(2_seat, nowhere);
  heartbeats.heard(1_seat)->store(true);
  heartbeats.start();
  ASSERT_TRUE(eventually([&] { return heartbeats.silent().has_value(); }));
  EXPECT_THAT(heartbeats.silent()->peers, ElementsAre(2_seat));
}

TEST(Heartbeats, UnknownLinksAreNotWatched) {
  Heartbeats heartbeats(std::chrono::milliseconds(100));
  EXPECT_EQ(heartbeats.heard(1_seat), nullptr);
  ASSERT_TRUE(heartbeats.open(1_seat, kHere));
  EXPECT_EQ(heartbeats.heard(1_seat), nullptr);
  EXPECT_EQ(heartbeats.open(2_seat, 0x01010101), std::nullopt);  // no address of this host
  const HeartbeatAddress address{kHere, 4242, KeyPair().told()};
  EXPECT_EQ(unpack_heartbeat(pack(address)), address);
  EXPECT_EQ(unpack_heartbeat("nonsense"), std::nullopt);
  const HeartbeatAddress at_cable{0, 4242, KeyPair().told(), "fe80::1"};
  EXPECT_EQ(unpack_heartbeat(pack(at_cable)), at_cable);
  EXPECT_EQ(heartbeats.open(2_seat, "fe80::1", "nowhere"), std::nullopt);
}

TEST(KeyPairs, AgreeOnWhatNobodyElseKnows) {
  const KeyPair one, other, third;
  EXPECT_EQ(one.shared_with(other.told()), other.shared_with(one.told()));
  EXPECT_NE(one.shared_with(other.told()), one.shared_with(third.told()));
  EXPECT_NE(one.told(), other.told());
  EXPECT_EQ(one.shared_with(PublicKey{}), std::nullopt);
}

/// Somebody between the ends who passes datagrams on, and says them again.
class Echo {
 public:
  explicit Echo(const HeartbeatAddress& end) : end_(end) {
    sockaddr_in address = any();
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(socket_.fd(), reinterpret_cast<sockaddr*>(&address), length), 0);
    ::getsockname(socket_.fd(), reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
  }
  /// How the other end knows `end`.
  [[nodiscard]] HeartbeatAddress address() const { return {kHere, port_, end_.key}; }
  /// The next datagram that comes; empty if none does.
  [[nodiscard]] std::string hear(std::chrono::milliseconds patience) const {
    pollfd event{socket_.fd(), POLLIN, 0};
    if (::poll(&event, 1, static_cast<int>(patience.count())) <= 0) return {};
    std::string text(100, ' ');
    const ssize_t n = ::recv(socket_.fd(), text.data(), text.size(), 0);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }
  void say(const std::string& datagram) const {
    sockaddr_in to = any();
    to.sin_port = htons(static_cast<std::uint16_t>(end_.port));
    EXPECT_EQ(::sendto(socket_.fd(), datagram.data(), datagram.size(), 0,
                       reinterpret_cast<const sockaddr*>(&to), sizeof to),
              static_cast<ssize_t>(datagram.size()));
  }

 private:
  static sockaddr_in any() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(kHere);
    return address;
  }

  HeartbeatAddress end_;
  Socket socket_{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port_ = 0;
};

TEST(Heartbeats, AreAnsweredOnceAndNotWhenChanged) {
  Ends ends(std::chrono::seconds(30));
  // One asks by way of somebody who knows what is said, the other answers there.
  const Echo to_other(ends.of_other), to_one(ends.of_one);
  ends.one->connect(7_seat, to_other.address());
  ends.other->connect(3_seat, to_one.address());
  ends.one->answer();
  ends.other->answer();
  const std::string question = to_other.hear(kLinksPatience);
  ASSERT_EQ(question.size(), 28U);
  const auto answers = [&](const std::string& datagram) {
    to_other.say(datagram);
    // Those of the other end's own questions come as well: an answer has its kind.
    for (int i = 0; i < 20; ++i) {
      if (to_one.hear(std::chrono::milliseconds(20)).starts_with("mtha")) return true;
    }
    return false;
  };
  for (const std::size_t at : {0U, 5U, 11U, 12U, 27U}) {
    std::string changed = question;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(answers(changed)) << at;
  }
  EXPECT_FALSE(answers(question.substr(0, 27)));
  EXPECT_FALSE(answers(question + "x"));
  EXPECT_FALSE(answers(std::string(28, 'x')));
  EXPECT_TRUE(answers(question));
  EXPECT_FALSE(answers(question)) << "a second time";
}

TEST(SilentLinks, AreToldByNameOfBothEnds) {
  EXPECT_EQ(words_of({{3_seat}, {}, Deadline(2000)}, 7_seat),
            "nothing from rank 3 over link 3-7 for 2000 ms");
  EXPECT_EQ(words_of({{3_seat}, {}, Deadline(0)}, 7_seat), "no connection to rank 3 over link 3-7");
  EXPECT_EQ(words_of({{9_seat, 2_seat}, {}, Deadline(500)}, 7_seat),
            "nothing from rank 9 over link 7-9 for 500 ms (nor from rank 2)");
  EXPECT_EQ(words_of({{9_seat}, {}, Deadline(500), 1, "interface eth1"}, 7_seat),
            "nothing from rank 9 over link 7-9 for 500 ms, interface eth1");
}

TEST(DeadLinks, WhoHasNoneLeftIsLeftOut) {
  DeadLinks links;
  links.add(1_origin, 0_origin);
  links.add(1_origin, 2_origin);
  links.add(5_origin, 4_origin);  // 5 is not there any more
  const LinksLeft left{{1_origin, {}}, {2_origin, {1_origin, 3_origin}}, {4_origin, {}}};
  Members members = all_members(5);
  links.leave_out_cut_off(members, left);
  EXPECT_THAT(members, ElementsAre(0_origin, 2_origin, 3_origin, 4_origin));
  EXPECT_THAT(links.among(members), IsEmpty());
  EXPECT_THAT(links.among({0_origin, 1_origin, 2_origin}),
              ElementsAre(DeadLink{0_seat, 1_seat}, DeadLink{1_seat, 2_seat}));
  EXPECT_THAT(links.among({1_origin, 2_origin}), ElementsAre(DeadLink{0_seat, 1_seat}));
}

TEST(DeadLinks, SomebodyAlwaysStays) {
  DeadLinks links;
  links.add(3_origin, 8_origin);
  Members members{3_origin, 8_origin};
  links.leave_out_cut_off(members, {{3_origin, {}}, {8_origin, {}}});
  EXPECT_THAT(members, ElementsAre(3_origin));
}

/// Jobs of both kinds: rank 1 has lost its link to rank 3 and may have more; then it has none left.
class DeadLinkJob : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr std::uint32_t kRanks = 4;

  void SetUp() override {
    if (!GetParam()) {
      jobs_ = make_in_process_bootstraps(kRanks);
      return;
    }
    coordinator_ = std::make_unique<Coordinator>(listen_at(0, kLoopback), kRanks, "secret");
    std::vector<std::future<std::shared_ptr<Bootstrap>>> joining;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      joining.push_back(std::async(std::launch::async, [this, rank] {
        TcpOptions options;
        options.seat = Seat{rank};
        options.size = kRanks;
        options.addresses = {{"127.0.0.1", coordinator_->port()}};
        options.token = "secret";
        options.coordinator_name = "the launcher";
        return join_over_tcp(std::move(options));
      }));
    }
    for (auto& one : joining) jobs_.push_back(one.get());
  }

  /// What shrinking came to, by rank; empty for those that were left out.
  std::vector<std::optional<Shrunk>> shrink() {
    std::vector<std::future<std::optional<Shrunk>>> shrinking;
    for (const auto& job : jobs_) {
      shrinking.push_back(std::async(std::launch::async, [job]() -> std::optional<Shrunk> {
        try {
          return job->shrink(Deadline(20'000));
        } catch (const Error&) {
          return std::nullopt;
        }
      }));
    }
    std::vector<std::optional<Shrunk>> all;
    for (auto& one : shrinking) all.push_back(one.get());
    return all;
  }

  void tell(const std::vector<Seat>& peers, const std::vector<Seat>& left) {
    jobs_[1]->report_dead_links(peers, left, "nothing from rank 3");
    for (const std::uint32_t rank : {0U, 2U, 3U}) {
      ASSERT_TRUE(eventually([&] { return jobs_[rank]->failure().has_value(); }));
      EXPECT_EQ(jobs_[rank]->failure(), "rank 1: nothing from rank 3");
      EXPECT_EQ(jobs_[rank]->dead_link(), (DeadLink{1_seat, 3_seat}));
    }
    EXPECT_EQ(jobs_[1]->failure(), std::nullopt);
    EXPECT_EQ(jobs_[1]->dead_link(), (DeadLink{1_seat, 3_seat}));
  }

  std::unique_ptr<Coordinator> coordinator_;
  std::vector<std::shared_ptr<Bootstrap>> jobs_;
};

TEST_P(DeadLinkJob, IsToldToAllAndStaysKnown) {
  tell({3_seat}, {0_seat, 2_seat});
  EXPECT_THROW(jobs_[2]->barrier(Deadline(1000)), LinkError);
  for (const auto& one : shrink()) {
    ASSERT_TRUE(one);
    EXPECT_THAT(one->survivors, ElementsAreArray(seats_at(0, 1, 2, 3)));
    EXPECT_THAT(one->dead_links, ElementsAre(DeadLink{1_seat, 3_seat}));
    EXPECT_EQ(one->job->failure(), std::nullopt);
    EXPECT_EQ(one->job->dead_link(), std::nullopt);
  }
}

TEST_P(DeadLinkJob, NumbersFollowTheRanks) {
  tell({3_seat}, {0_seat, 2_seat});
  jobs_[0]->report_failure("enough");
  jobs_.erase(jobs_.begin());  // has left
  const auto once = shrink();
  for (const auto& one : once) {
    ASSERT_TRUE(one);
    EXPECT_THAT(one->survivors, ElementsAreArray(seats_at(1, 2, 3)));
    EXPECT_THAT(one->dead_links, ElementsAre(DeadLink{0_seat, 2_seat}));
  }
  jobs_ = {once[0]->job, once[1]->job, once[2]->job};
  for (const auto& one : shrink()) {
    EXPECT_THAT(one->dead_links, ElementsAre(DeadLink{0_seat, 2_seat}));
  }
}

TEST_P(DeadLinkJob, WhoHasNoLinkLeftCountsAsDead) {
  tell({3_seat, 0_seat, 2_seat}, {});
  const auto all = shrink();
  EXPECT_FALSE(all[1]);
  for (const std::uint32_t rank : {0U, 2U, 3U}) {
    ASSERT_TRUE(all[rank]);
    EXPECT_THAT(all[rank]->survivors, ElementsAreArray(seats_at(0, 2, 3)));
    EXPECT_THAT(all[rank]->dead_links, IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, DeadLinkJob, ::testing::Bool(),
                         [](const auto& kind) { return kind.param ? "Tcp" : "InProcess"; });

/// Every rank throws, knows the same link, and goes on with what all have finished.
TEST(Shrink, GoesOnAroundADeadLink) {
  constexpr std::size_t kCount = 5000;
  run_ranks(4, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    CommunicatorOptions options;
    options.transport = "loopback";
    Communicator before(bootstrap, ring_schedules(4), options);
    std::vector<float> data(kCount, 1.0F);
    before.all_reduce(data.data(), data.data(), kCount, DataType::Float32, ReduceOp::Sum);
    before.barrier();
    try {
      if (bootstrap->seat() == 2_seat) {
        bootstrap->report_dead_links(seats_at(3), seats_at(0, 1), "no word over link 2-3");
        throw LinkError({2_seat, 3_seat}, "rank 2: no word over link 2-3");
      }
      before.all_reduce(data.data(), data.data(), kCount, DataType::Float32, ReduceOp::Sum);
      throw std::logic_error("an all-reduce without one of its ranks has ended");
    } catch (const LinkError& error) {
      EXPECT_EQ(error.link(), (DeadLink{2_seat, 3_seat}));
      EXPECT_THAT(error.what(), HasSubstr("no word over link 2-3"));
    }
    const ReplanAround replan = [](const Shrunk& shrunk) {
      EXPECT_EQ(shrunk.survivors.size(), 4U);
      EXPECT_THAT(shrunk.dead_links, ElementsAre(DeadLink{2_seat, 3_seat}));
      return PlansBySize({for_all_sizes(ring_schedule(Collective::AllReduce, 4))});
    };
    const auto after = before.shrink(replan, Deadline(10'000));
    EXPECT_EQ(after->finished_before(), 1U);
    EXPECT_EQ(before.finished_before(), 0U);
    check_collective(*after, Collective::AllReduce, Rank{0}, kCount, DataType::Float32,
                     ReduceOp::Sum, true);
  });
}

}  // namespace
}  // namespace multitree::runtime::test
