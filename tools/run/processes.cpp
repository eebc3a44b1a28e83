// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Standard input and arguments, for child processes.
#include "tools/run/processes.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "topologies/error.hpp"
#include "topologies/io/files.hpp"

namespace multitree::tools {

std::string keep_standard_input() {
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
  return fmt::format("/proc/self/fd/{}", fd);
}

std::vector<std::string> arguments() {
  const std::string raw = read_file("/proc/self/cmdline");
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin < raw.size();) {
    const std::size_t end = std::min(raw.find('\0', begin), raw.size());
    all.push_back(raw.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

}  // namespace multitree::tools
