// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The one function that a page calls. The text it returns is good until the next call.
#include <string>

#include "view/touch/touch.hpp"

extern "C" const char* multitree_touch(const char* question) {
  static std::string text;
  text = multitree::view::answer(question);
  return text.c_str();
}
