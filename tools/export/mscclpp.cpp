// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Plans with names and sizes of their own, and load_plan.py beside them.
#include "tools/export/mscclpp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/command.hpp"
#include "tools/export/fitted.hpp"
#include "topologies/io/files.hpp"
#include "topologies/placement.hpp"

namespace multitree::embedded {
extern const std::string_view load_plan_py;
}  // namespace multitree::embedded

namespace multitree::tools {
namespace {

namespace fs = std::filesystem;

bool is_folder(const std::string& output) {
  std::error_code ignored;
  return output.ends_with('/') || (output != "-" && fs::is_directory(output, ignored));
}

std::string text_of(const Schedule& schedule, const Topology& topology,
                    const MscclppOptions& options) {
  const auto write = [&](const Schedule& one) { return write_mscclpp_json(one, options); };
  const auto made = fitted_text(schedule, topology, write);
  if (!made) return write(schedule);  // throws
  if (!(made->schedule == schedule)) tell_change(schedule, topology, made->schedule, "");
  return made->text;
}

}  // namespace

void write_mscclpp_plans(const SizedSchedules& schedules, const Topology& topology,
                         MscclppOptions options, const std::string& output) {
  if (schedules.size() > 1 && !is_folder(output)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--output: expected a folder, a name that ends with /, for {} plans by "
                            "size, got '{}'",
                            schedules.size(), output));
  }
  if (options.ranks_per_host == 0) {
    options.ranks_per_host = for_flag("--ranks-per-host", [&] { return ranks_per_host(topology); });
  }
  const std::uint64_t least = options.min_bytes, most = options.max_bytes;
  std::uint64_t begin = 0;
  const bool folder = is_folder(output);
  std::vector<std::pair<std::string, std::string>> files;
  for (const SizedSchedule& sized : schedules) {
    options.min_bytes = std::max(least, begin);
    options.max_bytes = std::min(most, sized.max_bytes);
    begin = sized.max_bytes + (sized.max_bytes == UINT64_MAX ? 0 : 1);
    if (options.min_bytes > options.max_bytes) continue;
    const std::string name =
        fmt::format("{}-{}.json", to_string(sized.schedule.collective), options.min_bytes);
    files.emplace_back(
        folder ? (fs::path(output) / name).string() : output,
        for_flag("export", [&] { return text_of(sized.schedule, topology, options); }));
  }
  if (files.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--min-bytes: expected up to --max-bytes, {}, got {}", most, least));
  }
  if (folder) {
    std::error_code ignored;  // told when files are written
    fs::create_directories(output, ignored);
    files.emplace_back(fs::path(output) / "load_plan.py", embedded::load_plan_py);
  }
  if (files.size() == 1) return write_file(files.front().first, files.front().second);
  write_files({files.begin(), files.end()});
}

}  // namespace multitree::tools
