// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Matrices of bytes, made and read.
#include "algorithms/traffic/demand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "algorithms/schedule.hpp"
#include "topologies/error.hpp"
#include "topologies/io/text_internal.hpp"
#include "topologies/units.hpp"

namespace multitree {
namespace {

std::vector<std::string_view> words_of_line(std::string_view line) {
  constexpr std::string_view kBetween = " \t\r,";
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kBetween); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBetween, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBetween, end);
  }
  return words;
}

}  // namespace

Demand Demand::uniform(std::uint32_t ranks) {
  Demand demand(ranks, std::vector<std::uint64_t>(std::size_t{ranks} * ranks, 1));
  demand.uniform_ = true;
  return demand;
}

Demand::Demand(std::uint32_t ranks, std::vector<std::uint64_t> entries)
    : ranks_(ranks), entries_(std::move(entries)) {
  if (ranks_ < 2) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("alltoall: expected at least 2 ranks, got {}", ranks_));
  }
  if (entries_.size() != std::size_t{ranks_} * ranks_) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected a matrix of {} rows of {}, got {} numbers", ranks_, ranks_,
                            entries_.size()));
  }
  bool moves = false;
  for (std::uint32_t s = 0; s < ranks_; ++s) {
    std::uint64_t row = 0;
    for (std::uint32_t t = 0; t < ranks_; ++t) {
      const std::uint64_t entry = at(Rank{s}, Rank{t});
      if (entry > kMaxWeights / ranks_ - row) {
        throw Error(ErrorCode::InvalidArgument,
                    fmt::format("row {}: expected at most {} bytes together, got more", s,
                                kMaxWeights / ranks_));
      }
      row += entry;
      moves = moves || (s != t && entry > 0);
    }
    shard_ = std::max(shard_, row);
  }
  if (!moves) {
    throw Error(ErrorCode::InvalidArgument,
                "expected a byte for another rank in some row, got a matrix that moves nothing");
  }
}

Demand parse_demand(std::string_view text, const std::string& file, std::uint32_t ranks) {
  std::vector<std::uint64_t> entries;
  std::uint32_t rows = 0;
  std::size_t number = 0;
  const auto fail = [&](const std::string& what) { fail_at(file, number, what); };
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto words = words_of_line(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    if (++rows > ranks) fail(fmt::format("expected {} rows, one a rank, got more", ranks));
    if (words.size() != ranks) {
      fail(fmt::format("expected {} sizes, one for each rank, got {}", ranks, words.size()));
    }
    for (std::size_t column = 0; column < words.size(); ++column) {
      try {
        entries.push_back(parse_bytes(words[column]));
      } catch (const Error&) {
        fail(
            fmt::format("column {}: expected a size of 0 bytes or more such as 4096 or 1KiB, got "
                        "'{}'",
                        column, words[column]));
      }
    }
  }
  if (rows < ranks) fail(fmt::format("expected {} rows, one a rank, got {}", ranks, rows));
  try {
    return {ranks, std::move(entries)};
  } catch (const Error& error) {
    throw Error(ErrorCode::InvalidInput, fmt::format("{}: {}", file, error.what()));
  }
}

}  // namespace multitree
