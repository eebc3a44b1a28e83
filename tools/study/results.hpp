// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The file of finished points: what was simulated once is not simulated again.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "tools/lines_file.hpp"
#include "tools/study/point.hpp"

namespace multitree::tools {

/// Points that are known, by key_of().
using Outcomes = std::map<std::string, Outcome>;

/// The first line of a file: its format, the version that wrote it, and all default parameters.
std::string results_header();
/// A finished point as a line, with its end.
std::string result_line(const Point& point, const Outcome& outcome);

/// What a file holds.
struct ParsedResults {
  Outcomes outcomes;
  std::size_t whole = 0;  ///< bytes of whole lines; what follows was interrupted
  std::string note;       ///< what was wrong with the end; may be empty
};
/// \throws Error(InvalidInput) "file:line: ..." on a line that is no result, and on a header of
/// another version or other defaults.
ParsedResults parse_results(std::string_view text, const std::string& file);

/// A file of results that is being added to, by one process at a time.
class ResultsFile {
 public:
  /// Reads a file or starts one; cuts off a line that an interrupted run left half written.
  /// \throws Error(Io) if it cannot be read and written, or another process has it open;
  /// Error(InvalidInput) as parse_results().
  explicit ResultsFile(const std::string& path);

  /// May be called by several threads.
  /// \{
  [[nodiscard]] std::optional<Outcome> find(const Point& point) const;
  /// Adds a line at once, and it is in the file when this returns. \throws Error(Io).
  void add(const Point& point, const Outcome& outcome);
  /// \}
  /// About the end of the file as it was found; may be empty.
  [[nodiscard]] const std::string& note() const { return note_; }

 private:
  LinesFile file_;
  std::string note_;
  mutable std::mutex mutex_;
  Outcomes outcomes_;
};

}  // namespace multitree::tools
