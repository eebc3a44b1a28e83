// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a callable throws, for tests that compare code and message.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "topologies/error.hpp"

namespace multitree {

/// The message of the Error that `action` throws; fails the test if it throws none of that code.
template <class Action>
std::string error_of(ErrorCode code, Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return {};
}

/// A text fit for the name of a test case.
inline std::string slug(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return text.substr(0, 60);
}

}  // namespace multitree
