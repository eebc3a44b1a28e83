// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Finds and reads files.
#include "tools/study/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "topologies/error.hpp"
#include "topologies/io/files.hpp"

namespace multitree::tools {
namespace {

namespace fs = std::filesystem;

/// A file of study/, where the program was installed or, if it was not, where its source is.
std::string data_path(const std::string& name) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed = program.parent_path().parent_path() / MULTITREE_DATA_DIRECTORY / name;
  const fs::path source = fs::path(MULTITREE_STUDY_DIRECTORY) / name;
  for (const fs::path& path : {installed, source}) {
    if (fs::exists(path, error)) return path.string();
  }
  throw Error(ErrorCode::Io, fmt::format("{}: cannot read: neither there nor in {}",
                                         installed.string(), source.parent_path().string()));
}

std::vector<std::string> tables_in(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".csv") files.push_back(at->path().string());
  }
  if (error) throw Error(ErrorCode::Io, fmt::format("{}: cannot read: {}", path, error.message()));
  if (files.empty()) {
    throw Error(ErrorCode::Io, fmt::format("{}: cannot read: no .csv file in it", path));
  }
  std::ranges::sort(files);
  return files;
}

WorkloadSet read_set(const std::string& path, std::string label, bool quick) {
  constexpr std::size_t kQuickNetworks = 2;
  WorkloadSet set{.label = std::move(label), .workloads = {}};
  for (const std::string& file : tables_in(path)) {
    std::ranges::move(study::read_workloads(file), std::back_inserter(set.workloads));
  }
  if (quick && set.workloads.size() > kQuickNetworks) set.workloads.resize(kQuickNetworks);
  return set;
}

nic::Parameters read_parameters(const std::string& name) {
  const std::string path = data_path(name);
  return nic::read_parameters(read_file(path), path);
}

}  // namespace

std::vector<WorkloadSet> read_workload_sets(const std::vector<std::string>& paths, bool quick) {
  constexpr std::string_view kFull = "full networks";
  const std::string own = data_path("workloads");
  if (paths.empty()) return {read_set(own, std::string(kFull), quick)};
  std::vector<WorkloadSet> sets;
  for (const std::string& path : paths) {
    std::error_code error;
    fs::path name = fs::path(path).filename();
    if (name.empty()) name = fs::path(path).parent_path().filename();
    const bool is_own = fs::equivalent(path, own, error);
    sets.push_back(read_set(path, is_own ? std::string(kFull) : name.string(), quick));
  }
  return sets;
}

Compatibility read_compatibility() {
  return {.packet = read_parameters("compatibility-packet.json"),
          .message = read_parameters("compatibility-message.json")};
}

}  // namespace multitree::tools
