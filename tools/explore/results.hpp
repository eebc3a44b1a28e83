// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The file of points that are known: what was simulated once is not simulated again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/explore/design.hpp"
#include "tools/lines_file.hpp"

namespace multitree::tools {

/// What came of a point.
struct ExploreOutcome {
  std::string model{};    ///< "message" or "flit"
  std::string why{};      ///< this one
  std::string refused{};  ///< why there is no result; empty: there is
  std::uint64_t cycles = 0, clock_hz = 1, messages = 0, link_flits = 0, busiest_link_flits = 0;
  std::uint32_t header_flits = 1;  ///< of a message or packet
  bool exchanges = false;          ///< ranks send sums while they take some in
  [[nodiscard]] double seconds() const {
    return static_cast<double>(cycles) / static_cast<double>(clock_hz);
  }
  bool operator==(const ExploreOutcome&) const = default;
};

/// By ExplorePoint::content.
using ExploreOutcomes = std::map<std::string, ExploreOutcome, std::less<>>;

/// The first line of a file: its format, the version that wrote it, and all default parameters.
std::string explore_header();
/// A point that is known as a line, with its end.
std::string explore_line(std::string_view content, const ExploreOutcome& outcome);
/// The points of whole lines; what follows them is left out.
/// \throws Error(InvalidInput) "file:line: ..." on a line that is no result or was changed, and on
/// a header of another version or other defaults.
ExploreOutcomes parse_explore_results(std::string_view text, const std::string& file);

/// Part `number` of `of` of the points, from 1 on.
struct PartOf {
  std::uint32_t number = 1, of = 1;
};

/// The known points of a design. They are kept in a file where there is one: `path`, and of a part
/// `path`.NUMBER-of-OF, so that parts may be under way at the same time. Points of other designs in
/// it stay there.
class ExploreResults {
 public:
  /// Reads the file or starts it; and `path` and its parts, which are not changed.
  /// \param path empty: nothing is kept
  /// \throws Error as LinesFile and parse_explore_results()
  ExploreResults(const std::string& path, PartOf part);

  /// May be called by several threads.
  /// \{
  [[nodiscard]] const ExploreOutcome* find(const ExplorePoint& point) const;
  /// Adds it to the file at once. \throws Error(Io)
  void add(const ExplorePoint& point, const ExploreOutcome& outcome);
  /// \}

  /// Writes the file again, these points first, in their order: the same bytes however often it was
  /// interrupted and on how many threads it ran. \throws Error(Io)
  void put_in_order(std::span<const ExplorePoint> points);

  /// Empty: there is none.
  [[nodiscard]] std::string path() const { return file_ ? file_->path() : ""; }
  /// About ends of files that an interrupted run left; may be empty.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  void read(const std::string& path);

  std::unique_ptr<LinesFile> file_;
  std::vector<std::string> notes_;
  mutable std::mutex mutex_;
  ExploreOutcomes outcomes_;
};

}  // namespace multitree::tools
