// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whole files in, whole files out.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace multitree {

/// The content of a file; "-" is standard input. \throws Error(Io) naming the file and the cause.
std::string read_file(const std::string& path);

/// The same of a text, without the byte order mark that editors of other systems put before it.
std::string read_text_file(const std::string& path);

/// Writes a temporary file beside `path` and renames it, so that a reader sees the old content or
/// the new, never half of it; "-" is standard output. \throws Error(Io); nothing is left behind.
/// A file that is a symbolic link is followed.
void write_file(const std::string& path, std::string_view content);

/// Several files (path, content), of which none is renamed before all are written; devices and
/// pipes among them are written first.
void write_files(const std::vector<std::pair<std::string, std::string_view>>& files);

/// Finds out whether write_file() could start to, before the content is computed.
/// \throws Error(Io) as write_file.
void check_writable(const std::string& path);

}  // namespace multitree
