// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The cluster's file that nobody names: where it is looked for, and which jobs take it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "runtime/messages/network/cables.hpp"
#include "runtime/messages/network/devices_internal.hpp"
#include "support.hpp"
#include "topologies/io/cluster_file.hpp"
#include "topologies/io/files.hpp"

namespace multitree::runtime {
namespace {

using ::testing::ElementsAre;

std::string own_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// Two hosts with a cable, the first of which is called `name`.
std::string cluster_text(const std::string& name) {
  std::vector<cluster::Host> hosts;
  for (const std::string& one : {name, std::string("another.example")}) {
    hosts.push_back({one, one, one + " boot", {{"p0", "up", "fe80::9:" + one, 0}}});
    hosts.back().ports[0].address = fmt::format("fe80::{}:1", hosts.size());
  }
  const cluster::PortId a{0, 0}, b{1, 0};
  const auto inferred = cluster::infer({{a, b}, {b, a}});
  const std::vector<cluster::Flow> flows{{a, b, {10'000'000}, {20'000'000}},
                                         {b, a, {10'000'000}, {20'000'000}}};
  return write_cluster_json(cluster::assemble(hosts, inferred.segments, flows));
}

/// A folder of settings, which is that of this user while it lives.
class InstalledCluster : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto folder = std::filesystem::temp_directory_path() / "multitree-settings-XXXXXX";
    std::string name = folder.string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::filesystem::create_directories(folder_ + "/multitree");
    ::setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
    ::unsetenv(kClusterVariable);
  }
  void TearDown() override {
    ::unsetenv("XDG_CONFIG_HOME");
    ::unsetenv(kClusterVariable);
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::string file() const { return folder_ + "/multitree/cluster.json"; }

  std::string folder_;
};

TEST_F(InstalledCluster, IsLookedForInSettingsOfTheUserThenOfTheHost) {
  EXPECT_THAT(installed_cluster_files(), ElementsAre(file(), "/etc/multitree/cluster.json"));
  ::unsetenv("XDG_CONFIG_HOME");
  const char* const home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  ::setenv("HOME", "/home/me", 1);
  EXPECT_THAT(installed_cluster_files(), ElementsAre("/home/me/.config/multitree/cluster.json",
                                                     "/etc/multitree/cluster.json"));
  ::setenv("HOME", before.c_str(), 1);
}

TEST_F(InstalledCluster, IsTakenWhereThisHostIsInIt) {
  write_file(file(), cluster_text("yet-another.example"));
  EXPECT_FALSE(named_cluster().has_value());
  write_file(file(), cluster_text(own_name()));
  const auto found = named_cluster();
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->installed);
  EXPECT_EQ(found->words(), file());
  EXPECT_TRUE(describe_host_with_cables().installed);
}

TEST_F(InstalledCluster, TheVariableComesFirst) {
  write_file(file(), cluster_text(own_name()));
  ::setenv(kClusterVariable, "", 1);
  EXPECT_FALSE(named_cluster().has_value()) << "named is none";
  const std::string other = folder_ + "/other.json";
  write_file(other, cluster_text("yet-another.example"));
  ::setenv(kClusterVariable, other.c_str(), 1);
  const auto found = named_cluster();
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->installed);
  EXPECT_EQ(found->words(), "MULTITREE_CLUSTER=" + other);
}

/// A warning says what is wrong; jobs run as without it.
TEST_F(InstalledCluster, ABadFileIsNone) {
  write_file(file(), "{\"hosts\": 3}");
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(named_cluster().has_value());
  EXPECT_FALSE(named_cluster().has_value());
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, ::testing::HasSubstr(file()));
  EXPECT_THAT(said, ::testing::HasSubstr("cluster discover --install"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
}

/// What a cable without carrier was to carry would take another way in silence.
TEST_F(InstalledCluster, APortThatIsDownIsNamedOnce) {
  write_file(file(), cluster_text(own_name()));
  ::testing::internal::CaptureStderr();
  warn_of_ports_without_address();
  warn_of_ports_without_address();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, ::testing::HasSubstr(": port p0, which has a cable in " + file()));
  EXPECT_THAT(said, ::testing::HasSubstr("messages to another.example go over other"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
}

/// All ranks are on one of its hosts, so a network of two is none of theirs.
TEST_F(InstalledCluster, AJobOnOneHostHasNoUseForIt) {
  write_file(file(), cluster_text(own_name()));
  test::run_ranks(2, [](const std::shared_ptr<Bootstrap>& job) {
    EXPECT_FALSE(installed_cluster_of(*job, true, Deadline{30'000}).has_value());
    EXPECT_FALSE(installed_cluster_of(*job, job->seat() == Seat{0}, Deadline{30'000}).has_value());
  });
  Host here = describe_host_with_cables();
  here.cables = {{0, "p0", "fe80::1:1", 9000, false}};
  EXPECT_FALSE(use_cables({here, here}));
  Host other = here;
  other.id = "another host";
  EXPECT_TRUE(use_cables({here, other}));
}

/// Some hosts have another, or none: cables are left alone, and nothing is wrong.
TEST_F(InstalledCluster, JobsBeyondTheClusterLeaveItsCablesAlone) {
  std::vector<Host> hosts(3);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].id = fmt::format("host {}", i);
    hosts[i].cluster = "a digest";
    hosts[i].installed = hosts[i].free_choice = true;
    hosts[i].cables = {{0, "p0", fmt::format("fe80::{}:1", i), 90'000, true}};
  }
  EXPECT_TRUE(choose_ways(hosts, Seat{0}).wires[1].has_value());
  EXPECT_FALSE(choose_ways(hosts, Seat{0}).slow_network);
  hosts[2].cluster.clear();
  hosts[2].cables.clear();
  EXPECT_FALSE(use_cables(hosts));
  EXPECT_FALSE(choose_ways(hosts, Seat{0}).wires[1].has_value());
  EXPECT_TRUE(choose_ways(hosts, Seat{0}).slow_network) << "cables that are not taken do not count";
  hosts[2].cluster = "another digest";
  EXPECT_FALSE(use_cables(hosts));
}

TEST_F(InstalledCluster, IsToldApartFromOneThatIsNamed) {
  Host one = describe_host(true);
  one.cluster = "a digest";
  one.installed = true;
  EXPECT_EQ(unpack_host(pack(one)), one);
}

}  // namespace
}  // namespace multitree::runtime
