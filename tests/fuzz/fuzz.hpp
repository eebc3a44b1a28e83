// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all targets share: bytes as arguments, and what may become of a reader that does not like
/// its text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "topologies/error.hpp"

namespace multitree::fuzz {

/// What readers are told their file is called.
inline constexpr const char* kFile = "input";

/// A finding unless it holds; fuzzers find whatever ends the process.
inline void expect(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "finding: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

/// Of an error in a file: whoever refuses a text quotes no more than the place.
inline constexpr std::size_t kLongestMessage = 4096;

/// Words that a user can do something with.
inline void expect_clear(const Error& error, std::string_view file) {
  const std::string_view what = error.what();
  expect(!what.empty(), "an error without words");
  if (error.code() != ErrorCode::InvalidInput) return;
  expect(what.size() <= kLongestMessage, "an error of more words than anybody reads");
  expect(what.starts_with(file), "an error in a file that does not name it: " + std::string(what));
}

/// Runs a reader, which may refuse its text by an Error. All else that it throws is a finding.
template <typename Read>
int read(const std::uint8_t* data, std::size_t size, const Read& read,
         std::string_view file = kFile) {
  try {
    read(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Error& error) {
    expect_clear(error, file);
  }
  return 0;
}

/// Arguments of calls, one after the other; zeros once there are no more.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  std::uint32_t number() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | byte();
    return value;
  }
  /// One of so many, up to 256.
  std::size_t below(std::size_t end) { return byte() % end; }
  /// As many bytes as the first says, up to 255.
  std::string text() {
    const std::size_t length = byte();
    std::string value(rest_.substr(0, length));
    rest_.remove_prefix(value.size());
    return value;
  }
  std::string all() { return std::string(std::exchange(rest_, {})); }

 private:
  std::string_view rest_;
};

}  // namespace multitree::fuzz
