// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lines_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "topologies/error.hpp"
#include "topologies/io/files.hpp"

namespace multitree::tools {
namespace {

[[noreturn]] void fail_io(const std::string& path, std::string_view what) {
  throw Error(ErrorCode::Io, fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

}  // namespace

std::size_t whole_lines(std::string_view text) {
  return text.rfind('\n') + 1;  // 0 without any
}

std::string unfinished_note(std::string_view text, const std::string& file) {
  if (whole_lines(text) == text.size()) return "";
  return fmt::format("{}: dropped the last line, which an interrupted run left unfinished", file);
}

LinesFile::LinesFile(const std::string& path) : path_(path) {
  fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd_ == -1) fail_io(path, "cannot open");
  if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
  const int cause = errno;
  close(fd_);
  errno = cause;
  fail_io(path, "cannot lock, is another run using it");
}

LinesFile::~LinesFile() { close(fd_); }

std::string LinesFile::text() const { return read_file(path_); }

void LinesFile::keep(std::size_t bytes) {
  if (ftruncate(fd_, static_cast<off_t>(bytes)) == -1) fail_io(path_, "cannot cut off");
}

void LinesFile::add(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(fd_, line.data(), line.size());
    if (written == -1 && errno == EINTR) continue;
    if (written == -1) fail_io(path_, "cannot write");
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace multitree::tools
