// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A file of lines that grows while its program works: what is in it stays if the program is
/// killed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace multitree::tools {

/// Bytes of the whole lines at the beginning; what follows was interrupted.
std::size_t whole_lines(std::string_view text);
/// What is said of a file whose end was interrupted; empty if it was not.
std::string unfinished_note(std::string_view text, const std::string& file);

/// Written by one process at a time, which holds a lock on it. Not for several threads at once.
class LinesFile {
 public:
  /// Opens or makes it. \throws Error(Io) if it cannot be read and written, or another process has
  /// it open.
  explicit LinesFile(const std::string& path);
  ~LinesFile();
  LinesFile(const LinesFile&) = delete;
  LinesFile& operator=(const LinesFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// What is in it. \throws Error(Io)
  [[nodiscard]] std::string text() const;
  /// Cuts off all but its first bytes. \throws Error(Io)
  void keep(std::size_t bytes);
  /// Adds a line, given with its end, in one piece; it is in the file when this returns.
  /// \throws Error(Io)
  void add(std::string_view line);

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace multitree::tools
