// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the processes of a run are started with.
#include "tools/run/child_arguments.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/command.hpp"
#include "topologies/error.hpp"
#include "topologies/io/files.hpp"

namespace multitree::tools {

std::vector<std::string> child_arguments(const std::string& schedule) {
  std::vector<std::string> arguments = command_line();
  if (schedule != "-") return arguments;
  const std::string text = read_file("-");
  const int fd = memfd_create("schedule", 0);
  std::size_t written = 0;
  while (fd >= 0 && written < text.size()) {
    const ssize_t count = write(fd, text.data() + written, text.size() - written);
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  if (written < text.size()) {
    throw Error(ErrorCode::Io, "standard input: cannot be kept for the processes of the job");
  }
  arguments.push_back("--schedule");
  arguments.push_back(fmt::format("/proc/self/fd/{}", fd));
  return arguments;
}

}  // namespace multitree::tools
