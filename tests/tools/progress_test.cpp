// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The line that says how far long work is.
#include "tools/progress.hpp"

#include <gtest/gtest.h>

namespace multitree::tools {
namespace {

TEST(ProgressLine, SaysWhatIsLeftOnceThatIsKnown) {
  EXPECT_EQ(progress_line("drawing", 7.4, {}), "drawing ... 7 s");
  EXPECT_EQ(progress_line("drawing", 7.4, 0.0), "drawing ... 7 s");
  EXPECT_EQ(progress_line("drawing", 7.4, 0.001), "drawing ... 7 s");
  EXPECT_EQ(progress_line("drawing", 30, 0.25), "drawing, 25 %, 90 s left ... 30 s");
  EXPECT_EQ(progress_line("drawing", 30, 1.0), "drawing, 100 %, 0 s left ... 30 s");
  EXPECT_EQ(progress_line("drawing", 30, 1.5), "drawing, 100 %, 0 s left ... 30 s");
}

}  // namespace
}  // namespace multitree::tools
