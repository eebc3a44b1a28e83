// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The text form "name:dims?key=value&key=value" of topologies and algorithms, taken apart. As
/// shells take '?' and '&' for themselves, "name:dims:key=value:key=value" is the same.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace multitree {

/// A parsed spec. Reading a parameter marks it as known; check_all_used() rejects the others, so a
/// misspelt key is an error and never ignored.
class Spec {
 public:
  /// \throws Error(InvalidArgument): empty name, empty or repeated key, missing '='.
  static Spec parse(std::string_view text);

  /// Written with '?' and '&'.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// The part between ':' and '?', unparsed.
  [[nodiscard]] const std::string& dims_text() const { return dims_; }

  /// dims as "AxBxC". \throws Error(InvalidArgument) if not min..max numbers, each >= least and all
  /// together at most `most`.
  [[nodiscard]] std::vector<std::uint32_t> dims(std::size_t min_count, std::size_t max_count,
                                                std::uint32_t least = 1,
                                                std::uint64_t most = kMaxRanks) const;
  /// Puts the name that is known in place of one that means it, and says what its dims look like
  /// ("AxBx..."), for messages.
  void call(std::string_view name, std::string_view form);
  [[nodiscard]] bool has(std::string_view key) const;
  /// The value of a parameter, or the fallback if absent.
  [[nodiscard]] std::string get(std::string_view key, std::string_view fallback) const;
  [[nodiscard]] std::uint32_t get_number(std::string_view key, std::uint32_t fallback,
                                         std::uint32_t least, std::uint32_t most) const;
  /// A comma-separated value, or the fallback if absent.
  [[nodiscard]] std::vector<std::string> get_list(std::string_view key,
                                                  std::string_view fallback) const;
  /// A comma-separated value of numbers.
  [[nodiscard]] std::vector<std::uint32_t> get_numbers(std::string_view key,
                                                       std::string_view fallback,
                                                       std::uint32_t least,
                                                       std::uint32_t most) const;
  /// \throws Error(InvalidArgument) naming a parameter that nobody read.
  void check_all_used() const;
  /// Error(InvalidArgument) "<text>: <what>".
  [[noreturn]] void fail(const std::string& what) const;

  /// More ranks than this are refused with a clear message instead of exhausting memory.
  static constexpr std::uint64_t kMaxRanks = 1U << 20;

 private:
  std::string text_, name_, dims_, form_ = "AxB";
  std::map<std::string, std::string, std::less<>> parameters_;
  mutable std::set<std::string, std::less<>> used_;
};

}  // namespace multitree
