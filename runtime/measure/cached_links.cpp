// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rank 0 has the file, all get its text.
#include "runtime/measure/cached_links.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/job/log_internal.hpp"
#include "runtime/messages/auto_internal.hpp"
#include "topologies/error.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"

namespace multitree::runtime {
namespace {

namespace fs = std::filesystem;

/// What follows `key` and a colon in a file; empty without such a line.
std::string line_of(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return line.substr(line.find(':') + 1);
  }
  return "";
}

/// Interfaces with their speeds, in the order of their names.
std::string interfaces() {
  std::vector<std::string> all;
  std::error_code failure;
  for (fs::directory_iterator at("/sys/class/net", failure), end; !failure && at != end;
       at.increment(failure)) {
    std::string speed;
    std::ifstream file(at->path() / "speed");
    std::getline(file, speed);
    all.push_back(fmt::format("{} {}", at->path().filename().string(), speed));
  }
  std::ranges::sort(all);
  return fmt::format("{}", fmt::join(all, ","));
}

/// What a rank runs on, in words that stay the same from job to job.
std::string hardware() {
  std::string host;
  std::ifstream file("/proc/sys/kernel/hostname");
  std::getline(file, host);
  return fmt::format("{}\n{}\n{}\n{}", host, line_of("/proc/cpuinfo", "model name"),
                     ::sysconf(_SC_NPROCESSORS_ONLN), interfaces());
}

/// \returns none if it is not there, or not of this network
std::optional<LinkTable> read(const std::string& path, const Topology& topology) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  try {
    LinkTable table = parse_link_table_json(read_file(path), path);
    static_cast<void>(with_times(topology, table));
    return table;
  } catch (const Error& error) {
    logger().warn("multitree: links are measured again: {}", error.what());
    return std::nullopt;
  }
}

void write(const std::string& path, const LinkTable& table) {
  try {
    std::error_code ignored;
    fs::create_directories(fs::path(path).parent_path(), ignored);
    write_file(path, write_link_table_json(table));
  } catch (const Error& error) {
    logger().warn("multitree: what links take is not kept: {}", error.what());
  }
}

}  // namespace

std::string cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return std::string(value == nullptr ? "" : value);
  };
  if (std::string own = variable("MULTITREE_CACHE"); !own.empty()) return own;
  if (const std::string all = variable("XDG_CACHE_HOME"); !all.empty()) return all + "/multitree";
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/multitree";
}

void keep_choices(const std::string& file, const std::vector<LinkTable::Choice>& found) {
  try {
    // As it is by now: another job may have kept what it has found.
    LinkTable table = parse_link_table_json(read_file(file), file);
    for (const LinkTable::Choice& one : found) {
      std::erase_if(table.choices, [&](const LinkTable::Choice& old) {
        return old.collective == one.collective && old.bytes == one.bytes;
      });
      table.choices.push_back(one);
    }
    write_file(file, write_link_table_json(table));
  } catch (const Error& error) {
    logger().warn("multitree: what was found is not kept: {}", error.what());
  }
}

LinkTable cached_links(Bootstrap& bootstrap, const Topology& topology,
                       const MeasureOptions& options, std::string* file) {
  const TransportOptions transport{.peers = {},
                                   .deadline = options.timeout,
                                   .on_link_failure = on_link_failure(options.on_link_failure),
                                   .encrypt = encrypts(options.encrypt)};
  std::string key = fmt::format("{}\n{}{}\n{}", write_topology_json(topology),
                                transport_of_job(options.transport, bootstrap, transport).name,
                                transport.encrypt ? ", encrypted" : "", options.segment_bytes);
  for (const std::string& rank : bootstrap.all_gather(hardware(), options.timeout)) {
    key += '\n' + rank;
  }
  const bool keeper = bootstrap.seat() == Seat{0};
  const std::string folder = keeper ? cache_folder() : "";
  const std::string path =
      fmt::format("{}/links-{:016x}.json", folder, XXH3_64bits(key.data(), key.size()));
  if (file != nullptr) *file = folder.empty() ? "" : path;
  const auto known = folder.empty() ? std::nullopt : read(path, topology);
  const Gathered told =
      bootstrap.all_gather(known ? write_link_table_json(*known) : "", options.timeout);
  const std::string& text = *told.begin();
  if (!text.empty()) return parse_link_table_json(text, "rank 0's cache");
  LinkTable table = measure_links(bootstrap, topology, options);
  if (!folder.empty()) write(path, table);
  return table;
}

}  // namespace multitree::runtime
