// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What links took the last time, from files that are right, damaged, of another network or none.
#include "runtime/measure/cached_links.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "support.hpp"
#include "topologies/io/files.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime {
namespace {

namespace fs = std::filesystem;

/// A cache folder of this test's own, that goes with it.
class CachedLinks : public ::testing::Test {
 protected:
  CachedLinks() { ::setenv("MULTITREE_CACHE", folder_.c_str(), 1); }
  ~CachedLinks() override {
    ::unsetenv("MULTITREE_CACHE");
    fs::remove_all(folder_);
  }

  /// What all ranks got, which is the same.
  static LinkTable find(const char* network) {
    const Topology topology = make_topology(network);
    std::mutex mutex;
    std::vector<LinkTable> tables;
    test::run_ranks(topology.num_ranks(), [&](const std::shared_ptr<Bootstrap>& job) {
      const LinkTable table = cached_links(
          *job, topology, {.transport = "loopback", .budget = std::chrono::milliseconds(1)});
      const std::lock_guard lock(mutex);
      tables.push_back(table);
    });
    for (const LinkTable& table : tables) EXPECT_EQ(table, tables.front());
    return tables.front();
  }

  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> all;
    if (!fs::exists(folder_)) return all;
    for (const auto& entry : fs::directory_iterator(folder_)) all.push_back(entry.path());
    return all;
  }

  std::string folder_ = fs::temp_directory_path() / ("cached-links-" + std::to_string(::getpid()));
};

TEST_F(CachedLinks, AreMeasuredOnceANetwork) {
  const LinkTable first = find("ring:3");
  ASSERT_EQ(files().size(), 1U);
  // Another value than could be measured shows where a table is from.
  LinkTable other = first;
  other.message_overhead = Time{123'456'789'000};
  write_file(files().front(), write_link_table_json(other));
  EXPECT_EQ(find("ring:3"), other);
  EXPECT_NE(find("ring:4"), other);
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(CachedLinks, AreMeasuredAgainWhereTheFileIsNoGood) {
  find("ring:3");
  const std::string file = files().front();
  for (const std::string& text : {std::string("{\"schema\":"), read_file(file).substr(0, 200),
                                  write_link_table_json(LinkTable{"x", {}, {}})}) {
    write_file(file, text);
    EXPECT_EQ(find("ring:3").links.size(), 6U);
    EXPECT_EQ(parse_link_table_json(read_file(file), file).links.size(), 6U) << text;
  }
}

TEST_F(CachedLinks, AreMeasuredWhereNothingCanBeKept) {
  write_file(folder_, "a file, and no folder");
  EXPECT_EQ(find("ring:3").links.size(), 6U);
  EXPECT_EQ(read_file(folder_), "a file, and no folder");
}

TEST(CacheFolder, FollowsTheEnvironment) {
  const char* const home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  ::unsetenv("MULTITREE_CACHE");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(cache_folder(), "/home/somebody/.cache/multitree");
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(cache_folder(), "/cache/multitree");
  ::setenv("MULTITREE_CACHE", "/mine", 1);
  EXPECT_EQ(cache_folder(), "/mine");
  for (const char* name : {"MULTITREE_CACHE", "XDG_CACHE_HOME", "HOME"}) ::unsetenv(name);
  EXPECT_EQ(cache_folder(), "");
  if (!before.empty()) ::setenv("HOME", before.c_str(), 1);
}

}  // namespace
}  // namespace multitree::runtime
